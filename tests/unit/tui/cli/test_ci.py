"""``loopdbg run`` in CI: the contents of reports and GitHub annotations, and runs that time out."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import junitparser
import numpy as np
import onnx.parser
import pytest

from cli_runner import CliResult, run_cli, run_python_code, save_text_model
from loopdbg.tui.cli.execution import time_limit
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
POWER = SAMPLES / "power_iteration.onnx"
Run = Callable[..., CliResult]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: run_cli(capsys, "run", *arguments)


def cases(path: Path) -> dict[str, Any]:
    """The cases of a report, by name."""
    (suite,) = junitparser.JUnitXml.fromfile(str(path))
    return {case.name: case for case in suite}


def test_run_without_a_fault_passes(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = run(NEWTON, "--assert", "x > 0", "--break", "isnan(x)", "--junit", report, "--github")
    assert done.status == 0 and "::error" not in done.err
    result = cases(report)
    assert result.keys() == {"--assert x > 0", "--break isnan(x)", "run"}
    assert all(case.is_passed and case.classname == "newton_sqrt.onnx" for case in result.values())
    messages = {item.name: item.value for group in result["run"].iterchildren(junitparser.Properties) for item in group}
    assert messages == {"main ▸ sqrt: iterations": "5", "main ▸ sqrt: stopped by": "condition"}
    assert result["run"].time > 0


def test_false_assertion_fails(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = run(NEWTON, "--assert", "x > 1", "--assert", "x > 1.41425", "--junit", report, "--github")
    assert done.status == 7
    result = cases(report)
    assert result["--assert x > 1"].is_passed
    (failure,) = result["--assert x > 1.41425"].result
    assert isinstance(failure, junitparser.Failure) and failure.type == "assert"
    assert failure.message == "x > 1.41425 is false at main ▸ sqrt, iteration 3"
    line = "::error title=newton_sqrt.onnx%3A --assert x > 1.41425::x > 1.41425 is false at main ▸ sqrt, iteration 3"
    assert line in done.err.splitlines()


def test_annotation_is_at_node_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path is the one that GitHub knows, whatever the exporter wrote."""
    (tmp_path / "net").mkdir()
    for suffix in (".onnx", ".py", ".inputs.npz"):
        shutil.copy(POWER.with_suffix(suffix), tmp_path / "net")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    report = tmp_path / "report.xml"
    done = run(tmp_path / "net" / POWER.name, "--assert", "estimate < 0 or iter < 3", "--github", "--junit", report)
    assert done.status == 7
    (line,) = [line for line in done.err.splitlines() if line.startswith("::error")]
    match = re.match(r"::error file=net/power_iteration\.py,line=(\d+),title=", line)
    assert match is not None
    text = POWER.with_suffix(".py").read_text().splitlines()[int(match[1]) - 1]
    assert text.strip() == "new_estimate = v @ product"
    (case,) = [case for name, case in cases(report).items() if name.startswith("--assert")]
    assert (case._elem.get("file"), case._elem.get("line")) == ("net/power_iteration.py", match[1])


