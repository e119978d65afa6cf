"""How far a sweep is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ...debugger.sweep.local import Batch
from ...debugger.sweep.row import STATUS, Status
from . import terminal
from .progress import LATE


class Count:
    """Counts what has come. ``told``: is called for each batch."""

    def __init__(self, total: int, told: Callable[[Count], None]) -> None:
        self.total = total
        self.done = 0
        self.bad: Counter[str] = Counter()
        self._told = told

    def add(self, batch: Batch) -> None:
        """Rows have come."""
        self.done += batch.cases
        for cells in batch.rows:
            if cells[STATUS] != Status.OK and cells[1] <= 0:
                self.bad[cells[STATUS]] += 1
        self._told(self)

    @property
    def failures(self) -> str:
        """How many cases did not end well, by status; empty where all did."""
        return ", ".join(f"{status} {count}" for status, count in self.bad.most_common())


@contextmanager
def watched(stream: TextIO, total: int) -> Iterator[Count]:
    """Somebody who sees how many of the cases are done."""
    if not stream.isatty():
        yield Count(total, Lines().tell)
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

        def tell(count: Count) -> None:
            passed = time.monotonic() - started
            rate = f"{count.done / passed:.0f}/s" if passed else ""
            shown.update(task, completed=count.done, rate=rate, failures=count.failures)

        yield Count(total, tell)


class Lines:
    """A line when a sweep has taken ten seconds, and each time that it took half as long again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, say: Callable[[str], Any] = terminal.err) -> None:
        self._clock = clock
        self._say = say
        self._start = clock()
        self._next = self._start + LATE

    def tell(self, count: Count) -> None:
        """Say how far it is, if it is time for that."""
        now = self._clock()
        if now < self._next or not count.done:
            return
        passed = now - self._start
        self._next = now + passed / 2
        left = passed * (count.total - count.done) / count.done
        failures = f"; {count.failures}" if count.failures else ""
        rate = count.done / passed
        self._say(f"loopdbg: {count.done} of {count.total} cases, {rate:.0f}/s, {left:.0f} s left{failures}")
