"""``loopdbg check``: rules and trials, their report, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest

from cli_runner import CliResult, run_cli, save_text_model
from portability_models import RULE_CASES
from text_models import SAMPLES, loop_text

COUNTER = SAMPLES / "counter.onnx"
#: A body whose output has the name of an outer value: rejected here.
REDEFINED = loop_text(before="t = Neg (v)", nodes="co = Identity (ci) t = Add (x, x) xo = Identity (t)")


def save_case(folder: Path, name: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(next(case.model for case in RULE_CASES if case.name == name), path)
    return path


def check(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[CliResult, dict[str, Any]]:
    """The result of ``check --json``, and its targets by name."""
    ran = run_cli(capsys, "check", *arguments, "--json")
    (model,) = json.loads(ran.out)["models"]
    return ran, {target["target"]: target for target in model["targets"]}


def test_check_fine_model(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "check", COUNTER, "--for", "specification,onnxruntime", "--no-run")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        str(COUNTER),
        "  onnxruntime    fine (by rules)",
        "  specification  fine (by rules)",
    ]


def test_check_takes_no_inputs_without_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, loop_text())
    ran, targets = check(capsys, path, "--no-run", "--for", "openvino")
    assert (ran.status, ran.err) == (0, "")
    assert targets["openvino"]["trials"] == []
    assert targets["openvino"]["version"] is None


def test_check_by_rules_reports_location_evidence_and_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = save_case(tmp_path, "a body that returns an outer value")
    ran, targets = check(capsys, path, "--no-run")
    assert ran.status == 1
    (finding,) = targets["onnxruntime"]["findings"]
    assert {key: finding[key] for key in ("rule", "verdict", "path", "node", "source", "confirmed")} == {
        "rule": "B40",
        "verdict": "does not load",
        "path": "main ▸ Loop_1",
        "node": "Loop_1",
        "source": "rule",
        "confirmed": None,
    }
    assert "microsoft/onnxruntime#11536" in finding["evidence"]
    assert "Identity" in finding["remedy"]
    assert [targets[name]["verdict"] for name in ("openvino", "tensorrt", "specification")] == [
        "does not load",
        "fine",
        "fine",
    ]


def test_check_with_runs_confirms_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_case(tmp_path, "a body that returns an outer value")
    ran, targets = check(capsys, path, "--for", "onnxruntime")
    assert ran.status == 1
    (finding,) = targets["onnxruntime"]["findings"]
    assert finding["confirmed"] is True
    assert [(trial["path"], trial["loads"]) for trial in targets["onnxruntime"]["trials"]] == [
        ("main", False),
        ("main ▸ Loop_1", False),
    ]
    text = run_cli(capsys, "check", path, "--for", "onnxruntime").out
    assert "[rule B40; a run with" in text and "Evidence: microsoft/onnxruntime#11536" in text


def test_check_with_runs_of_a_fine_model_tries_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    ran, targets = check(capsys, COUNTER, "--for", "onnxruntime,openvino")
    assert ran.status == 0
    for target in targets.values():
        assert [(trial["path"], trial["alike"]) for trial in target["trials"]] == [("main", True)]
        assert target["version"]


def test_check_map_output_leaves_the_rest_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran, targets = check(capsys, save_case(tmp_path, "the output of ZipMap"), "--for", "onnxruntime,openvino")
    assert ran.status == 1
    assert targets["onnxruntime"]["verdict"] == "fine"
    assert [(item["rule"], item["confirmed"]) for item in targets["openvino"]["findings"]] == [("B69", True)]


def test_check_rejected_file_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, REDEFINED)
    ran, targets = check(capsys, path, "--no-run")
    assert ran.status == 1
    assert {name: target["verdict"] for name, target in targets.items()} == {
        "onnxruntime": "unknown",
        "openvino": "unknown",
        "tensorrt": "unknown",
        "specification": "does not load",
    }
    ran, targets = check(capsys, path, "--for", "onnxruntime")
    assert (ran.status, targets["onnxruntime"]["verdict"]) == (1, "does not load")


def test_check_unknown_only_has_a_status_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_case(tmp_path, "an operator of another domain")
    ran, targets = check(capsys, path, "--no-run", "--for", "openvino")
    assert (ran.status, targets["openvino"]["verdict"]) == (8, "unknown")


def test_check_groups_findings_of_one_rule(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save_text_model(tmp_path, "g (float[4] x) => (float[N] y) { t = Unique (x) u = Unique (t) y = Unique (u) }")
    ran = run_cli(capsys, "check", path, "--no-run", "--for", "tensorrt")
    assert ran.status == 1
    (line,) = [line for line in ran.out.splitlines() if "T8" in line]
    assert "(2 more like it)" in line


def test_check_several_models(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "check", COUNTER, SAMPLES / "lstm.xml", "--no-run", "--json", "--for", "openvino")
    assert ran.status == 0
    assert [Path(model["model"]).name for model in json.loads(ran.out)["models"]] == ["counter.onnx", "lstm.xml"]


def test_check_junit_and_github(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, report = save_case(tmp_path, "a body that returns an outer value"), tmp_path / "report.xml"
    ran = run_cli(capsys, "check", path, "--no-run", "--for", "onnxruntime,tensorrt", "--junit", report, "--github")
    assert ran.status == 1
    cases = ElementTree.parse(report).findall(".//testcase")
    assert [(case.get("classname"), case.find("failure") is not None) for case in cases] == [
        ("model.onnx.onnxruntime", True),
        ("model.onnx.tensorrt", False),
    ]
    (annotation,) = [line for line in (ran.out + ran.err).splitlines() if line.startswith("::error ")]
    assert "B40" in annotation


def test_check_fix_writes_a_model_that_is_fine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, target = save_case(tmp_path, "a body that is not in order"), tmp_path / "fixed.onnx"
    ran = run_cli(capsys, "check", path, "--for", "onnxruntime", "--no-run", "--fix", "-o", target, "--json")
    (model,) = json.loads(ran.out)["models"]
    assert (ran.status, ran.err) == (0, "")
    assert model["fix"]["output"] == str(target)
    assert [(fix["kind"], fix["applied"], fix["inputs"]) for fix in model["fix"]["fixes"]] == [("sort-body", True, 100)]
    assert model["fix"]["left"] == []
    assert [target["verdict"] for target in model["targets"]] == ["fine"]
    onnx.checker.check_model(onnx.load(target))


def test_check_fix_says_why_there_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, target = save_case(tmp_path, "a Reshape to the example's length"), tmp_path / "fixed.onnx"
    ran = run_cli(capsys, "check", path, "--for", "onnxruntime", "--no-run", "--fix", "-o", target)
    assert ran.status == 1
    assert "  nothing is written: there is no fix" in ran.out.splitlines()
    assert "rule B60: there is no fix: the file does not tell which dimension" in ran.out
    assert not target.exists()


def test_check_fix_makes_no_target_worse(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, target = save_case(tmp_path, "a Scan that uses an outer value"), tmp_path / "fixed.onnx"
    ran = run_cli(capsys, "check", path, "--for", "openvino,tensorrt", "--no-run", "--fix", "-o", target, "--json")
    (model,) = json.loads(ran.out)["models"]
    assert [(fix["applied"], "tensorrt is worse off" in fix["text"]) for fix in model["fix"]["fixes"]] == [
        (False, True)
    ]
    assert not target.exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--fix"], "give it as -o OUT"),
        (["-o", "fixed.onnx"], "add --fix"),
        (["--fix", "-o", "fixed.xml"], "give an .onnx"),
        (["--fix", "-o", COUNTER], "is the model itself"),
        ([COUNTER, "--fix", "-o", "fixed.onnx"], "takes one model"),
    ],
)
def test_check_fix_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[object], expected: str) -> None:
    ran = run_cli(capsys, "check", COUNTER, *arguments)
    assert ran.status == 2
    assert expected in ran.error_line


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["--for", "tflite"], 2, "there is no target 'tflite'"),
        (["--for", ","], 2, "there is no target"),
        (["--runs"], 2, "unknown option"),
    ],
)
def test_check_wrong_usage(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, expected: str
) -> None:
    ran = run_cli(capsys, "check", COUNTER, *arguments)
    assert ran.status == status
    assert expected in ran.error_line


def test_check_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "check", "nowhere.onnx")
    assert ran.status == 1
    assert "nowhere.onnx" in ran.error_line