def test_hit_breakpoint_fails(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert run(NEWTON, "--break", "err < 1e-3", "--junit", report).status == 3
    (failure,) = cases(report)["--break err < 1e-3"].result
    assert failure.type == "break" and "before iteration 4 of loop 'sqrt'" in failure.message


def test_untested_assertion_is_an_error(run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    model = save_text_model(tmp_path, ENDLESS)
    done = run(model, "--input", "n=0", "--input", "x=1", "--assert", "v2 < 0", "--junit", report)
    assert done.status == 2
    (error,) = cases(report)["--assert v2 < 0"].result
    assert isinstance(error, junitparser.Error) and "was never tested" in error.message


def test_outputs_are_cases(run: Run, tmp_path: Path) -> None:
    report, want = tmp_path / "report.xml", tmp_path / "want.npz"
    right = {"root": np.float32(1.4142135), "xs": np.zeros(5, np.float32)}
    np.savez(want, **right)  # type: ignore[arg-type]
    done = run(NEWTON, "--expect", want, "--junit", report, "--github")
    assert done.status == 5
    result = cases(report)
    assert result["output root"].is_passed and result["run"].is_passed
    (failure,) = result["output xs"].result
    assert failure.type == "differs" and "output 'xs' differs from" in failure.message
    assert "::error title=newton_sqrt.onnx%3A output xs::output 'xs' differs" in done.err


@pytest.mark.parametrize(
    ("arguments", "status", "kind"),
    [
        (["nowhere.onnx"], 1, "ModelError"),
        ([NEWTON, "--input", "a=x"], 1, "InputError"),
        ([NEWTON, "--max-iterations", "2"], 4, "limit"),
        ([NEWTON, "--max-iterations", "2", "--assert", "x > 0"], 4, "limit"),
    ],
)
def test_run_error_is_the_error_of_its_case(
    arguments: list[Any], status: int, kind: str, run: Run, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    done = run(*arguments, "--junit", report, "--github")
    assert done.status == status
    (error,) = cases(report)["run"].result
    assert isinstance(error, junitparser.Error) and error.type == kind
    assert error.message in (f"{done.out}{done.err}").replace("loopdbg: ", "").splitlines()
    assert len([line for line in done.err.splitlines() if line.startswith("::error ")]) == 1


def test_github_annotations_are_escaped(run: Run) -> None:
    done = run("a,b:%.onnx", "--github")
    assert "::error title=a%2Cb%3A%25.onnx%3A run::a,b:%25.onnx: no such file" in done.err


@pytest.mark.parametrize("command", ["run", "check", "fuzz", "test", "sweep"])
def test_unwritable_report_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    """Nothing is read: there is no such model."""
    report = tmp_path / "nowhere" / "report.xml"
    done = run_cli(capsys, command, tmp_path / "none.onnx", "--junit", report)
    assert (done.status, done.error_line) == (2, f"{report}: cannot be written: No such file or directory")


ENDLESS = """
agraph (int64 n, float x) => (float y) {
    t = Constant <value = bool {1}> ()
    y = Loop (n, t, x) <body = inside (int64 i, bool c, float v) => (bool c2, float v2) {
        c2 = Identity(c)
        v2 = Neg(v)
    }>
}
"""
STARTED = ("--input", "n=9000000000000000", "--input", "x=1")


@pytest.mark.parametrize("more", [[], ["--assert", "v < 9e9"], ["--json"]], ids=["run", "session", "json"])
def test_run_past_its_timeout_is_ended(more: list[str], run: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    model = save_text_model(tmp_path, ENDLESS)
    # On a busy machine a short time may be over before the loop begins: there is then no loop to name.
    for limit in ("0.3", "3", "30"):
        done = run(model, *STARTED, "--timeout", limit, "--junit", report, *more)
        assert done.status == 124
        assert f"loopdbg: the run did not end within {limit} s (--timeout)" in done.err
        assert done.err.count("loopdbg: ") == 1
        (error,) = cases(report)["run"].result
        assert f"did not end within {limit} s" in error.message
        if ": interrupted in loop" in done.err:
            return
    pytest.fail(f"no loop is named: {done.err}")


def test_timeout_that_is_not_reached_changes_nothing(run: Run) -> None:
    with_limit, without = run(NEWTON, "--timeout", "60", "--json"), run(NEWTON, "--json")
    assert with_limit.status == 0
    assert re.sub(r'"seconds": \S+', "", with_limit.out) == re.sub(r'"seconds": \S+', "", without.out)


HANGS = """
import time
import loopdbg

@loopdbg.operator("test", "Hang")
def hang(x):
    for _ in range(6000):
        time.sleep(0.01)
    return x
"""


def test_hanging_python_function_is_ended(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    text = '<ir_version: 10, opset_import: ["": 18, "test": 1]> g (float x) => (float y) { y = test.Hang(x) }'
    model, report = tmp_path / "model.onnx", tmp_path / "report.xml"
    onnx.save(onnx.parser.parse_model(text), model)
    words = [model, "--input", "x=1", "--operators", tmp_path / "hangs.py", "--timeout", "0.5", "--junit", report]
    done = run(*words)
    assert done.status == 124
    assert done.error_line.startswith("the run did not end within 0.5 s (--timeout)")
    (error,) = cases(report)["run"].result
    assert error.message == done.error_line


NATIVE = """
import ctypes
from loopdbg.tui.cli.execution.time_limit import TimeLimit

with TimeLimit(0.05, on_abandon=print):
    ctypes.CDLL(None).sleep(60)
"""


def test_hanging_native_code_is_abandoned() -> None:
    """Native code ignores interrupts: the report is written, and the process exits without it."""
    began = time.monotonic()
    ran = run_python_code(NATIVE)
    text = "the run did not end within 0.05 s (--timeout), and nothing answered an interrupt\n"
    assert (ran.status, ran.out, ran.err) == (124, text, f"loopdbg: {text}")
    assert time.monotonic() - began < 55


def test_timeout_covers_the_work_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "INTERRUPT_GRACE_SECONDS", 60.0)
    with pytest.raises(time_limit.OutOfTime, match=r"did not end within 0\.05 s"), time_limit.TimeLimit(0.05):
        for _ in range(6000):
            time.sleep(0.01)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon"])
def test_invalid_timeout_is_refused(seconds: str, run: Run) -> None:
    done = run(NEWTON, f"--timeout={seconds}")
    assert done.status == 2 and "--timeout" in done.error_line
