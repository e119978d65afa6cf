"""Progress of long runs on stderr: an updated line on a terminal, periodic lines elsewhere."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from ...runtime.model import LoopTotals, Run
from ..render.formatting import escape_unprintable, rate_text
from .execution.run_report import is_nested

#: Seconds before the first update, and between updates.
FIRST_LINE_SECONDS = 1.0
LINE_INTERVAL_SECONDS = 0.2
#: Without a terminal: seconds before the first line; the interval then doubles.
FIRST_LOG_LINE_SECONDS = 10.0


class _UpdatedLine:
    """One line that is updated in place, throttled; as a context manager it clears the line at the end."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = clock()
        self._next_update = self._start + FIRST_LINE_SECONDS
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._drawn:
            self._write("\r\x1b[K")

    def _draw(self, text: str, now: float) -> None:
        self._next_update = now + LINE_INTERVAL_SECONDS
        self._write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        self._drawn = True

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)
            self._stream.flush()


class ProgressLine(_UpdatedLine):
    """The progress of a run."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        #: By path of a running loop: time and iteration of the first sample, last iteration.
        self._loop_samples: dict[str, tuple[float, int, int]] = {}

    def _running_loops(self, run: Run, now: float) -> list[LoopTotals]:
        running = [loop for loop in run.loops if loop.entries and loop.stopped_by is None]
        for loop in running:
            start, first, last = self._loop_samples.get(loop.path, (now, loop.iterations, 0))
            if loop.iterations < last:
                start, first = now, loop.iterations  # another entry
            self._loop_samples[loop.path] = start, first, loop.iterations
        return running

    def show_if_due(self, run: Run, label: str = "") -> None:
        """Show the progress of a run, if an update is due; ``label``: its purpose."""
        now = self._clock()
        running = self._running_loops(run, now)
        if now >= self._next_update and running:
            self._draw(label + self._progress_text(running, run, now), now)

    def _progress_text(self, running: list[LoopTotals], run: Run, now: float) -> str:
        outer = next((loop for loop in running if not is_nested(loop, run.loops)), running[0])
        inner = running[-1]
        total = outer.trip_count
        progress = f"{outer.iterations}" if total is None else f"{outer.iterations} of {total}"
        parts = [f"{progress} iterations of '{escape_unprintable(outer.name)}'"]
        if inner is not outer:
            parts.append(f"{inner.iterations} of '{escape_unprintable(inner.name)}'")
        rate = self._iteration_rate(inner, now)
        if rate:
            parts.append(rate_text(rate).replace(" ", ""))
        outer_rate = self._iteration_rate(outer, now)
        if total is not None and outer_rate:
            # The trip count is an upper bound: a condition may end the loop earlier.
            parts.append(f"{outer.iterations / total:.0%}" if total else "")
            parts.append(f"ETA {_clock_duration_text((total - outer.iterations) / outer_rate)}")
        return "  ".join(part for part in parts if part)

    def _iteration_rate(self, loop: LoopTotals, now: float) -> float:
        start, first, _ = self._loop_samples[loop.path]
        return (loop.iterations - first) / (now - start) if now > start else 0.0


class StatusLine(_UpdatedLine):
    """The status of a search, on a terminal only."""

    def say(self, text: str) -> None:
        """Show a text, if an update is due."""
        now = self._clock()
        if now >= self._next_update and self._stream.isatty():
            self._draw(text, now)


class ProgressLog(ProgressLine):
    """Progress for a pipe: a line after ten seconds, then at doubling intervals.

    ``inputs``: a remark on default inputs. ``bounds``: describes by path what can end a loop.
    """

    def __init__(
        self, stream: TextIO, inputs: str, bounds: Callable[[str], str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(stream, clock)
        self._next_update = self._start + FIRST_LOG_LINE_SECONDS
        self._inputs = inputs
        self._bounds = bounds

    def show_if_due(self, run: Run, label: str = "") -> None:
        """Log the progress of a run, if a line is due."""
        now = self._clock()
        running = self._running_loops(run, now)
        if now < self._next_update or not running:
            return
        self._next_update = now + (now - self._start)
        parts = [f"running for {now - self._start:.0f} s", label + self._progress_text(running, run, now)]
        parts += [text for text in (self._bounds(running[-1].path), self._inputs) if text]
        self._write(f"loopdbg: {'; '.join(parts)}\n")


def _clock_duration_text(seconds: float) -> str:
    minutes, seconds_left = divmod(max(round(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
