"""A process that runs cases, as the program sees it: replaced when it dies or hangs."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import signal
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...runtime.atomic_file import discard, scratch_file
from ...runtime.child_process import call_command, start
from ...runtime.errors import LoopdbgError
from ..peers.child import LENGTH, send
from ..peers.processor import Use, use_of
from .cases import CaseSet
from .child import IDLE, MARK, OPENING, Mark
from .job import Job
from .schedule import Task

if TYPE_CHECKING:
    from subprocess import Popen

_CHILD = __name__.rpartition(".")[0] + ".child"
#: A case that hangs is given so much longer than the timeout, by which a loop ends by itself: a part of it, seconds.
_LONGER, _LEAST = 0.25, 0.5
#: Bytes of rows that a process need not wait with until they are taken.
_PIPE = 1 << 20
#: So many times as long a case is waited for that gets no processor on a busy machine.
_BUSY = 10
#: Seconds that a model may take to open, where a case has a timeout.
_OPENING = 60.0


class Worker:
    """One process. ``task``: what it does; ``done``: how many cases of it have come back."""

    def __init__(self, jobs: Mapping[int, Job]) -> None:
        self._jobs = jobs
        self._given: set[int] = set()
        #: It has come up: what ends it now is a case, or a model.
        self.ready = False
        self._process: Popen[bytes] | None = None
        self._buffer = bytearray()
        self.task: Task | None = None
        self.done = 0
        self.began = 0.0
        #: What stood in the mapped file at the last look, and what the process had of a processor when it came there.
        self._seen = (IDLE, 0.0)
        self._use = Use()
        self._file = scratch_file(bytes(MARK))
        self._mark = Mark(str(self._file))
        self._mark.set(IDLE)
        self._log: Any = None
        #: The last line that it wrote to stderr, once it has ended.
        self.said = ""

    def start(self) -> None:
        """Start the process, where none runs."""
        if self._process is not None:
            return
        self._mark.set(IDLE)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        self._process = start(call_command(_CHILD, "main", str(self._file)), stderr=self._log)
        os.set_blocking(self.fileno(), False)
        # Linux alone has it, and an administrator may forbid it: the process then waits until its rows are taken.
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(self.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        self._given.clear()
        self._buffer.clear()
        self.ready = False

    def fileno(self) -> int:
        """What can be waited for."""
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.fileno()

    def give(self, task: Task, part: CaseSet | None = None) -> None:
        """Let it run a task. What it has died of meanwhile is told by the next answer."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self.task, self.done, self.began = task, 0, time.monotonic()
        with contextlib.suppress(OSError):
            if task.job not in self._given:
                self._given.add(task.job)
                send(self._process.stdin, ("job", self._jobs[task.job]))
            given = None if part is None else _with(self._jobs[task.job], part)
            send(self._process.stdin, ("range", (task.job, task.start, task.stop, given)))

    def answers(self) -> tuple[list[tuple[str, int, Any]], bool]:
        """What it has said since it was asked last, and whether it is still there."""
        there = True
        while True:
            try:
                part = os.read(self.fileno(), 1 << 20)
            except BlockingIOError:
                break
            if not part:
                there = False
                break
            self._buffer += part
        found = []
        while len(self._buffer) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._buffer)
            end = LENGTH.size + length
            if len(self._buffer) < end:
                break
            found.append(pickle.loads(memoryview(self._buffer)[LENGTH.size : end].tobytes()))
            del self._buffer[:end]
        return found, there

    @property
    def at(self) -> int | None:
        """The case that it runs, or ran when it died; None: it was opening the model."""
        assert self.task is not None
        number, _ = self._mark.get()
        return None if number == OPENING else number if number != IDLE else self.task.start + self.done

    def hangs(self, timeout: float | None) -> bool:
        """Whether the case takes so long that nothing but ending the process will end it."""
        if timeout is None or self.task is None:
            return False
        before, self._seen = self._seen, self._mark.get()
        number, began = self._seen
        if number == IDLE:
            return False
        # What is read while it is written may be of two cases: it counts when it is the same at the next look.
        if self._seen != before:
            self._use = self._use_now()
            return False
        longest = max(_OPENING, timeout) if number == OPENING else timeout + max(_LEAST, timeout * _LONGER)
        passed = time.monotonic() - began
        return passed > longest and (passed > _BUSY * longest or not self._is_kept_waiting(longest))

    def _use_now(self) -> Use:
        return Use() if self._process is None else use_of(self._process.pid)

    def _is_kept_waiting(self, seconds: float) -> bool:
        """Whether the process would run, and had less than half of the time on a processor: that is no hang."""
        now = self._use_now()
        return now.runs and now.seconds - self._use.seconds < seconds / 2

    def end(self) -> str:
        """End the process, and all that it started; returns how it ended."""
        process, self._process = self._process, None
        if process is None:
            return ""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except OSError:
            process.kill()
        status = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.said = self._last_line()
        self._log.close()
        return _how(status)

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-1].split())[:300] if lines else ""

    def close(self) -> None:
        """End the process for good."""
        self.end()
        self._mark.close()
        discard(self._file)


def _with(job: Job, part: CaseSet) -> Job:
    return replace(job, cases=part, files={})


def _how(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class WorkerError(LoopdbgError):
    """A process that runs cases cannot start, or fails at something that is no case."""
