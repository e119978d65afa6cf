"""A process that runs cases, as the program sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import finish, python
from loopdbg.debugger.peers.processor import Use
from loopdbg.debugger.sweep.child import IDLE, MARK, Mark
from loopdbg.debugger.sweep.schedule import Task
from loopdbg.debugger.sweep.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    """One whose process is not started: what it would write is written here."""
    made = Worker({})
    made.task = Task(0, 0, 9)
    yield made
    made.close()


def write(worker: Worker, number: int, began: float) -> None:
    worker._mark._cells[0], worker._mark._cells[1] = number, began


def test_a_case_hangs_when_it_is_the_same_at_two_looks_and_too_old(worker: Worker) -> None:
    write(worker, 3, time.monotonic() - 100)
    assert [worker.hangs(10.0), worker.hangs(10.0), worker.hangs(None)] == [False, True, False]
    write(worker, 4, time.monotonic())
    assert [worker.hangs(10.0), worker.hangs(10.0)] == [False, False]


@pytest.mark.parametrize(
    ("before", "now", "age", "hangs"),
    [
        (Use(1.0, True), Use(2.0, True), 20, False),  # it would run, and may not
        (Use(1.0, True), Use(12.0, True), 20, True),  # it had its time
        (Use(1.0, False), Use(1.0, False), 20, True),  # it waits for something else
        (Use(1.0, True), Use(2.0, True), 1000, True),  # even so
    ],
)
def test_a_case_that_gets_no_processor_is_waited_for(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, before: Use, now: Use, age: float, hangs: bool
) -> None:
    told = iter((before, now))
    monkeypatch.setattr(worker, "_use_now", lambda: next(told))
    write(worker, 3, time.monotonic() - age)
    assert [worker.hangs(10.0), worker.hangs(10.0)] == [False, hangs]


def test_what_was_read_half_written_is_no_sign(worker: Worker) -> None:
    for number in range(9):
        write(worker, number, time.monotonic())
        assert not worker.hangs(10.0)
        write(worker, number, 1e-300)
        assert not worker.hangs(10.0), "seen once"


def test_a_mark_is_never_half_written(tmp_path: Path) -> None:
    """What packs a structure clears its bytes first, and a case seemed to be as old as the machine."""
    path = tmp_path / "mark"
    path.write_bytes(bytes(MARK))
    mark = Mark(path)
    mark.set(1)
    code = "import sys; from loopdbg.debugger.sweep.child import Mark; m = Mark(sys.argv[1])\n"
    writer = python("-c", code + "for k in range(2, 100_000): m.set(k)", path)
    numbers, oldest = set(), 0.0
    while writer.poll() is None:
        for _ in range(1000):
            number, began = mark.get()
            oldest = max(oldest, time.monotonic() - began)
        numbers.add(number)
    assert finish(writer).status == 0
    assert mark.get()[0] == 99_999 and min(numbers) >= 1
    mark.close()
    assert oldest < 60


def test_nothing_hangs_where_nothing_runs(worker: Worker) -> None:
    write(worker, IDLE, 0.0)
    assert [worker.hangs(1.0), worker.hangs(1.0)] == [False, False]
    assert worker.at == 0
