"""Runs jobs on a session in a thread, one at a time, so that a front end stays responsive."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...runtime.api_boundary import ApiBoundary
from ...runtime.errors import LoopdbgError, one_line
from ..statistics.value_history import Evolution
from .live_status import LiveStatus
from .session import Session

#: The name of the threads.
THREAD_NAME = "loopdbg-session"
#: A job of fewer seconds reports no progress; the interval between reports.
_PROGRESS_DELAY_SECONDS, _PROGRESS_INTERVAL_SECONDS = 1.0, 0.5
#: An interrupt is repeated, since a job may be between two commands of the session.
_INTERRUPT_INTERVAL_SECONDS = 0.05

#: Receives the result of a job, or None and its exception.
OnDone = Callable[[Any, Exception | None], object]


@dataclass(frozen=True, eq=False)
class _Job:
    """A function to call, the receiver of its result, and its displayed name."""

    run: Callable[[], Any]
    on_done: OnDone
    label: str | None


@dataclass(frozen=True)
class RunProgress:
    """The progress of a running job: its label, seconds, iterations by loop path, the total rate per second, and the
    value histories and live status of each loop."""

    label: str
    seconds: float
    iterations: Mapping[str, int]
    rate: float
    histories: Mapping[str, Evolution]
    live_status: Mapping[str, LiveStatus]

    @property
    def text(self) -> str:
        """The iteration of each loop; "" before the first sample."""
        return ", ".join(f"{path}: iteration {count}" for path, count in self.iterations.items())


class SessionWorker:
    """Runs jobs on a session, one after the other; the thread exists while there are any.

    Args:
        get_session: Returns the session, which a job may replace. While :attr:`busy`, other threads may only interrupt
            it and read its progress.
        deliver: Calls the callbacks of this worker, for front ends that need them in a certain thread; called in a
            thread of the worker, once per callback. By default callbacks are called right there.
        on_progress: Periodically receives the progress of a long job; never after its result.
    """

    def __init__(
        self,
        get_session: Callable[[], Session],
        deliver: Callable[[Callable[[], object]], object] = lambda callback: callback(),
        on_progress: Callable[[RunProgress], object] | None = None,
    ) -> None:
        self._get_session = get_session
        self._deliver = deliver
        self._on_progress = on_progress
        #: Held while progress is reported, and when a job ends. Acquired before the other lock.
        self._report_lock = threading.Lock()
        #: Guards everything below.
        self._condition = threading.Condition()
        self._queue: deque[_Job] = deque()
        self._current: _Job | None = None
        self._current_started = 0.0
        self._thread: threading.Thread | None = None
        self._closed = False
        #: The time and the iteration count of the last progress sample.
        self._last_sample = (0.0, 0)

    @property
    def session(self) -> Session:
        """The current session."""
        return self._get_session()

    @property
    def pending(self) -> list[str | None]:
        """The labels of the jobs that run or wait."""
        with self._condition:
            return [job.label for job in (self._current, *self._queue) if job is not None]

    @property
    def busy(self) -> bool:
        """True while a job runs or waits; false when the last one reports its result."""
        with self._condition:
            return self._current is not None or bool(self._queue)

    def enqueue(self, run: Callable[[], Any], on_done: OnDone, label: str | None = None) -> None:
        """Queue a job; ignored after :meth:`close`.

        Args:
            run: The job, which runs inside an :class:`.ApiBoundary`.
            on_done: Receives the result of ``run``, or None and its exception.
            label: What is shown while it runs; None: a short job, without progress.
        """
        with self._condition:
            if self._closed:
                return
            if self._thread is None:
                self._thread = self._start_thread()
            self._queue.append(_Job(run, on_done, label))

    def drop_queued(self, keep: Callable[[str | None], bool] = lambda label: False) -> None:
        """Drop the waiting jobs, without a callback, except those whose label is to be kept."""
        with self._condition:
            self._queue = deque(job for job in self._queue if keep(job.label))

    def interrupt(self) -> None:
        """Interrupt the running job at its next boundary, and drop the waiting ones."""
        with self._condition:
            self._queue.clear()
            if self._current is not None:
                self.session.interrupt()

    def interrupt_and_wait(self, seconds: float) -> None:
        """Interrupt everything, and wait until the running job has ended and its callback returned, at most for some
        seconds."""
        deadline = time.monotonic() + seconds
        with self._condition:
            self.interrupt()
            while self._thread not in (None, threading.current_thread()) and time.monotonic() < deadline:
                self._condition.wait(_INTERRUPT_INTERVAL_SECONDS)
                self.interrupt()

    def close(self, timeout: float = 1.0) -> None:
        """As :meth:`interrupt_and_wait`; no further job runs and no further result is reported."""
        with self._condition:
            self._closed = True
        self.interrupt_and_wait(timeout)

    def progress(self) -> RunProgress | None:
        """Sample the progress of the running job; None if none runs, or one without a label."""
        with self._condition:
            job, started = self._current, self._current_started
        if job is None or job.label is None:
            self._last_sample = (0.0, 0)
            return None
        session = self.session
        now, iterations = time.monotonic(), session.progress
        count = sum(iterations.values())
        last_time, last_count = self._last_sample
        rate = (count - last_count) / (now - last_time) if last_time > started and now > last_time else 0.0
        self._last_sample = (now, count)
        return RunProgress(job.label, now - started, iterations, max(0.0, rate), session.lately, session.underway)

    def _start_thread(self) -> threading.Thread:
        # Daemon threads: a single long node can't be interrupted, and must not keep the process alive.
        ended = threading.Event()
        thread = threading.Thread(target=self._run_jobs, args=(ended,), name=THREAD_NAME, daemon=True)
        thread.start()
        if self._on_progress is not None:
            arguments = (self._on_progress, ended)
            threading.Thread(target=self._report_progress, args=arguments, name=THREAD_NAME, daemon=True).start()
        return thread

    def _run_jobs(self, ended: threading.Event) -> None:
        while (job := self._take_job()) is not None:
            result: Any = None
            error: Exception | None = None
            try:
                with ApiBoundary():
                    result = job.run()
            except Exception as exception:
                error = exception
            with self._report_lock, self._condition:
                self._current = None
                closed = self._closed
            if not closed:
                self._call_back(partial(job.on_done, result, error))
        ended.set()

    def _take_job(self) -> _Job | None:
        """The next job; None ends the thread."""
        with self._condition:
            if self._queue:
                self._current, self._current_started = self._queue.popleft(), time.monotonic()
            else:
                self._thread = None
                self._condition.notify_all()
            return self._current

    def _report_progress(self, on_progress: Callable[[RunProgress], object], ended: threading.Event) -> None:
        while not ended.wait(_PROGRESS_INTERVAL_SECONDS):
            with self._report_lock:
                progress = self.progress()
                if progress is not None and progress.seconds >= _PROGRESS_DELAY_SECONDS:
                    self._call_back(partial(on_progress, progress))

    def _call_back(self, callback: Callable[[], object]) -> None:
        """Deliver a callback. Its errors are reported as those of a thread, which goes on."""
        try:
            self._deliver(callback)
        except Exception as error:
            threading.excepthook(
                threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
            )


def failure_text(error: Exception) -> str:
    """The message for the exception of a job."""
    if isinstance(error, LoopdbgError):
        return str(error)
    return f"internal error: {type(error).__name__}: {one_line(error)}"
