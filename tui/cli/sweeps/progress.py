"""Progress of a sweep: a bar on a terminal, periodic lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ....debugger.sweep.row import STATUS_INDEX, Status
from ....debugger.sweep.worker_pool import RowBatch
from .. import terminal
from ..progress import FIRST_LOG_LINE_SECONDS


class SweepCounter:
    """Counts finished cases. ``on_update`` is called for each batch."""

    def __init__(self, total: int, on_update: Callable[[SweepCounter], None]) -> None:
        self.total = total
        self.done = 0
        self.failed: Counter[str] = Counter()
        self._on_update = on_update

    def add(self, batch: RowBatch) -> None:
        """Count a batch of rows."""
        self.done += batch.cases
        for cells in batch.rows:
            if cells[STATUS_INDEX] != Status.OK and cells[1] <= 0:
                self.failed[cells[STATUS_INDEX]] += 1
        self._on_update(self)

    @property
    def failures(self) -> str:
        """The counts of failed cases by status; empty if there are none."""
        return ", ".join(f"{status} {count}" for status, count in self.failed.most_common())


@contextmanager
def sweep_progress(stream: TextIO, total: int) -> Iterator[SweepCounter]:
    """A counter that displays its progress."""
    if not stream.isatty():
        yield SweepCounter(total, SweepProgressLog().log)
        return
    # Imported lazily: a pipe needs no progress bar.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[failures]}", markup=False),
        TimeRemainingColumn(),
    )
    started = time.monotonic()
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=total, rate="", failures="")

        def update(count: SweepCounter) -> None:
            elapsed = time.monotonic() - started
            rate = f"{count.done / elapsed:.0f}/s" if elapsed else ""
            progress.update(task, completed=count.done, rate=rate, failures=count.failures)

        yield SweepCounter(total, update)


class SweepProgressLog:
    """Logs a line after ten seconds, then at intervals that grow by half."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, say: Callable[[str], Any] = terminal.err) -> None:
        self._clock = clock
        self._say = say
        self._start = clock()
        self._next_update = self._start + FIRST_LOG_LINE_SECONDS

    def log(self, count: SweepCounter) -> None:
        """Log the progress, if a line is due."""
        now = self._clock()
        if now < self._next_update or not count.done:
            return
        elapsed = now - self._start
        self._next_update = now + elapsed / 2
        remaining = elapsed * (count.total - count.done) / count.done
        failures = f"; {count.failures}" if count.failures else ""
        rate = count.done / elapsed
        self._say(f"loopdbg: {count.done} of {count.total} cases, {rate:.0f}/s, {remaining:.0f} s left{failures}")
