"""The moves of a connection, without a stream."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.frontends.dap.editor_session import DapConnection
from loopdbg.debugger.session import worker as worker_module
from text_models import SAMPLES

#: Seconds that anything may take on a busy machine.
TIMEOUT_SECONDS = 120


class EventQueue:
    """Takes the events instead of a stream."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[tuple[str, Mapping[str, Any]]] = queue.SimpleQueue()

    def send_event(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        """Take an event."""
        self._queue.put((name, body or {}))

    def next_event(self) -> tuple[str, Mapping[str, Any]]:
        """The next event."""
        return self._queue.get(timeout=TIMEOUT_SECONDS)

    @property
    def empty(self) -> bool:
        return self._queue.empty()


@pytest.fixture
def connection() -> Iterator[DapConnection]:
    session = loopdbg.debug(SAMPLES / "loop_infinite.xml", dict(np.load(SAMPLES / "loop_infinite.inputs.npz")))
    opened = DapConnection(EventQueue(), lambda arguments: session)  # type: ignore[arg-type]
    opened.client_capabilities = {"supportsProgressReporting": True}
    opened.open({})
    yield opened
    opened.worker.close(TIMEOUT_SECONDS)


def events_of(connection: DapConnection) -> EventQueue:
    assert isinstance(connection.messages, EventQueue)
    return connection.messages


def test_progress_ends_before_the_stop(connection: DapConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "_PROGRESS_DELAY_SECONDS", 0)
    monkeypatch.setattr(worker_module, "_PROGRESS_INTERVAL_SECONDS", 0.001)
    events = events_of(connection)
    for number in range(2):
        connection.deferred_move(connection.session.continue_)()
        started, updated = events.next_event(), events.next_event()
        assert started[0] == "progressStart" and updated[0] == "progressUpdate"
        connection.worker.interrupt_and_wait(TIMEOUT_SECONDS)
        while (last := events.next_event())[0] == "progressUpdate":
            pass
        assert last[0] == "progressEnd"
        assert {body["progressId"] for _, body in (started, updated, last)} == {f"run-{number}"}
        name, body = events.next_event()
        assert name == "stopped" and body["reason"] == "pause" and events.empty


def test_move_that_reported_no_progress_ends_none(connection: DapConnection) -> None:
    connection.deferred_move(connection.session.step)()
    assert events_of(connection).next_event()[0] == "stopped"
    connection.worker.interrupt_and_wait(TIMEOUT_SECONDS)
    assert events_of(connection).empty


def test_running_move_continues_after_a_change(connection: DapConnection) -> None:
    session = connection.session
    connection.deferred_move(session.continue_)()
    for number in (1, 2):
        assert connection.run_while_paused(lambda: session.breakpoints.add("if 1 > 2")).number == number
        assert connection.worker.busy
    with pytest.raises(loopdbg.UsageError):
        connection.run_while_paused(lambda: session.breakpoints.add("if nothing"))
    assert connection.worker.busy and events_of(connection).empty
    connection.run_while_paused(lambda: session.breakpoints.add("end"))
    # The loop never ends, so only the interrupt stops it.
    connection.worker.interrupt_and_wait(TIMEOUT_SECONDS)
    name, body = events_of(connection).next_event()
    assert name == "stopped" and body["reason"] == "pause" and events_of(connection).empty


def test_change_without_a_move_is_applied_at_once(connection: DapConnection) -> None:
    assert connection.run_while_paused(lambda: 1) == 1
    with pytest.raises(loopdbg.UsageError):
        connection.run_while_paused(lambda: connection.session.breakpoints.add("if nothing"))
    assert events_of(connection).empty and not connection.worker.busy
