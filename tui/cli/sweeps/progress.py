"""How far a sweep is: a bar on a terminal, a line now and then elsewhere."""

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
    """Counts what has come. ``told``: is called for each batch."""

    def __init__(self, total: int, told: Callable[[SweepCounter], None]) -> None:
        self.total = total
        self.done = 0
        self.failed: Counter[str] = Counter()
        self._on_update = told

    def add(self, batch: RowBatch) -> None:
        """Rows have come."""
        self.done += batch.cases
        for cells in batch.rows:
            if cells[STATUS_INDEX] != Status.OK and cells[1] <= 0:
                self.failed[cells[STATUS_INDEX]] += 1
        self._on_update(self)

    @property
    def failures(self) -> str:
        """How many cases did not end well, by status; empty where all did."""
        return ", ".join(f"{status} {count}" for status, count in self.failed.most_common())


@contextmanager
def sweep_progress(stream: TextIO, total: int) -> Iterator[SweepCounter]:
    """Somebody who sees how many of the cases are done."""
    if not stream.isatty():
        yield SweepCounter(total, SweepProgressLog().log)
        return
    # Here: a pipe has no use for it.
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
    with Progress(*columns, console=Console(file=stream), transient=True) as shown:
        task = shown.add_task("", total=total, rate="", failures="")

        def tell(count: SweepCounter) -> None:
            passed = time.monotonic() - started
            rate = f"{count.done / passed:.0f}/s" if passed else ""
            shown.update(task, completed=count.done, rate=rate, failures=count.failures)

        yield SweepCounter(total, tell)


class SweepProgressLog:
    """A line when a sweep has taken ten seconds, and each time that it took half as long again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, say: Callable[[str], Any] = terminal.err) -> None:
        self._clock = clock
        self._say = say
        self._start = clock()
        self._next_update = self._start + FIRST_LOG_LINE_SECONDS

    def log(self, count: SweepCounter) -> None:
        """Say how far it is, if it is time for that."""
        now = self._clock()
        if now < self._next_update or not count.done:
            return
        passed = now - self._start
        self._next_update = now + passed / 2
        left = passed * (count.total - count.done) / count.done
        failures = f"; {count.failures}" if count.failures else ""
        rate = count.done / passed
        self._say(f"loopdbg: {count.done} of {count.total} cases, {rate:.0f}/s, {left:.0f} s left{failures}")
