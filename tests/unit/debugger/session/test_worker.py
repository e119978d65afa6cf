"""The worker of a session: jobs in a thread, one at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.session import worker as worker_module
from loopdbg.debugger.session.worker import THREAD_NAME, RunProgress, SessionWorker, failure_text
from text_models import SAMPLES

#: Seconds that anything may take on a busy machine.
TIMEOUT_SECONDS = 120


def endless() -> loopdbg.Session:
    return loopdbg.debug(SAMPLES / "loop_infinite.xml", dict(np.load(SAMPLES / "loop_infinite.inputs.npz")))


def endless_worker(**options: Any) -> SessionWorker:
    session = endless()
    return SessionWorker(lambda: session, **options)


@pytest.fixture
def worker() -> Iterator[SessionWorker]:
    started = endless_worker()
    yield started
    started.close(TIMEOUT_SECONDS)


class Results:
    """Receives results of jobs, in order."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

    def __call__(self, result: Any, error: Exception | None) -> None:
        self._queue.put((result, error))

    def next_result(self) -> tuple[Any, Exception | None]:
        """The next result, and its error."""
        return self._queue.get(timeout=TIMEOUT_SECONDS)

    @property
    def empty(self) -> bool:
        return self._queue.empty()


def run_endlessly(worker: SessionWorker, on_done: Results) -> None:
    """Start an endless loop; returns once it runs."""
    worker.enqueue(worker.session.continue_, on_done, "continue")
    while not ((progress := worker.progress()) and any(progress.iterations.values())):
        pass


def wait_until_idle(worker: SessionWorker) -> None:
    """Wait until every callback of a worker without an endless job has returned."""
    for thread in threading.enumerate():
        if thread.name == THREAD_NAME:
            thread.join(TIMEOUT_SECONDS)
    assert not worker.busy


