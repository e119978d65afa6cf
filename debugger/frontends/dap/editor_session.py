"""One connection of an editor: its session, moves, and events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ....runtime.api_boundary import ApiBoundary
from ...session.session import Session
from ...session.stop import Reason, Stop
from ...session.worker import RunProgress, SessionWorker, failure_text
from ..access_token import token_matches
from ..console.console import Console
from ..sanitize import MultilineText
from .dap_breakpoints import DapBreakpoints
from .messages import DapMessageStream
from .stop_view import DapStopView
from .variables import VariableReferences

_R = TypeVar("_R")
#: Moves the session; returns its stop.
Move = Callable[[], Stop]
#: Opens a model or a trace, from the arguments of ``launch`` or ``attach``.
SessionOpener = Callable[[Mapping[str, Any]], Session]
#: The only thread, that of the model.
THREAD_ID = 1
#: Stop reasons in the protocol.
_STOP_REASONS = {
    Reason.ENTRY: "entry",
    Reason.START: "entry",
    Reason.BREAKPOINT: "breakpoint",
    Reason.WATCHPOINT: "data breakpoint",
    Reason.LIMIT: "pause",
    Reason.INTERRUPT: "pause",
    Reason.ERROR: "exception",
    Reason.DONE: "end of the run",
}
#: Stop reasons by the request that set the breakpoint.
_BREAKPOINT_REASONS = {"function": "function breakpoint", "data": "data breakpoint", "exception": "exception"}


#: Requests that are answered without a token: they do not open or change anything.
_UNAUTHENTICATED_REQUESTS = ("initialize", "disconnect")
_NOTHING_OPEN = "nothing was opened; launch a model, or attach to a trace, first"


class RequestRefusedError(Exception):
    """A rejected request; the message is for the user."""


class DapConnection:
    """One connection of an editor. ``token``: required in ``launch`` or ``attach``; empty: none."""

    def __init__(self, messages: DapMessageStream, open_session: SessionOpener, token: str = "") -> None:
        self.messages = messages
        self._token = token
        #: Whether the client is authorized.
        self.authenticated = not token
        #: Why the client was rejected.
        self.refusal_reason = ""
        self._open_session = open_session
        self.client_capabilities: Mapping[str, Any] = {}
        self.open_worker: SessionWorker | None = None
        self._session: Session | None = None
        self._breakpoints: DapBreakpoints | None = None
        self._console: Console | None = None
        self._stop_view: DapStopView | None = None
        self.variable_references = VariableReferences()
        self.last_stop: Stop | None = None
        self.launch_arguments: Mapping[str, Any] = {}
        self._progress_number = 0
        self._progress_started = False
        #: Whether a change waits for the end of the move.
        self._pausing = False
        self.closed = False

    # -- the session

    @property
    def worker(self) -> SessionWorker:
        """The worker, which runs the moves of the session."""
        if self.open_worker is None:
            raise RequestRefusedError(_NOTHING_OPEN)
        return self.open_worker

    @property
    def session(self) -> Session:
        """The session."""
        if self._session is None:
            raise RequestRefusedError(_NOTHING_OPEN)
        return self._session

    def authenticate(self, command: str, arguments: Any) -> None:
        """Authenticate a client by the token, which all editors can send only with ``launch`` and ``attach``.

        Raises:
            RequestRefusedError: the token is missing or wrong; the connection is closed.
        """
        if command in _UNAUTHENTICATED_REQUESTS:
            return
        received = arguments.get("token") if isinstance(arguments, dict) else None
        self.authenticated = command in ("launch", "attach") and token_matches(received, self._token)
        if not self.authenticated:
            self.closed = True
            self.refusal_reason = "its token is missing or wrong"
            raise RequestRefusedError(
                "launch and attach need the 'token' that the server printed (or that of LOOPDBG_DAP_TOKEN)"
            )

    def stop_view(self) -> DapStopView:
        """The view of the current stop."""
        # A move discards it before it begins.
        if self._stop_view is None:
            if self.worker.busy:
                raise RequestRefusedError("a loop is running; pause it first")
            self._stop_view = DapStopView(self.session, self.variable_references)
        return self._stop_view

    def open(self, arguments: Mapping[str, Any]) -> None:
        """Open the model or trace of the request."""
        if self.open_worker is not None:
            raise RequestRefusedError("a model is open already")
        self._session = session = self._open_session(arguments)
        self.launch_arguments = arguments
        self.open_worker = SessionWorker(lambda: session, on_progress=self._send_progress)
        self._breakpoints = DapBreakpoints(session)
        self._console = Console(session, self.send_output)
        self.last_stop = session.stop

    @property
    def breakpoints(self) -> DapBreakpoints:
        """The editor's breakpoints."""
        self.worker  # noqa: B018 - raises if nothing is open
        assert self._breakpoints is not None
        return self._breakpoints

    @property
    def console(self) -> Console:
        """The console of the editor."""
        self.worker  # noqa: B018 - as above
        assert self._console is not None
        return self._console

    def deferred_move(self, move: Move) -> Callable[[], object]:
        """A function that starts a move after its request was answered; its stop is an event."""
        if self.worker.busy:
            raise RequestRefusedError("a loop is running; pause it first")
        self.invalidate_stop()
        return lambda: self._start_move(move)

    def _start_move(self, move: Move) -> None:
        self.worker.enqueue(move, self._end_move, "move")

    def _end_move(self, stop: Stop | None, error: Exception | None) -> None:
        """Send how a move ended; continue it after the change for which it is paused."""
        if self._pausing and stop is not None and stop.reason is Reason.INTERRUPT:
            self._start_move(self.session.continue_)
            return
        if self._progress_started:
            self.messages.send_event("progressEnd", {"progressId": self._progress_id})
            self._progress_number += 1
            self._progress_started = False
        if stop is not None:
            self.send_stopped(stop)
        elif error is not None:
            self._send_failure(failure_text(error))

    def run_while_paused(self, change: Callable[[], _R]) -> _R:
        """Apply a change that needs a stopped session: a running loop is paused for it, and continues.

        Raises:
            LoopdbgError: the change failed.
        """
        if not self.worker.busy:
            with ApiBoundary():
                return change()
        outcomes: list[tuple[_R, Exception | None]] = []
        changed = threading.Condition()

        def finish(result: _R, error: Exception | None) -> None:
            with changed:
                self._pausing = False
                outcomes.append((result, error))
                changed.notify()

        self._pausing = True
        self.worker.enqueue(change, finish)
        with changed:
            while not outcomes:
                # Repeat, since the move may not have started yet, or may be ending.
                self.session.interrupt()
                changed.wait(0.02)
        ((result, error),) = outcomes
        if error is not None:
            raise error
        return result

    def invalidate_stop(self) -> None:
        """Discard the data of the last stop."""
        self._stop_view = None
        self.variable_references.clear()

    # -- events

    def send_output(self, text: str) -> None:
        """Send a line to the editor's console."""
        self.messages.send_event("output", {"category": "console", "output": MultilineText((text, ""))})

    def send_stopped(self, stop: Stop) -> None:
        """Send the current stop."""
        self.invalidate_stop()
        self.last_stop = stop
        if stop.done and not self.launch_arguments.get("stopAtEnd", True):
            self.send_output(stop.text)
            self.send_terminated()
            return
        requests = [request for number in stop.breakpoints if (request := self.breakpoints.request_kind(number))]
        reason = _STOP_REASONS.get(stop.reason, "step")
        if requests and stop.reason is Reason.BREAKPOINT:
            reason = _BREAKPOINT_REASONS.get(requests[0], reason)
        body = {"reason": reason, "description": stop.text, "threadId": THREAD_ID, "allThreadsStopped": True}
        if stop.reason in (Reason.ERROR, Reason.DONE):
            self.send_output(stop.text)
        if stop.breakpoints:
            body["hitBreakpointIds"] = list(stop.breakpoints)
        self.messages.send_event("stopped", body)

    def _send_failure(self, text: str) -> None:
        self.invalidate_stop()
        self.messages.send_event("output", {"category": "stderr", "output": MultilineText((text, ""))})
        stopped = {"reason": "pause", "description": text, "threadId": THREAD_ID, "allThreadsStopped": True}
        self.messages.send_event("stopped", stopped)

    @property
    def _progress_id(self) -> str:
        return f"run-{self._progress_number}"

    def _send_progress(self, progress: RunProgress) -> None:
        if not self.client_capabilities.get("supportsProgressReporting"):
            return
        body = {"progressId": self._progress_id, "message": progress.text or "running"}
        if self._progress_started:
            self.messages.send_event("progressUpdate", body)
        else:
            self._progress_started = True
            self.messages.send_event("progressStart", {**body, "title": "Running", "cancellable": True})

    def send_terminated(self) -> None:
        """Send the end of the run."""
        self.messages.send_event("exited", {"exitCode": 0})
        self.messages.send_event("terminated")
