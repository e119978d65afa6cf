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
from ...runtime.child_process import call_command, start_child
from ...runtime.errors import LoopdbgError
from ..peers.child import MESSAGE_LENGTH, send_message
from ..peers.cpu_usage import CpuUsage, cpu_usage
from .cases import CaseSet
from .job import SweepJob
from .schedule import SweepTask
from .worker_main import MARKER_BYTES, NO_CASE, OPENING_MODEL, CaseMarker

if TYPE_CHECKING:
    from subprocess import Popen

_WORKER_MODULE = __name__.rpartition(".")[0] + ".worker_main"
#: A case that hangs is given so much longer than the timeout, by which a loop ends by itself: a part of it, seconds.
_HANG_GRACE_FACTOR, _HANG_GRACE_MIN_SECONDS = 0.25, 0.5
#: Bytes of rows that a process need not wait with until they are taken.
_PIPE_BYTES = 1 << 20
#: So many times as long a case is waited for that gets no processor on a busy machine.
_STARVED_TIMEOUT_FACTOR = 10
#: Seconds that a model may take to open, where a case has a timeout.
_OPEN_TIMEOUT_SECONDS = 60.0


class WorkerProcess:
    """One process. ``task``: what it does; ``done``: how many cases of it have come back."""

    def __init__(self, jobs: Mapping[int, SweepJob]) -> None:
        self._jobs = jobs
        self._sent_jobs: set[int] = set()
        #: It has come up: what ends it now is a case, or a model.
        self.ready = False
        self._process: Popen[bytes] | None = None
        self._buffer = bytearray()
        self.task: SweepTask | None = None
        self.done_count = 0
        self.started_at = 0.0
        #: What stood in the mapped file at the last look, and what the process had of a processor when it came there.
        self._last_marker = (NO_CASE, 0.0)
        self._last_cpu_use = CpuUsage()
        self._file = scratch_file(bytes(MARKER_BYTES))
        self._marker = CaseMarker(str(self._file))
        self._marker.set(NO_CASE)
        self._log: Any = None
        #: The last line that it wrote to stderr, once it has ended.
        self.last_stderr_line = ""

    def start(self) -> None:
        """Start the process, where none runs."""
        if self._process is not None:
            return
        self._marker.set(NO_CASE)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        self._process = start_child(call_command(_WORKER_MODULE, "main", str(self._file)), stderr=self._log)
        os.set_blocking(self.fileno(), False)
        # Linux alone has it, and an administrator may forbid it: the process then waits until its rows are taken.
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(self.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._sent_jobs.clear()
        self._buffer.clear()
        self.ready = False

    def fileno(self) -> int:
        """What can be waited for."""
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.fileno()

    def send_task(self, task: SweepTask, part: CaseSet | None = None) -> None:
        """Let it run a task. What it has died of meanwhile is told by the next answer."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self.task, self.done_count, self.started_at = task, 0, time.monotonic()
        with contextlib.suppress(OSError):
            if task.job not in self._sent_jobs:
                self._sent_jobs.add(task.job)
                send_message(self._process.stdin, ("job", self._jobs[task.job]))
            given = None if part is None else _with_cases(self._jobs[task.job], part)
            send_message(self._process.stdin, ("range", (task.job, task.start, task.stop, given)))

    def read_answers(self) -> tuple[list[tuple[str, int, Any]], bool]:
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
        while len(self._buffer) >= MESSAGE_LENGTH.size:
            (length,) = MESSAGE_LENGTH.unpack_from(self._buffer)
            end = MESSAGE_LENGTH.size + length
            if len(self._buffer) < end:
                break
            found.append(pickle.loads(memoryview(self._buffer)[MESSAGE_LENGTH.size : end].tobytes()))
            del self._buffer[:end]
        return found, there

    @property
    def current_case(self) -> int | None:
        """The case that it runs, or ran when it died; None: it was opening the model."""
        assert self.task is not None
        number, _ = self._marker.get()
        return None if number == OPENING_MODEL else number if number != NO_CASE else self.task.start + self.done_count

    def is_hanging(self, timeout: float | None) -> bool:
        """Whether the case takes so long that nothing but ending the process will end it."""
        if timeout is None or self.task is None:
            return False
        before, self._last_marker = self._last_marker, self._marker.get()
        number, began = self._last_marker
        if number == NO_CASE:
            return False
        # What is read while it is written may be of two cases: it counts when it is the same at the next look.
        if self._last_marker != before:
            self._last_cpu_use = self._current_cpu_use()
            return False
        longest = (
            max(_OPEN_TIMEOUT_SECONDS, timeout)
            if number == OPENING_MODEL
            else timeout + max(_HANG_GRACE_MIN_SECONDS, timeout * _HANG_GRACE_FACTOR)
        )
        passed = time.monotonic() - began
        return passed > longest and (passed > _STARVED_TIMEOUT_FACTOR * longest or not self._is_starved(longest))

    def _current_cpu_use(self) -> CpuUsage:
        return CpuUsage() if self._process is None else cpu_usage(self._process.pid)

    def _is_starved(self, seconds: float) -> bool:
        """Whether the process would run, and had less than half of the time on a processor: that is no hang."""
        now = self._current_cpu_use()
        return now.is_runnable and now.seconds - self._last_cpu_use.seconds < seconds / 2

    def kill(self) -> str:
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
        self.last_stderr_line = self._last_line()
        self._log.close()
        return _exit_status_text(status)

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-1].split())[:300] if lines else ""

    def close(self) -> None:
        """End the process for good."""
        self.kill()
        self._marker.close()
        discard(self._file)


def _with_cases(job: SweepJob, part: CaseSet) -> SweepJob:
    return replace(job, cases=part, files={})


def _exit_status_text(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


class WorkerError(LoopdbgError):
    """A process that runs cases cannot start, or fails at something that is no case."""
