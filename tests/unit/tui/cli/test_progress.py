"""The progress line: when it is shown, and its contents."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import loopdbg
from cli_runner import save_text_model
from loopdbg import LoopTotals, Run, StoppedBy
from loopdbg.tui.cli.progress import ProgressLine, ProgressLog
from text_models import NESTED, SAMPLES, SUM


class FakeRun:
    """A run with a settable clock and iteration count."""

    def __init__(self, model: loopdbg.Model, *trip_counts: int | None) -> None:
        self.now = 100.0
        self.stream = io.StringIO()
        self.model = model
        self.trip_counts = trip_counts
        self.progress = ProgressLine(self.stream, lambda: self.now)

    def line_at(self, seconds: float, *iterations: int) -> str:
        """The line drawn at a time; empty if there is none."""
        self.now = 100.0 + seconds
        loops = self.model.plan.loops
        totals = [
            LoopTotals(plan.loop.name, plan.path, count, 1, None, {}, trip_count, seconds)
            for plan, count, trip_count in zip(loops, iterations, self.trip_counts, strict=True)
        ]
        before = len(self.stream.getvalue())
        self.progress.show_if_due(Run(loops=totals))
        return self.stream.getvalue()[before:].removeprefix("\r").removesuffix("\x1b[K")


def test_short_runs_draw_nothing(tmp_path: Path) -> None:
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, SUM)), 1000)
    with story.progress:
        assert story.line_at(0.01, 10) == ""
        assert story.line_at(0.9, 900) == ""
    assert story.stream.getvalue() == ""


def test_trip_count_gives_share_and_eta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, SUM)), 100_000)
    name = story.model.loops[0].name
    with story.progress:
        story.line_at(0, 0)
        assert story.line_at(2, 4000) == f"4000 of 100000 iterations of '{name}'  2k/s  4%  ETA 0:48"
        assert story.line_at(2.1, 4200) == ""
        assert story.line_at(2.3, 4600) != ""
    assert story.stream.getvalue().endswith("\r\x1b[K")


def test_no_eta_without_a_trip_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(SAMPLES / "loop_while.xml"), None)
    story.line_at(0, 0)
    assert story.line_at(2, 5_000_000) == "5000000 iterations of 'halving'  2.5M/s"


def test_repeated_run_has_its_own_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, SUM)), 1000)
    story.line_at(0, 0)
    story.line_at(2, 800)
    assert story.line_at(3, 10) == f"10 of 1000 iterations of '{story.model.loops[0].name}'"
    assert story.line_at(4, 30).endswith("  20/s  3%  ETA 0:48")


def test_progress_shows_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(SAMPLES / "lstm.xml"), 25)
    story.now += 2
    (plan,) = story.model.plan.loops
    totals = [LoopTotals(plan.loop.name, plan.path, 5, 1, None, {}, 25, 1.0)]
    story.progress.show_if_due(Run(loops=totals), "comparing: ")
    assert story.stream.getvalue() == "\rcomparing: 5 of 25 iterations of 'rnn'\x1b[K"


def test_slices_of_an_input_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(SAMPLES / "lstm.xml"), 25)
    story.line_at(0, 0)
    assert story.line_at(2, 5) == "5 of 25 iterations of 'rnn'  2.5/s  20%  ETA 0:08"


def test_progress_of_nested_loop_shows_outer_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, NESTED)), 10, 1000)
    outer, inner = (plan.loop.name for plan in story.model.plan.loops)
    story.line_at(0, 0, 0)
    line = story.line_at(4, 2, 2400)
    assert line == f"2 of 10 iterations of '{outer}'  2400 of '{inner}'  600/s  20%  ETA 0:16"


def test_lines_fit_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, SUM)), 100_000)
    story.line_at(0, 0)
    assert len(story.line_at(2, 4000)) == 19


def test_nothing_is_drawn_between_loops(tmp_path: Path) -> None:
    story = FakeRun(loopdbg.load(save_text_model(tmp_path, SUM)))
    ended = LoopTotals("a", "a", 5, 1, StoppedBy.TRIP_COUNT, {}, 5, 1.0)
    story.now += 9
    story.progress.show_if_due(Run(loops=[ended]))
    assert story.stream.getvalue() == ""


def test_pipe_gets_an_occasional_line() -> None:
    story = FakeRun(loopdbg.load(SAMPLES / "newton_sqrt.onnx"), None)
    story.progress = ProgressLog(story.stream, "inputs: made", lambda path: "it ends some day", lambda: story.now)
    with story.progress:
        assert story.line_at(0.5, 50) == "" and story.line_at(9.9, 990) == ""
        assert story.line_at(10.5, 1050) == (
            "loopdbg: running for 10 s; 1050 iterations of 'sqrt'  100/s; it ends some day; inputs: made\n"
        )
        assert story.line_at(20.9, 2090) == "" and story.line_at(21.1, 2110) and story.line_at(42, 4200) == ""
    assert story.stream.getvalue().count("\n") == 2
