"""``loopdbg test``: the cases that are stored next to models."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import junitparser
import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli
from loopdbg.debugger.sweep.job import model_hash
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
INPUTS: dict[str, Any] = {"a": np.float32(2), "tol": np.float32(1e-6)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model and a case that passes."""
    shutil.copy(NEWTON, tmp_path / "sqrt.onnx")
    outputs = loopdbg.load(NEWTON).run(INPUTS)
    np.savez(tmp_path / "sqrt.two.npz", **INPUTS, root=outputs["root"], expected_xs=outputs["xs"])
    return tmp_path


def test_cases(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit status, and the cases by path."""
    ran = run_cli(capsys, "test", *arguments, "-j", 1, "--json")
    return ran.status, {Path(case["path"]).name: case for case in json.loads(ran.out)["cases"]}


test_cases.__test__ = False  # type: ignore[attr-defined]


def test_inputs_and_expected_outputs_of_an_npz(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, cases = test_cases(capsys, folder)
    assert (status, cases["sqrt.two.npz"]["status"], cases["sqrt.two.npz"]["iterations"]) == (
        0,
        "ok",
        {"main ▸ sqrt": 5},
    )
    np.savez(folder / "other.npz", **INPUTS, expected_root=np.float32(1.5))
    status, cases = test_cases(capsys, folder)
    assert (status, cases["other.npz"]["status"], cases["sqrt.two.npz"]["status"]) == (5, "differs", "ok")
    assert "root" in cases["other.npz"]["message"]


def test_onnx_test_data_and_cases_that_cannot_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = folder / "test_data_set_0"
    data.mkdir()
    for number, name in enumerate(("a", "tol")):
        tensor = onnx.numpy_helper.from_array(np.asarray(INPUTS[name]), name)
        (data / f"input_{number}.pb").write_bytes(tensor.SerializeToString())
    wrong = onnx.numpy_helper.from_array(np.float32(3) * np.ones(()).astype(np.float32), "root")
    (data / "output_0.pb").write_bytes(wrong.SerializeToString())
    np.savez(folder / "incomplete.npz", a=np.float32(2))
    status, cases = test_cases(capsys, folder)
    assert {name: case["status"] for name, case in cases.items()} == {
        "sqrt.two.npz": "ok",
        "test_data_set_0": "differs",
        "incomplete.npz": "error",
    }
    assert status == 5


def test_models_of_a_folder_have_their_own_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("collatz.onnx", "collatz.inputs.npz"):
        shutil.copy(SAMPLES / name, folder / name)
    np.savez(folder / "of_no_model.npz", x=np.float32(1))
    status, cases = test_cases(capsys, folder)
    assert status == 0 and sorted(cases) == ["collatz.inputs.npz", "sqrt.two.npz"]


def test_findings_of_a_campaign_run_as_it_did(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = folder / "sqrt.fuzz" / "findings"
    findings.mkdir(parents=True)
    np.savez(findings / "endless-1.npz", a=np.float32(2), tol=np.float32(-1))
    np.savez(findings / "endless-1-passes.npz", a=np.float32(2), tol=np.float32(0.5))
    np.savez(findings / "assert-1.npz", a=np.float32(np.nan), tol=np.float32(1))
    settings = {
        "model": model_hash(str(folder / "sqrt.onnx")),
        "asserts": ["x >= 0"],
        "against": "",
        "max_iterations": 50,
        "dims": [],
        "constraints": [],
    }
    (folder / "sqrt.fuzz" / "fuzz.json").write_text(json.dumps({"settings": settings}))
    status, cases = test_cases(capsys, folder / "sqrt.onnx")
    assert {name: case["status"] for name, case in cases.items()} == {
        "sqrt.two.npz": "ok",
        "endless-1.npz": "limit",
        "assert-1.npz": "assert",
    }
    assert status == 7
    (folder / "sqrt.fuzz" / "fuzz.json").write_text("{}")
    ran = run_cli(capsys, "test", folder)
    assert ran.status == 1 and "holds no settings of a campaign" in ran.err


@pytest.mark.parametrize("against", ["cmd:touch {0}", "cmd:touch {0}.onnx", "{0}.py", "torch:{0}.pt2"])
def test_program_that_a_file_names_does_not_run(
    against: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = folder / "sqrt.fuzz" / "findings"
    findings.mkdir(parents=True)
    np.savez(findings / "differs-1.npz", **INPUTS)
    target = tmp_path / "target"
    settings = {"asserts": [], "against": against.format(target), "max_iterations": None}
    (folder / "sqrt.fuzz" / "fuzz.json").write_text(json.dumps({"settings": settings}))
    ran = run_cli(capsys, "test", folder)
    assert ran.status == 1 and "it runs only if you trust scripts" in ran.err
    assert ran.err.count("\n") == 1 and not list(tmp_path.glob("target*"))


def test_reports(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(folder / "other.npz", **INPUTS, expected_root=np.float32(1.5))
    page, junit = tmp_path / "cov.html", tmp_path / "report.xml"
    ran = run_cli(capsys, "test", folder, "-j", 1, "--coverage", page, "--junit", junit, "--github")
    assert ran.status == 5
    assert "1 case passed, 1 failed, of 1 model" in ran.out
    assert "2 of 4 points covered (50.0%) by 2 runs" in ran.out
    assert ran.err.count("::error title=sqrt.onnx%3A other::") == 1
    (suite,) = junitparser.JUnitXml.fromfile(str(junit))
    assert (suite.tests, suite.failures) == (3, 1)
    text = page.read_text("utf-8")
    assert "<script" not in text and "http" not in text
    assert text.count('class="covered"') == 7 and text.count('class="partial"') == 1


def test_nothing_to_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "test", tmp_path)
    assert (ran.status, "no cases are stored there" in ran.err) == (1, True)
    ran = run_cli(capsys, "test", tmp_path / "nowhere")
    assert (ran.status, "no such file or folder" in ran.err) == (1, True)
    ran = run_cli(capsys, "test", tmp_path, "--coverage", tmp_path / "cov.pdf")
    assert (ran.status, ".html or .json" in ran.err) == (2, True)