def raise_error(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def test_jobs_run_in_one_thread_that_ends(worker: SessionWorker) -> None:
    results = Results()
    for _ in range(2):
        worker.enqueue(threading.current_thread, results)
        thread, error = results.next_result()
        assert thread is not threading.current_thread() and error is None
        wait_until_idle(worker)
        # A thread is not enumerated from shortly before its end.
        thread.join(TIMEOUT_SECONDS)
        assert not thread.is_alive()


def test_worker_is_not_busy_when_the_last_job_reports(worker: SessionWorker) -> None:
    seen: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
    release = threading.Event()
    worker.enqueue(release.wait, lambda result, error: seen.put(("first", worker.busy)), "first")
    worker.enqueue(lambda: None, lambda result, error: seen.put(("second", worker.busy)), "second")
    assert worker.pending == ["first", "second"]
    release.set()
    assert [seen.get(timeout=TIMEOUT_SECONDS) for _ in range(2)] == [("first", True), ("second", False)]
    assert worker.pending == []


def test_jobs_run_one_at_a_time_in_order(worker: SessionWorker) -> None:
    events: list[tuple[str, int]] = []
    release = threading.Event()
    results = Results()
    worker.enqueue(release.wait, results)
    for number in range(20):
        worker.enqueue(
            lambda number=number: events.append(("run", number)),
            lambda result, error, number=number: events.append(("done", number)),
        )
    worker.enqueue(lambda: None, results)
    release.set()
    results.next_result()
    results.next_result()
    assert events == [(kind, number) for number in range(20) for kind in ("run", "done")]


def test_job_enqueued_by_a_callback_runs_after_it(worker: SessionWorker) -> None:
    results = Results()
    worker.enqueue(lambda: 1, lambda result, error: worker.enqueue(lambda: result + 1, results))
    assert results.next_result() == (2, None)


def test_interrupt_stops_an_endless_loop_and_drops_waiting_jobs(worker: SessionWorker) -> None:
    results, dropped = Results(), Results()
    run_endlessly(worker, results)
    worker.enqueue(worker.session.step, dropped, "step")
    worker.interrupt()
    stop, error = results.next_result()
    assert stop.reason == "interrupt" and error is None
    wait_until_idle(worker)
    assert dropped.empty
    worker.enqueue(worker.session.step, results)
    assert results.next_result()[0].reason == "step"


def test_interrupt_reaches_a_session_that_a_job_opened() -> None:
    sessions, results = [endless()], Results()
    worker = SessionWorker(lambda: sessions[-1])
    worker.enqueue(lambda: sessions.append(endless()), results)
    results.next_result()
    run_endlessly(worker, results)
    worker.interrupt()
    assert results.next_result()[0].reason == "interrupt"
    assert worker.session is sessions[1] and sessions[0].stop.reason == "entry"


def test_drop_queued_keeps_selected_jobs(worker: SessionWorker) -> None:
    results, started, release = Results(), threading.Event(), threading.Event()
    worker.enqueue(lambda: started.set() or release.wait(), results, "current")
    assert started.wait(TIMEOUT_SECONDS)
    for label in ("step", "restart", None):
        worker.enqueue(lambda label=label: label, results, label)
    worker.drop_queued(keep=lambda label: label == "restart")
    assert worker.pending == ["current", "restart"]
    worker.drop_queued()
    assert worker.pending == ["current"]
    release.set()
    assert results.next_result() == (True, None)
    wait_until_idle(worker)
    assert results.empty


def test_errors_are_reported_and_the_next_job_runs(worker: SessionWorker) -> None:
    results = Results()
    worker.enqueue(lambda: worker.session.step(0), results)
    worker.enqueue(raise_error(TypeError("no such thing")), results)
    worker.enqueue(lambda: 1, results)
    (nothing, error), (_, fault) = results.next_result(), results.next_result()
    assert nothing is None and isinstance(error, loopdbg.UsageError)
    assert failure_text(error) == str(error)
    assert isinstance(fault, loopdbg.InternalError) and isinstance(fault.__cause__, TypeError)
    assert results.next_result() == (1, None)


def test_exceptions_of_user_functions_pass_unchanged(worker: SessionWorker) -> None:
    results, error = Results(), ValueError("of the user\nsecond line")
    worker.session.on_log = lambda line: raise_error(error)()
    worker.session.breakpoints.add("iter 2", log="here")
    worker.enqueue(worker.session.continue_, results)
    assert results.next_result() == (None, error)
    assert failure_text(error) == "internal error: ValueError: of the user second line"


def test_failing_callback_is_reported_and_the_next_job_runs(
    worker: SessionWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)
    error, results = RuntimeError("in a callback"), Results()
    worker.enqueue(lambda: None, lambda result, _: raise_error(error)())
    worker.enqueue(lambda: 1, results)
    assert results.next_result() == (1, None)
    assert [item.exc_value for item in reported] == [error] and reported[0].thread.name == THREAD_NAME


def test_close_interrupts_without_a_callback() -> None:
    worker, results = endless_worker(), Results()
    run_endlessly(worker, results)
    worker.enqueue(worker.session.step, results)
    worker.close(TIMEOUT_SECONDS)
    assert not worker.busy and worker.session.stop.reason == "interrupt"
    worker.enqueue(worker.session.step, results)
    assert not worker.busy and results.empty
    worker.close()


def test_close_does_not_wait_for_its_own_thread() -> None:
    worker, closed = endless_worker(), threading.Event()

    def close(result: Any, error: Exception | None) -> None:
        worker.close(TIMEOUT_SECONDS)
        closed.set()

    dropped, release = Results(), threading.Event()
    worker.enqueue(release.wait, close)
    worker.enqueue(lambda: None, dropped)
    release.set()
    assert closed.wait(TIMEOUT_SECONDS / 2)
    wait_until_idle(worker)
    assert dropped.empty


def test_interrupt_and_wait_returns_after_the_callback(worker: SessionWorker) -> None:
    reasons: list[str] = []
    worker.enqueue(worker.session.continue_, lambda stop, error: reasons.append(stop.reason), "continue")
    while not worker.session.running:
        pass
    worker.interrupt_and_wait(TIMEOUT_SECONDS)
    assert reasons == ["interrupt"]


def test_callbacks_are_delivered_by_the_hook() -> None:
    callbacks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
    worker = endless_worker(deliver=callbacks.put)
    threads: list[tuple[int, threading.Thread]] = []
    for number in range(3):
        worker.enqueue(
            lambda number=number: number, lambda result, error: threads.append((result, threading.current_thread()))
        )
    for _ in range(3):
        callbacks.get(timeout=TIMEOUT_SECONDS)()
    assert threads == [(number, threading.current_thread()) for number in range(3)]


def test_progress_is_that_of_labelled_jobs(worker: SessionWorker) -> None:
    assert worker.progress() is None
    results, release = Results(), threading.Event()
    worker.enqueue(release.wait, results)
    assert worker.progress() is None
    release.set()
    results.next_result()
    run_endlessly(worker, results)
    progress = worker.progress()
    assert progress is not None and progress.label == "continue" and progress.seconds > 0
    assert progress.text == ", ".join(f"{path}: iteration {count}" for path, count in progress.iterations.items())
    worker.interrupt()
    results.next_result()
    assert worker.progress() is None


def test_progress_is_reported_until_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_PROGRESS_DELAY_SECONDS", 0)
    monkeypatch.setattr(worker_module, "_PROGRESS_INTERVAL_SECONDS", 0.001)
    events: list[str] = []
    enough = threading.Event()

    def report(progress: RunProgress) -> None:
        events.append(progress.label)
        if len(events) > 3:
            enough.set()

    worker = endless_worker(on_progress=report)
    worker.enqueue(worker.session.continue_, lambda stop, error: events.append(stop.reason), "continue")
    assert enough.wait(TIMEOUT_SECONDS)
    worker.interrupt_and_wait(TIMEOUT_SECONDS)
    wait_until_idle(worker)
    assert events[-1] == "interrupt" and set(events[:-1]) == {"continue"}
