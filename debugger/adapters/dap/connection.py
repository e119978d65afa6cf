"""One connection of an editor: what it opened, moves of that, and the events that tell of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...console.console import Console
from ...session.debuggee import Debuggee
from ...session.stop import Reason, Stop
from ..token import matches
from ..visible import Lines
from .messages import Messages
from .runner import Move, Runner
from .stops import Stops
from .variables import Variables
from .views import Views

#: What opens a model or a trace, from the arguments of ``launch`` or ``attach``.
Opens = Callable[[Mapping[str, Any]], Debuggee]
#: There is one thread, that of the model.
THREAD = 1
#: Why an editor is told that it stopped.
_REASONS = {
    Reason.ENTRY: "entry",
    Reason.START: "entry",
    Reason.BREAKPOINT: "breakpoint",
    Reason.WATCHPOINT: "data breakpoint",
    Reason.LIMIT: "pause",
    Reason.INTERRUPT: "pause",
    Reason.ERROR: "exception",
    Reason.DONE: "end of the run",
}
#: By request set where a breakpoint came from.
_BREAKPOINT_REASONS = {"function": "function breakpoint", "data": "data breakpoint", "exception": "exception"}


#: What is answered before a client has sent the token: neither opens or changes anything.
_WITHOUT_TOKEN = ("initialize", "disconnect")


class RefusedError(Exception):
    """A request that cannot be carried out; the text is for the person."""


class Connection:
    """One connection of an editor. ``token``: what ``launch`` or ``attach`` has to bring; empty: nothing."""

    def __init__(self, messages: Messages, opens: Opens, token: str = "") -> None:
        self.messages = messages
        self._token = token
        #: The client may use the debugger.
        self.admitted = not token
        #: Why the client was refused.
        self.refusal = ""
        self._opens = opens
        self.client: Mapping[str, Any] = {}
        self.opened: Runner | None = None
        self._stops: Stops | None = None
        self._console: Console | None = None
        self._views: Views | None = None
        self.values = Variables()
        self.stop: Stop | None = None
        self.launched: Mapping[str, Any] = {}
        self._progress = 0
        self._shown = ""
        self.over = False

    # -- the session

    @property
    def runner(self) -> Runner:
        """What moves the session."""
        if self.opened is None:
            raise RefusedError("nothing was opened; launch a model, or attach to a trace, first")
        return self.opened

    @property
    def session(self) -> Debuggee:
        """What is debugged."""
        return self.runner.session

    def admit(self, command: str, arguments: Any) -> None:
        """Let a client in that sends the token, which only ``launch`` and ``attach`` can carry in every editor.

        Raises:
            RefusedError: it does not; nothing was done, and the connection is over.
        """
        if self.admitted or command in _WITHOUT_TOKEN:
            return
        received = arguments.get("token") if isinstance(arguments, dict) else None
        self.admitted = command in ("launch", "attach") and matches(received, self._token)
        if not self.admitted:
            self.over = True
            self.refusal = "its token is missing or wrong"
            raise RefusedError(
                "launch and attach need the 'token' that the server printed (or that of LOOPDBG_DAP_TOKEN)"
            )

    def views(self) -> Views:
        """This stop."""
        if self.runner.busy:
            raise RefusedError("a loop is running; pause it first")
        if self._views is None:
            self._views = Views(self.session, self.values)
        return self._views

    def open(self, arguments: Mapping[str, Any]) -> None:
        """Begin with what the editor names."""
        if self.opened is not None:
            raise RefusedError("a model is open already")
        session = self._opens(arguments)
        self.launched = arguments
        self.opened = Runner(session, self.stopped, self._failed, self._told_progress)
        self._stops = Stops(session)
        self._console = Console(session, self.say)
        self.stop = session.stop

    @property
    def stops(self) -> Stops:
        """The editor's breakpoints."""
        self.runner  # noqa: B018 - refuses where nothing is open
        assert self._stops is not None
        return self._stops

    @property
    def console(self) -> Console:
        """The console of the editor."""
        self.runner  # noqa: B018 - as above
        assert self._console is not None
        return self._console

    def move(self, move: Move) -> Callable[[], object]:
        """What begins a move, once its request was answered; its stop is an event."""
        if self.runner.busy:
            raise RefusedError("a loop is running; pause it first")
        self.forget()
        return lambda: self.runner.run(move)

    def forget(self) -> None:
        """What was told of the last stop is over."""
        self._views = None
        self.values.forget()

    # -- events

    def say(self, text: str) -> None:
        """A line for the editor's console."""
        self.messages.event("output", {"category": "console", "output": Lines((text, ""))})

    def stopped(self, stop: Stop) -> None:
        """Tell where the session stands."""
        self.forget()
        self.stop = stop
        if stop.reason is Reason.DONE and not self.launched.get("stopAtEnd", True):
            self.say(stop.text)
            self.end()
            return
        kinds = [kind for number in stop.breakpoints if (kind := self.stops.kind_of(number))]
        reason = _REASONS.get(stop.reason, "step")
        if kinds and stop.reason is Reason.BREAKPOINT:
            reason = _BREAKPOINT_REASONS.get(kinds[0], reason)
        body = {"reason": reason, "description": stop.text, "threadId": THREAD, "allThreadsStopped": True}
        if stop.reason in (Reason.ERROR, Reason.DONE):
            self.say(stop.text)
        if stop.breakpoints:
            body["hitBreakpointIds"] = list(stop.breakpoints)
        self.messages.event("stopped", body)

    def _failed(self, text: str) -> None:
        self.forget()
        self.messages.event("output", {"category": "stderr", "output": Lines((text, ""))})
        stopped = {"reason": "pause", "description": text, "threadId": THREAD, "allThreadsStopped": True}
        self.messages.event("stopped", stopped)

    def _told_progress(self, text: str | None) -> None:
        if not self.client.get("supportsProgressReporting"):
            return
        name = f"run-{self._progress}"
        if text is None:
            self.messages.event("progressEnd", {"progressId": name})
            self._progress += 1
            return
        told = {"progressId": name, "message": text}
        if self._shown != name:
            self._shown = name
            self.messages.event("progressStart", {**told, "title": "Running", "cancellable": True})
        else:
            self.messages.event("progressUpdate", told)

    def end(self) -> None:
        """Say that it is over."""
        self.messages.event("exited", {"exitCode": 0})
        self.messages.event("terminated")
