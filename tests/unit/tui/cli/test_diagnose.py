"""Diagnoses on the command line: of runs, with reports for CI, and in ``check``."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from cli_runner import run_cli
from diagnostic_faults import FAULTS
from text_models import SAMPLES, proto

NEWTON = SAMPLES / "newton_sqrt.onnx"
COLLATZ = SAMPLES / "collatz.onnx"
OVERFLOW = ("--input", f"start={2**62 + 3}", "--max-iterations", 9)


def save(tmp_path: Path, name: str) -> Path:
    """The file of a fault."""
    path = tmp_path / "model.onnx"
    path.write_bytes(proto(next(fault.faulty for fault in FAULTS if fault.name == name)).SerializeToString())
    return path


def test_finding_is_printed_and_decides_the_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(tmp_path, "a slice that runs off its axis")
    ran = run_cli(capsys, "run", path, "--input", "M=4", "--input", "v=[1,2,3,4,5,6,7,8]", "--diagnose")
    assert ran.status == 10
    assert "index outside: main ▸ Loop_1, iteration 3" in ran.out and "float32 [4]" in ran.out


def test_sound_run(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", NEWTON, "--diagnose", "--json")
    diagnosis = json.loads(ran.out)["diagnosis"]
    assert (ran.status, diagnosis["findings"], diagnosis["iterations"]) == (0, [], 5)


def test_findings_come_first_where_the_run_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(tmp_path, "an index outside of a table")
    inputs = ("--input", "M=4", "--input", "cache0=[[0,0],[0,0],[0,0],[0,0]]", "--input", "x0=[1,1]")
    ran = run_cli(capsys, "run", path, *inputs, "--diagnose")
    assert ran.status == 1 and "index 4 of an axis of 4" in ran.out


def test_reports_for_ci(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    ran = run_cli(capsys, "run", COLLATZ, *OVERFLOW, "--diagnose", "--junit", report, "--github")
    cases = {case.get("name"): case for case in ElementTree.parse(report).iter("testcase")}
    (name,) = [name for name in cases if name and name.startswith("integer overflow")]
    assert cases[name].find("failure") is not None
    assert "::error title=collatz.onnx%3A integer overflow" in ran.err
    run_cli(capsys, "run", NEWTON, "--diagnose", "--junit", report)
    assert [case.get("name") for case in ElementTree.parse(report).iter("testcase")] == ["--diagnose", "run"]


def test_check_has_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = save(tmp_path, "a slice that runs off its axis")
    inputs = ("--input", "M=4", "--input", "v=[1,2,3,4,5,6,7,8]", "--for", "specification")
    ran = run_cli(capsys, "check", path, *inputs, "--junit", tmp_path / "report.xml")
    assert ran.status == 10 and "  run: index outside" in ran.out
    failures = [
        case for case in ElementTree.parse(tmp_path / "report.xml").iter("testcase") if case.find("failure") is not None
    ]
    assert [case.get("classname") for case in failures] == ["model.onnx.run"]
    (diagnostic,) = json.loads(run_cli(capsys, "check", path, *inputs, "--json").out)["models"][0]["diagnostics"]
    assert (diagnostic["kind"], diagnostic["iteration"]) == ("index outside", 3)
    assert run_cli(capsys, "check", path, "--for", "specification", "--no-run").status == 0


def test_target_type(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--input", "a=1e10", "--diagnose-for", "float16")
    ran = run_cli(capsys, "run", NEWTON, *options)
    assert ran.status == 10 and "beyond float16" in ran.out


def test_hints(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--diagnose" in run_cli(capsys, "run", NEWTON, "--max-iterations", 2).err
    path = save(tmp_path, "a condition that compares NaN")
    assert "--diagnose" in run_cli(capsys, "run", path, "--input", "M=5", "--input", "x0=9", "--input", "a=-1").err
    assert "--diagnose" not in run_cli(capsys, "run", NEWTON).err


def test_not_with_commands(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", NEWTON, "--diagnose", "--break", "x > 1")
    assert ran.status == 2


def test_console(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", COLLATZ, *OVERFLOW[:2], "-ex", "step 2", "-ex", "diagnose", "--batch")
    assert "1 finding in 2 iterations" in ran.out and "integer overflow: main ▸ collatz, iteration 0" in ran.out
