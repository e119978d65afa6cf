"""Parent side of a process that runs cases: replaced when it dies or hangs."""

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
from ...runtime.child_process import command_calling_function, start_child
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
#: Grace period of a hanging case after the timeout, which ends loops by itself: a factor, and a minimum in seconds.
_HANG_GRACE_FACTOR, _HANG_GRACE_MIN_SECONDS = 0.25, 0.5
#: Pipe capacity: bytes of rows that a process can send without waiting.
_PIPE_BYTES = 1 << 20
#: Factor of the timeout for a case that gets no CPU time on a busy machine.
_STARVED_TIMEOUT_FACTOR = 10
#: Seconds to open a model, if a case has a timeout.
_OPEN_TIMEOUT_SECONDS = 60.0


class WorkerProcess:
    """One process. ``task``: the current task; ``done_count``: the number of its finished cases."""

    def __init__(self, jobs: Mapping[int, SweepJob]) -> None:
        self._jobs = jobs
        self._sent_jobs: set[int] = set()
        #: It has started; a later end is caused by a case or a model.
        self.ready = False
        self._process: Popen[bytes] | None = None
        self._buffer = bytearray()
        self.task: SweepTask | None = None
        self.done_count = 0
        self.started_at = 0.0
        #: The mapped file at the last check, and the CPU usage of the process at its last change.
        self._last_marker = (NO_CASE, 0.0)
        self._last_cpu_use = CpuUsage()
        self._file = scratch_file(bytes(MARKER_BYTES))
        self._marker = CaseMarker(str(self._file))
        self._marker.set(NO_CASE)
        self._log: Any = None
        #: The last line that it wrote to stderr, once it has ended.
        self.last_stderr_line = ""

    def start(self) -> None:
        """Start the process, if none runs."""
        if self._process is not None:
            return
        self._marker.set(NO_CASE)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        self._process = start_child(command_calling_function(_WORKER_MODULE, "main", str(self._file)), stderr=self._log)
        os.set_blocking(self.fileno(), False)
        # Only on Linux, and possibly forbidden; otherwise the process waits until its rows are read.
        with contextlib.suppress(AttributeError, OSError):
            fcntl.fcntl(self.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._sent_jobs.clear()
        self._buffer.clear()
        self.ready = False

    def fileno(self) -> int:
        """Return the file descriptor to wait for."""
        assert self._process is not None and self._process.stdout is not None
        return self._process.stdout.fileno()

    def send_task(self, task: SweepTask, part: CaseSet | None = None) -> None:
        """Send a task. If the process has died, the next answer reports it."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self.task, self.done_count, self.started_at = task, 0, time.monotonic()
        with contextlib.suppress(OSError):
            if task.job not in self._sent_jobs:
                self._sent_jobs.add(task.job)
                send_message(self._process.stdin, ("job", self._jobs[task.job]))
            sent_job = None if part is None else _with_cases(self._jobs[task.job], part)
            send_message(self._process.stdin, ("range", (task.job, task.start, task.stop, sent_job)))

    def read_answers(self) -> tuple[list[tuple[str, int, Any]], bool]:
        """Return the messages since the last call, and whether the process is alive."""
        is_alive = True
        while True:
            try:
                part = os.read(self.fileno(), 1 << 20)
            except BlockingIOError:
                break
            if not part:
                is_alive = False
                break
            self._buffer += part
        answers = []
        while len(self._buffer) >= MESSAGE_LENGTH.size:
            (length,) = MESSAGE_LENGTH.unpack_from(self._buffer)
            end = MESSAGE_LENGTH.size + length
            if len(self._buffer) < end:
                break
            answers.append(pickle.loads(memoryview(self._buffer)[MESSAGE_LENGTH.size : end].tobytes()))
            del self._buffer[:end]
        return answers, is_alive

    @property
    def current_case(self) -> int | None:
        """The current or last case; None: it was opening the model."""
        assert self.task is not None
        number, _ = self._marker.get()
        return None if number == OPENING_MODEL else number if number != NO_CASE else self.task.start + self.done_count

    def is_hanging(self, timeout: float | None) -> bool:
        """Whether the case exceeds its time so far that only ending the process will end it."""
        if timeout is None or self.task is None:
            return False
        previous, self._last_marker = self._last_marker, self._marker.get()
        number, start = self._last_marker
        if number == NO_CASE:
            return False
        # A torn read may mix two cases: a value counts if it is the same at the next check.
        if self._last_marker != previous:
            self._last_cpu_use = self._current_cpu_use()
            return False
        allowed = (
            max(_OPEN_TIMEOUT_SECONDS, timeout)
            if number == OPENING_MODEL
            else timeout + max(_HANG_GRACE_MIN_SECONDS, timeout * _HANG_GRACE_FACTOR)
        )
        elapsed = time.monotonic() - start
        return elapsed > allowed and (elapsed > _STARVED_TIMEOUT_FACTOR * allowed or not self._is_starved(allowed))

    def _current_cpu_use(self) -> CpuUsage:
        return CpuUsage() if self._process is None else cpu_usage(self._process.pid)

    def _is_starved(self, seconds: float) -> bool:
        """Whether the process is runnable but had less than half of the time on a CPU, which is no hang."""
        usage = self._current_cpu_use()
        return usage.is_runnable and usage.seconds - self._last_cpu_use.seconds < seconds / 2

    def kill(self) -> str:
        """End the process and its children; return how it ended."""
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
        self.last_stderr_line = self._last_log_line()
        self._log.close()
        return _exit_status_text(status)

    def _last_log_line(self) -> str:
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
    """A process that runs cases cannot start, or fails outside of a case."""
