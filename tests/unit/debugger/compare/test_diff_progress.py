"""How far a comparison is, reported while it goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.debugger.compare.running import progress as comparison_progress
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ComparisonSide, ModelSide, open_side
from loopdbg.runtime.model import Run
from loopdbg.tui.cli import progress
from text_models import SAMPLES

from .newton_models import NEWTON, write_wrong_newton

ProgressReport = list[tuple[bool, int, int | None]]


@pytest.fixture(autouse=True)
def report_every_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_progress, "REPORT_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LINE_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(progress, "FIRST_LINE_SECONDS", 0.0)


def progress_of(left: ComparisonSide, right: ComparisonSide) -> ProgressReport:
    message: ProgressReport = []

    def tick(run: Run, again: bool) -> None:
        message.extend((again, loop.iterations, loop.trip_count) for loop in run.loops if loop.entries)

    compare_sides(left, right, ComparisonOptions(on_tick=tick))
    return message


def side(path: Path) -> ModelSide:
    return ModelSide(loopdbg.load(path), NEWTON)


def test_one_of_two_models_tells(tmp_path: Path) -> None:
    message = progress_of(side(SAMPLES / "newton_sqrt.onnx"), side(write_wrong_newton(tmp_path / "wrong.onnx")))
    compared = [iterations for again, iterations, _ in message if not again]
    assert compared == sorted(compared) and set(compared) == {0, 1, 2, 3, 4, 5}
    # For where the difference comes from both are run again, up to the end of iteration 0.
    # The run that shows the cause may report, too.
    assert [iterations for again, iterations, _ in message if again][:2] == [0, 0]


def test_a_recording_has_its_iterations_for_a_trip_count(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, trace = SAMPLES / "newton_sqrt.onnx", tmp_path / "run.loopdb"
    inputs = ["--input", "a=2", "--input", "tol=1e-6"]
    assert command(capsys, "run", model, *inputs, "--record", trace, "--every", "2").status == 0
    recorded = open_side(trace)
    assert not isinstance(recorded, loopdbg.Model)
    message = progress_of(recorded, side(model))
    recorded.trace.close()
    assert message == [(False, 0, 5), (False, 2, 5), (False, 4, 5), (False, 5, 5)]


def test_a_terminal_shows_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    inputs = ["--input", "a=2", "--input", "tol=1e-6"]
    ran = command(capsys, "diff", SAMPLES / "newton_sqrt.onnx", write_wrong_newton(tmp_path / "wrong.onnx"), *inputs)
    assert ran.status == 6
    assert "\rcomparing: 3 iterations of 'sqrt'" in ran.err
    assert "\rlooking for the cause: 0 iterations of 'sqrt'" in ran.err
    assert ran.err.endswith("\r\x1b[K")
