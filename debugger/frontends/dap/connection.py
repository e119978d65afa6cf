"""One connection of an editor: its session, moves, and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...session.session import Session
from ...session.stop import Reason, Stop
from ..access_token import token_matches
from ..console.console import Console
from ..sanitize import MultilineText
from .dap_breakpoints import DapBreakpoints
from .messages import DapMessageStream
from .move_runner import DapMoveRunner, Move
from .stop_view import DapStopView
from .variables import VariableReferences

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
        self.open_runner: DapMoveRunner | None = None
        self._breakpoints: DapBreakpoints | None = None
        self._console: Console | None = None
        self._stop_view: DapStopView | None = None
        self.variable_references = VariableReferences()
        self.last_stop: Stop | None = None
        self.launch_arguments: Mapping[str, Any] = {}
        self._progress_number = 0
        self._started_progress_id = ""
        self.closed = False

    # -- the session

    @property
    def runner(self) -> DapMoveRunner:
        """The runner of moves of the session."""
        if self.open_runner is None:
            raise RequestRefusedError("nothing was opened; launch a model, or attach to a trace, first")
        return self.open_runner

    @property
    def session(self) -> Session:
        """The session."""
        return self.runner.session

    def authenticate(self, command: str, arguments: Any) -> None:
        """Authenticate a client by the token, which all editors can send only with ``launch`` and ``attach``.

        Raises:
            RequestRefusedError: the token is missing or wrong; the connection is closed.
        """
        if self.authenticated or command in _UNAUTHENTICATED_REQUESTS:
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
        if self.runner.busy:
            raise RequestRefusedError("a loop is running; pause it first")
        if self._stop_view is None:
            self._stop_view = DapStopView(self.session, self.variable_references)
        return self._stop_view

    def open(self, arguments: Mapping[str, Any]) -> None:
        """Open the model or trace of the request."""
        if self.open_runner is not None:
            raise RequestRefusedError("a model is open already")
        session = self._open_session(arguments)
        self.launch_arguments = arguments
        self.open_runner = DapMoveRunner(session, self.send_stopped, self._send_failure, self._send_progress)
        self._breakpoints = DapBreakpoints(session)
        self._console = Console(session, self.send_output)
        self.last_stop = session.stop

    @property
    def breakpoints(self) -> DapBreakpoints:
        """The editor's breakpoints."""
        self.runner  # noqa: B018 - raises if nothing is open
        assert self._breakpoints is not None
        return self._breakpoints

    @property
    def console(self) -> Console:
        """The console of the editor."""
        self.runner  # noqa: B018 - as above
        assert self._console is not None
        return self._console

    def deferred_move(self, move: Move) -> Callable[[], object]:
        """A function that starts a move after its request was answered; its stop is an event."""
        if self.runner.busy:
            raise RequestRefusedError("a loop is running; pause it first")
        self.invalidate_stop()
        return lambda: self.runner.start(move)

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
        if stop.reason is Reason.DONE and not self.launch_arguments.get("stopAtEnd", True):
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

    def _send_progress(self, text: str | None) -> None:
        if not self.client_capabilities.get("supportsProgressReporting"):
            return
        name = f"run-{self._progress_number}"
        if text is None:
            self.messages.send_event("progressEnd", {"progressId": name})
            self._progress_number += 1
            return
        body = {"progressId": name, "message": text}
        if self._started_progress_id != name:
            self._started_progress_id = name
            self.messages.send_event("progressStart", {**body, "title": "Running", "cancellable": True})
        else:
            self.messages.send_event("progressUpdate", body)

    def send_terminated(self) -> None:
        """Send the end of the run."""
        self.messages.send_event("exited", {"exitCode": 0})
        self.messages.send_event("terminated")
