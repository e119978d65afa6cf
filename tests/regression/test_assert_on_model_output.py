"""`--assert` and `--break` on a model's output passed whatever it was: no boundary of a loop has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_cli, save_text_model
from console_recorder import ConsoleRecorder
from error_fields import raises_error
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.trace.replay import Replay
from loopdbg.runtime.errors import UsageError
from recordings import record_run
from text_models import model

MODEL = """g (int64 n, bool go, float x0) => (float last, float twice) {
  before = Add (x0, x0)
  last = Loop (n, , before) <body = b (int64 i, bool c, float x) => (bool c2, float y) {
    c2 = Identity (c)
    one = Constant <value = float {1}> ()
    y = Add (x, one)
  }>
  between = Add (last, x0)
  twice = If <then_branch = t () => (float z) {
    z = Loop (n, , between) <body = d (int64 j, bool e, float u) => (bool e2, float w) {
      e2 = Identity (e)
      w = Add (u, u)
    }>
  }, else_branch = f () => (float v) { v = Add (between, between) }> (go)
}"""
INPUTS = {"n": 3, "go": False, "x0": 1.0}
MODEL_INPUTS = ("--input", "n=3", "--input", "go=false", "--input", "x0=1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save_text_model(tmp_path, MODEL)


@pytest.mark.parametrize("name", ["last", "between", "twice", "v"])
def test_values_after_a_loop(name: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", path, *MODEL_INPUTS, "--assert", f"{name} > 100")
    assert ran.status == 7
    assert f"assertion failed: {name} > 100 is false in the main graph" in ran.err
    assert run_cli(capsys, "run", path, *MODEL_INPUTS, "--assert", f"{name} < 100").status == 0
    assert run_cli(capsys, "run", path, *MODEL_INPUTS, "--break", f"{name} > 1").status == 3
    assert run_cli(capsys, "run", path, *MODEL_INPUTS, "--break", f"{name} > 100").status == 0


def test_values_before_a_loop(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(capsys, "run", path, *MODEL_INPUTS, "--assert", "x0 < 0").status == 7
    assert run_cli(capsys, "run", path, *MODEL_INPUTS, "--assert", "before == 2").status == 0


@pytest.mark.parametrize("option", ["--assert", "--break"])
def test_a_loop_that_is_never_entered(option: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", path, *MODEL_INPUTS, option, "w > 100")
    assert ran.status == 2
    assert ran.err.count("\n") == 1
    assert "'w > 100' was never tested: w is of the body of loop" in ran.err and "was never entered" in ran.err


def test_values_that_are_never_there_together(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_cli(capsys, "run", path, *MODEL_INPUTS, "--assert", "y > 0 and last > 0")
    assert ran.status == 2 and "cannot be tested anywhere" in ran.error_line
    assert "last is of the main graph, computed by or after loop" in ran.error_line


def test_a_stop_in_the_main_graph() -> None:
    session = Session(model(MODEL), INPUTS)
    session.breakpoints.add("if last == 5")
    stop = session.continue_()
    assert (stop.reason, stop.breakpoints) == ("breakpoint", (1,))
    assert stop.text.startswith("breakpoint 1 (if last == 5): before Add")
    assert session.continue_().reason == "done"
    # Back before it, and it is met again.
    session.goto(1)
    assert session.continue_().reason == "breakpoint"
    session.restart()
    assert session.continue_().reason == "breakpoint"
    assert session.continue_().reason == "done"
    assert session.outputs is not None and session.outputs["last"] == 5


def test_a_stop_at_the_end_of_the_model() -> None:
    session = Session(model(MODEL), INPUTS)
    session.breakpoints.add("if twice > 1")
    assert (session.continue_().reason, session.done) == ("breakpoint", False)
    assert session.continue_().reason == "done"


def test_the_same_of_a_recording(tmp_path: Path) -> None:
    trace, _, _ = record_run(tmp_path / "run.loopdb", model(MODEL), INPUTS)
    with trace:
        replay = Replay(trace)
        replay.breakpoints.add("if twice > 1")
        assert (replay.continue_().reason, replay.done) == ("breakpoint", False)
        assert replay.continue_().reason == "done"


def test_watching_what_is_computed_once() -> None:
    session = Session(model(MODEL), INPUTS)
    with raises_error(UsageError, name="last"):
        session.watch("last")


def test_the_line_of_a_loop_is_every_boundary_of_it() -> None:
    session = Session(model(MODEL), INPUTS)
    [line] = [
        line.number
        for line in session.controller.symbols.pseudo_code.lines
        if line.node is session.controller.symbols.loops[0].loop
    ]
    output = ConsoleRecorder(session)(f"break {line}", "continue", "continue", "continue", "continue", "list")
    assert output[0] == f"breakpoint 1: {line}, line {line}, every boundary"
    assert [text.partition(": ")[2] for text in output[1:4]] == [
        f"before iteration {k} of loop 'Loop_1'" for k in (1, 2)
    ] + ["loop 'Loop_1' ends after 3 iterations: the trip count is reached"]
    assert output[4] == "the model ran to its end"


def test_the_line_of_a_loop_with_a_condition() -> None:
    session = Session(model(MODEL), INPUTS)
    session.breakpoints.add("last if x > 3")
    session.continue_()
    assert session.frame.iteration == 2
    assert not session.controller.is_tested_in_python(session.breakpoints[0])
