"""Child process that runs cases: reads ranges of cases from a pipe, and sends rows back.

A mapped file always has the current case and its start time, for a parent that finds the process dead or hanging. A
message is eight bytes of length and a pickle, as for peers.
"""

from __future__ import annotations

import mmap
import os
import pickle
import signal
import sys
import time
from pathlib import Path
from typing import IO, Any

from ...runtime.kernels.memory_guard import limit_process_memory
from ...runtime.lazy_function_registry import load_plugin
from ..peers.child import MESSAGE_LENGTH, kill_group_with_parent, send_message
from .case_executor import CaseExecutor
from .job import SweepJob

#: Size of the mapped file in bytes.
MARKER_BYTES = 16
#: Case numbers that mean idle and opening a model.
NO_CASE, OPENING_MODEL = -1, -2
#: Seconds between two messages with rows.
_SEND_INTERVAL_SECONDS = 0.5


class CaseMarker:
    """The mapped file: the number of the case and its start (``time.monotonic``), two numbers of eight bytes. Each is
    written atomically while another process reads, which ``struct.pack_into`` does not guarantee."""

    def __init__(self, path: str | Path) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), MARKER_BYTES)
        self._cells = memoryview(self._map).cast("d")

    def set(self, number: int) -> None:
        """Begin a case."""
        cells = self._cells
        # In this order: a concurrent reader sees the old case with the old time, or a newer time.
        cells[1] = time.monotonic()
        cells[0] = number

    def get(self) -> tuple[int, float]:
        """Return the current case and its start time."""
        number, start = self._cells
        return int(number), start

    def close(self) -> None:
        """Close the file."""
        self._cells.release()
        self._map.close()


class WorkerServer:
    """Answers the requests ``job`` and ``range``."""

    def __init__(self, marker: CaseMarker, answers: IO[bytes]) -> None:
        self._marker = marker
        self._answers = answers
        self._jobs: dict[int, SweepJob] = {}
        self._open: tuple[int, CaseExecutor] | None = None
        self._loaded: set[str] = set()

    def handle(self, kind: str, payload: Any) -> None:
        """Handle one message."""
        if kind == "job":
            self._jobs[payload.number] = payload
            if self._open is not None and self._open[0] == payload.number:
                self._close()
            return
        number, start, stop, part = payload
        executor = self._executor(number)
        if part is not None:
            executor.adopt_cases_of(part)
        self._run(executor, start, stop)

    def _run(self, executor: CaseExecutor, start: int, stop: int) -> None:
        rows: list[tuple[Any, ...]] = []
        sent_at = time.monotonic()
        first = start
        for number, case_rows in enumerate(executor.run(range(start, stop), self._marker.set), start):
            rows += case_rows
            if time.monotonic() - sent_at > _SEND_INTERVAL_SECONDS:
                send_message(self._answers, ("rows", number + 1 - first, rows))
                rows, sent_at, first = [], time.monotonic(), number + 1
        self._marker.set(NO_CASE)
        send_message(self._answers, ("done", stop - first, rows))

    def _executor(self, number: int) -> CaseExecutor:
        """The executor of a job. Only one is kept: tasks of one job are consecutive."""
        if self._open is None or self._open[0] != number:
            self._close()
            self._marker.set(OPENING_MODEL)
            job = self._jobs[number]
            for path in job.spec.operators:
                if path not in self._loaded:
                    from ...runtime.ops.user_operator_files import load_operators

                    self._loaded.add(path)
                    load_operators(path)
            self._open = number, load_plugin(job.executor)(job)
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def main() -> None:
    """Serve until the pipe is closed."""
    kill_group_with_parent()
    limit_process_memory()
    # Ctrl-C is handled by the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    marker = CaseMarker(sys.argv[1])
    marker.set(NO_CASE)
    server = WorkerServer(marker, answers)
    send_message(answers, ("ready", 0, os.getpid()))
    while header := requests.read(MESSAGE_LENGTH.size):
        kind, payload = pickle.loads(requests.read(MESSAGE_LENGTH.unpack(header)[0]))
        try:
            server.handle(kind, payload)
        except Exception as error:
            send_message(answers, ("failed", 0, f"{type(error).__name__}: {error}"))
