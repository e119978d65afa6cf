"""A worker process that runs cases, as the scheduler sees it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_runner import start_python, wait_for_exit
from loopdbg.debugger.peers.cpu_usage import CpuUsage
from loopdbg.debugger.sweep.schedule import SweepTask
from loopdbg.debugger.sweep.worker_handle import WorkerProcess
from loopdbg.debugger.sweep.worker_main import MARKER_BYTES, NO_CASE, CaseMarker


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    """A worker whose process is not started: the test writes in its place."""
    result = WorkerProcess({})
    result.task = SweepTask(0, 0, 9)
    yield result
    result.close()


def write(worker: WorkerProcess, number: int, began: float) -> None:
    worker._marker._cells[0], worker._marker._cells[1] = number, began


def test_case_hangs_if_unchanged_between_two_checks_and_too_old(worker: WorkerProcess) -> None:
    write(worker, 3, time.monotonic() - 100)
    assert [worker.is_hanging(10.0), worker.is_hanging(10.0), worker.is_hanging(None)] == [False, True, False]
    write(worker, 4, time.monotonic())
    assert [worker.is_hanging(10.0), worker.is_hanging(10.0)] == [False, False]


@pytest.mark.parametrize(
    ("before", "now", "age", "hangs"),
    [
        (CpuUsage(1.0, True), CpuUsage(2.0, True), 20, False),  # runnable, but not scheduled
        (CpuUsage(1.0, True), CpuUsage(12.0, True), 20, True),  # it had its time
        (CpuUsage(1.0, False), CpuUsage(1.0, False), 20, True),  # it waits for something else
        (CpuUsage(1.0, True), CpuUsage(2.0, True), 1000, True),  # even so
    ],
)
def test_unscheduled_case_is_waited_for(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch, before: CpuUsage, now: CpuUsage, age: float, hangs: bool
) -> None:
    message = iter((before, now))
    monkeypatch.setattr(worker, "_current_cpu_use", lambda: next(message))
    write(worker, 3, time.monotonic() - age)
    assert [worker.is_hanging(10.0), worker.is_hanging(10.0)] == [False, hangs]


def test_partially_written_mark_is_ignored(worker: WorkerProcess) -> None:
    for number in range(9):
        write(worker, number, time.monotonic())
        assert not worker.is_hanging(10.0)
        write(worker, number, 1e-300)
        assert not worker.is_hanging(10.0), "seen once"


def test_mark_is_written_atomically(tmp_path: Path) -> None:
    """struct.pack_into clears its bytes first, which made a case seem as old as the machine."""
    path = tmp_path / "mark"
    path.write_bytes(bytes(MARKER_BYTES))
    mark = CaseMarker(path)
    start = time.monotonic()
    mark.set(1)
    code = "import sys; from loopdbg.debugger.sweep.worker_main import CaseMarker; m = CaseMarker(sys.argv[1])\n"
    writer = start_python("-c", code + "for k in range(2, 100_000): m.set(k)", path)
    first, earliest = mark.get()
    while writer.poll() is None:
        for _ in range(1000):
            number, began = mark.get()
            first, earliest = min(first, number), min(earliest, began)
    assert wait_for_exit(writer).status == 0
    assert mark.get()[0] == 99_999 and first == 1
    mark.close()
    assert earliest >= start


def test_idle_worker_never_hangs(worker: WorkerProcess) -> None:
    write(worker, NO_CASE, 0.0)
    assert [worker.is_hanging(1.0), worker.is_hanging(1.0)] == [False, False]
    assert worker.current_case == 0
