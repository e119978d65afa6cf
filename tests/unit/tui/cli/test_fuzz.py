"""``loopdbg fuzz``: its report, its exit status, and that it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import onnx
import pytest

from cli_runner import run_cli
from edge_campaign import write_models
from edge_faults import FAULTS
from text_models import COUNT, proto

ENDLESS = next(fault for fault in FAULTS if fault.name == "step_zero")
DIFFERS = next(fault for fault in FAULTS if fault.name == "do_while")


def test_a_finding_is_reported_with_its_pair(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, _ = write_models(ENDLESS, tmp_path)
    folder, junit = tmp_path / "out", tmp_path / "report.xml"
    ran = run_cli(capsys, "fuzz", path, "--time", 4, "-j", 1, "-o", folder, "--junit", junit)
    assert ran.status == 4
    suite = ElementTree.parse(junit).getroot()[0]
    assert [suite.get(count) for count in ("tests", "failures", "errors")] == ["2", "1", "0"]
    assert [(case.get("name"), [part.tag for part in case]) for case in suite] == [
        ("fuzz", ["properties"]),
        ("endless-1", ["properties", "failure"]),
    ]
    assert "step = 0\n" in (suite[1][1].text or "")
    assert "endless-1: loop 'Loop_3' never ends" in ran.out
    assert "inputs  step = 0\n" in ran.out
    assert "1 finding, " in ran.out
    case = folder / "findings" / "endless-1.npz"
    command = next(line.strip() for line in ran.out.splitlines() if "loopdbg run" in line)
    assert command == f"loopdbg run {path} --inputs {case} --max-iterations 2000"
    assert run_cli(capsys, *command.split()[1:]).status == 4

    again = run_cli(capsys, "fuzz", path, "--time", 1, "-j", 1, "-o", folder, "--json")
    report = json.loads(again.out)
    assert [finding["case"] for finding in report["findings"]] == [str(case)]
    assert report["findings"][0]["pair"]["change"].startswith("step = 0 fails, ")
    assert "goes on after" in again.err
    other = run_cli(capsys, "fuzz", path, "-o", folder, "--where", "step > 0")
    assert (other.status, "constraints" in other.error_line) == (2, True)


def test_findings_against_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, against = write_models(DIFFERS, tmp_path)
    ran = run_cli(capsys, "fuzz", path, "--against", against, "--time", 4, "-j", 1, "-o", tmp_path / "out", "--json")
    assert ran.status == 6
    (finding,) = json.loads(ran.out)["findings"]
    assert (finding["kind"], finding["inputs"], finding["minimal"]) == ("differs", "n = 0", True)
    assert run_cli(capsys, *finding["command"].split()[1:]).status == 6


def test_invariants(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    onnx.save(proto(COUNT), tmp_path / "m.onnx")
    (tmp_path / "rules").write_text("# of the count\nv_in < 20\n")
    options = ("--invariants", tmp_path / "rules", "--where", "v0 in 0..5", "--time", 4, "-j", 1, "--json")
    ran = run_cli(capsys, "fuzz", tmp_path / "m.onnx", *options, "-o", tmp_path / "out")
    assert ran.status == 7
    (finding,) = json.loads(ran.out)["findings"]
    assert (finding["kind"], finding["message"]) == ("assert", "v_in < 20 is false")
    command = finding["command"]
    assert command.endswith("--assert 'v_in < 20'")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--where", "y sorted"), "no input 'y'"),
        (("--dim", "K=3"), "no input has such a dimension"),
        (("--against", "nowhere"), "'nowhere' is neither"),
        (("--assert", "nothing > 0"), "nothing"),
        (("--invariants", "nowhere"), "nowhere"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path, options: tuple[str, str], text: str) -> None:
    onnx.save(proto(COUNT), tmp_path / "m.onnx")
    ran = run_cli(capsys, "fuzz", tmp_path / "m.onnx", "-o", tmp_path / "out", *options)
    assert ran.status in (1, 2) and text in ran.error_line
    assert not (tmp_path / "out").exists()
