"""The process that runs cases: it takes ranges of them from a pipe, and gives rows back.

Which case it runs, and since when, stands in a mapped file all the time, for whoever finds the process dead or hanging.
A message is eight bytes of length and a pickle, as those of the peers.
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
from ..peers.child import MESSAGE_LENGTH, kill_group_with_parent, send_message
from .case_executor import CaseExecutor
from .job import SweepJob

#: The bytes of the mapped file.
MARKER_BYTES = 16
#: In place of a case: nothing is run, or a model is opened.
NO_CASE, OPENING_MODEL = -1, -2
#: Seconds between two messages with rows.
_SEND_INTERVAL_SECONDS = 0.5


class CaseMarker:
    """The mapped file: the number of the case, and when it began (``time.monotonic``), two numbers of eight bytes. Each
    is written at once, while another process reads, which what packs a structure does not promise."""

    def __init__(self, path: str | Path) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), MARKER_BYTES)
        self._cells = memoryview(self._map).cast("d")

    def set(self, number: int) -> None:
        """A case begins."""
        cells = self._cells
        # In this order: whoever reads in between finds the older time with the older case, or a newer time.
        cells[1] = time.monotonic()
        cells[0] = number

    def get(self) -> tuple[int, float]:
        """The case that runs, and when it began."""
        number, began = self._cells
        return int(number), began

    def close(self) -> None:
        """Let go of the file."""
        self._cells.release()
        self._map.close()


class WorkerServer:
    """Answers requests: ``job``, ``range``."""

    def __init__(self, mark: CaseMarker, answers: IO[bytes]) -> None:
        self._marker = mark
        self._answers = answers
        self._jobs: dict[int, SweepJob] = {}
        self._open: tuple[int, CaseExecutor] | None = None
        self._loaded: set[str] = set()

    def handle(self, what: str, given: Any) -> None:
        """Do what one message asks for."""
        if what == "job":
            self._jobs[given.number] = given
            if self._open is not None and self._open[0] == given.number:
                self._close()
            return
        number, start, stop, part = given
        executor = self._executor(number)
        if part is not None:
            executor.use_cases_of(part)
        self._run(executor, start, stop)

    def _run(self, executor: CaseExecutor, start: int, stop: int) -> None:
        rows: list[tuple[Any, ...]] = []
        sent = time.monotonic()
        done = start
        for number, one in enumerate(executor.run(range(start, stop), self._marker.set), start):
            rows += one
            if time.monotonic() - sent > _SEND_INTERVAL_SECONDS:
                send_message(self._answers, ("rows", number + 1 - done, rows))
                rows, sent, done = [], time.monotonic(), number + 1
        self._marker.set(NO_CASE)
        send_message(self._answers, ("done", stop - done, rows))

    def _executor(self, number: int) -> CaseExecutor:
        """That of a job. One is kept: tasks of one job come one after the other."""
        if self._open is None or self._open[0] != number:
            self._close()
            self._marker.set(OPENING_MODEL)
            job = self._jobs[number]
            for path in job.spec.operators:
                if path not in self._loaded:
                    from ...runtime.ops.user_operator_files import load_operators

                    self._loaded.add(path)
                    load_operators(path)
            self._open = number, CaseExecutor(job)
        return self._open[1]

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def main() -> None:
    """Serve until the pipe is closed."""
    kill_group_with_parent()
    limit_process_memory()
    # Ctrl-C is for the program that asks, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    mark = CaseMarker(sys.argv[1])
    mark.set(NO_CASE)
    server = WorkerServer(mark, answers)
    send_message(answers, ("ready", 0, os.getpid()))
    while header := requests.read(MESSAGE_LENGTH.size):
        what, given = pickle.loads(requests.read(MESSAGE_LENGTH.unpack(header)[0]))
        try:
            server.handle(what, given)
        except Exception as error:
            send_message(answers, ("failed", 0, f"{type(error).__name__}: {error}"))
