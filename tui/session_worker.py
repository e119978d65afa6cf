"""Runs a session's steps in a thread of its own, so that the screen answers whatever the engine does.

Commands go in as words, frozen views come out as messages; nobody else touches the session.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from textual.message import Message

from ..debugger.frontends.console.completion import complete
from ..debugger.frontends.console.console import Console, QuitRequest
from ..debugger.session.live_status import LiveStatus
from ..debugger.session.session import Reason, Session, Stop
from ..debugger.session.session_base import SessionBase
from ..debugger.statistics.value_history import Evolution
from ..runtime.api_boundary import ApiBoundary
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.model import Data, Model
from .busy_queries import answer_query
from .render.branch_rows import BranchHistory
from .render.display_values import DisplayTracker
from .render.stop_view import StopView, build_stop_view
from .worker_requests import SHORT_COMMANDS, BreakpointEdit, SessionCommand, WorkerRequest

#: Steps asked for faster than they are done wait in line, but not more of them than this.
_QUEUED_STEPS_MAX = 8


@dataclass(frozen=True, eq=False)
class SessionQuery:
    """Something to find out of the session where it stands. ``answer`` gets it, or None and what went wrong; it is
    called in the session's thread."""

    compute: Callable[[SessionBase], Any]
    on_result: Callable[[Any, str | None], object]


#: What the console calls those that a person asks for.
_CONSOLE_NAMES = {
    SessionCommand.STEP: "step",
    SessionCommand.NEXT_NODE: "next",
    SessionCommand.INTO: "into",
    SessionCommand.FINISH: "finish",
    SessionCommand.CONTINUE: "continue",
    SessionCommand.RESTART: "restart",
    SessionCommand.BACK: "back",
    SessionCommand.BACK_NODE: "back-node",
    SessionCommand.REVERSE_CONTINUE: "reverse-continue",
}


@dataclass(frozen=True)
class RunProgress:
    """How far a running command is: seconds so far, the iterations of each loop by path, how many a second they all do
    lately, what the values of each loop were, and where it stood."""

    command: WorkerRequest
    seconds: float
    iterations: Mapping[str, int]
    rate: float = 0.0
    histories: Mapping[str, Evolution] = field(default_factory=dict)
    live_status: Mapping[str, LiveStatus] = field(default_factory=dict)


class CommandFinished(Message):
    """A command ended; ``error`` is what went wrong, ``view`` None if not even a view could be made.

    ``said``: what the console and logpoints printed meanwhile; ``quits``: the user asked to leave; ``fault``: what is
    wrong with this program, to be raised.
    """

    def __init__(
        self,
        command: WorkerRequest,
        view: StopView | None,
        error: str | None = None,
        said: tuple[str, ...] = (),
        quits: bool = False,
        fault: Exception | None = None,
    ) -> None:
        super().__init__()
        self.command = command
        self.view = view
        self.error = error
        self.output = said
        self.quit_requested = quits
        self.internal_error = fault
        #: The model that the view is of.
        self.model: Model | None = None


class DeferredStartSession(Session):
    """A session that waits for :meth:`restart` before it runs anything.

    What comes before the first loop can take long or fail, and the screen has to show both: not before it opens.
    """

    _start_pending = True

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; the first call, by the constructor, does nothing."""
        if self._start_pending:
            self._start_pending = False
            return self.stop
        return super().restart(inputs)


class SessionWorker:
    """One session and the thread that drives it. ``post`` gets a :class:`CommandFinished` for every command, in that
    thread.

    ``session``: what to drive instead of a run of the model, such as a recording. ``told``: an error's text here.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator that nothing can run.
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data],
        max_iterations: int | None,
        session: SessionBase | None = None,
        told: Callable[[LoopdbgError], str] = str,
    ) -> None:
        self.error_text = told
        self.post: Callable[[CommandFinished], object] = lambda _: None
        self._branch_history = BranchHistory()
        self._display_tracker = DisplayTracker()
        self._output: list[str] = []
        self.console = Console(
            session or DeferredStartSession(model, inputs, max_iterations=max_iterations), self._output.append
        )
        self._completer = self.console.completion_context()
        #: Guards everything below.
        self._condition = threading.Condition()
        self._queue: list[WorkerRequest | SessionQuery] = []
        self._current: WorkerRequest | SessionQuery | None = None
        self._current_started = 0.0
        self._closed = False
        #: So many commands have ended.
        self.finished_count = 0
        #: When the progress was asked for last, and what it was.
        self._last_sample = (0.0, 0)
        # A daemon: a single node that takes minutes can't be interrupted, and must not keep the program alive.
        self._thread = threading.Thread(target=self._run_loop, name="loopdbg-driver", daemon=True)
        self._thread.start()

    @property
    def _session(self) -> SessionBase:
        """What is driven; a console can open something else."""
        return self.console.session

    @property
    def model(self) -> Model:
        """The model of the session."""
        return self._session.model

    @property
    def session(self) -> SessionBase:
        """The session, for tests: to be read while the driver is not :attr:`busy`."""
        return self._session

    @property
    def busy(self) -> bool:
        """True while a command runs or waits."""
        with self._condition:
            return self._current is not None or bool(self._queue)

    @property
    def has_pending_command(self) -> bool:
        """True while a command runs or waits that will end with a :class:`CommandFinished`: a question does not."""
        with self._condition:
            return any(c is not None and not isinstance(c, SessionQuery) for c in (self._current, *self._queue))

    def complete(self, line: str) -> tuple[int, list[str]]:
        """Where the last word of a line for the console begins, and what it can become, as of the last stop."""
        return complete(self._completer, line)

    def answer_while_busy(self, line: str) -> list[str] | None:
        """What a line says that needs no stop, such as ``help`` or ``info breakpoints``, while something runs; None for
        any other.

        Raises:
            UsageError: the line makes no sense.
        """
        return answer_query(line, self.console)

    def submit(self, command: WorkerRequest) -> bool:
        """Run a command, or a line in the console, once those before it are done; False where another one runs.

        What comes while steps run waits in line; while something longer runs only a restart is taken, and interrupts.
        """
        with self._condition:
            if command is SessionCommand.RESTART:
                self._cancel()
            ahead = [c for c in (self._current, *self._queue) if c is not None and not isinstance(c, SessionQuery)]
            if command is not SessionCommand.RESTART and (
                not SHORT_COMMANDS.issuperset(ahead) or len(ahead) > _QUEUED_STEPS_MAX
            ):
                return False
            self._queue.append(command)
            self._condition.notify()
        return True

    def query(self, question: SessionQuery) -> bool:
        """Answer a question once what runs is done; False where that may take long."""
        with self._condition:
            if not all(
                isinstance(one, SessionQuery) or one in SHORT_COMMANDS for one in (self._current, *self._queue) if one
            ):
                return False
            self._queue.append(question)
            self._condition.notify()
        return True

    def refusal(self, what: str) -> str:
        """Why something is not possible here, such as in a recording, and what can be done about it."""
        try:
            self._session._internals.refuse(what)
        except UsageError as problem:
            return self.error_text(problem)

    def select_frame(self, number: int) -> bool:
        """Let commands be about a frame, 0 the innermost; False where something runs.

        Raises:
            UsageError: the stack has no such frame.
        """
        with self._condition:
            if self._current is not None or self._queue:
                return False
            before = self.console.selected_index
            self.console.select_frame(number)
            self.console.notify_command_done("up" if number > before else "down")
            self._completer = self.console.completion_context()
        return True

    def query_displays(self, answer: Callable[[Any, str | None], object]) -> bool:
        """Ask for the displays in the frame that commands are about; see :class:`Question`. False where something runs
        that may take long."""
        return self.query(SessionQuery(lambda _: self._display_tracker.evaluate_all(self.console), answer))

    def interrupt(self) -> None:
        """Stop what runs at its next boundary, and forget what waits."""
        with self._condition:
            self._cancel()

    def progress(self) -> RunProgress | None:
        """How far the running command is; None while none runs."""
        with self._condition:
            command, since = self._current, self._current_started
        if command is None or isinstance(command, SessionQuery):
            self._last_sample = (0.0, 0)
            return None
        now, iterations = time.monotonic(), self._session.progress
        count = sum(iterations.values())
        before, counted = self._last_sample
        rate = (count - counted) / (now - before) if before > since and now > before else 0.0
        self._last_sample = (now, count)
        return RunProgress(
            command, now - since, iterations, max(0.0, rate), self._session.lately, self._session.underway
        )

    def close(self, timeout: float = 1.0) -> None:
        """End the thread; what runs is interrupted. Returns after ``timeout`` seconds at the latest."""
        with self._condition:
            self._closed = True
            self._cancel()
            self._condition.notify()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _is_closed(self) -> bool:
        return self._closed

    def _cancel(self) -> None:
        self._queue.clear()
        if self._current is not None:
            self._session.interrupt()

    def _run_loop(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._is_closed():
                    self._condition.wait()
                if self._is_closed():
                    return
                command = self._current = self._queue.pop(0)
                self._current_started = time.monotonic()
            if isinstance(command, SessionQuery):
                self._run_query(command)
                continue
            try:
                message = self._run_command(command)
            except Exception as fault:
                # Not hidden here, where nobody sees it: who shows what comes from this thread raises it.
                message = CommandFinished(command, None, fault=fault)
            message.model = self.model
            with self._condition:
                self._current = None
                self.finished_count += 1
                if message.error is not None:
                    # Steps asked for before their sight would run into it again.
                    self._queue = [c for c in self._queue if c is SessionCommand.RESTART]
                open_still = not self._is_closed()
            if open_still:
                self.post(message)

    def _run_query(self, question: SessionQuery) -> None:
        found, error, fault = None, None, None
        try:
            with ApiBoundary():
                found = question.compute(self._session)
        except LoopdbgError as problem:
            error = self.error_text(problem)
        except Exception as problem:
            fault = problem
        with self._condition:
            self._current = None
            open_still = not self._is_closed()
        if fault is None and open_still:
            try:
                question.on_result(found, error)
            except Exception as problem:
                fault = problem
        if fault is not None and open_still:
            self.post(CommandFinished(SessionCommand.START, None, fault=fault))

    def _run_command(self, command: WorkerRequest) -> CommandFinished:
        error = None
        quits = False
        before, inputs = self._session.stop, self._session.inputs
        try:
            with ApiBoundary():
                self._dispatch(command)
        except LoopdbgError as problem:
            error = self.error_text(problem)
        except QuitRequest:
            quits = True
        if self._session.inputs is not inputs:
            # Another run began.
            self._branch_history.clear()
            self._display_tracker.clear()
        stop = self._session.stop
        if error is None and stop.reason is Reason.ERROR and stop is not before:
            error = stop.text
        said = tuple(self._output)
        self._output.clear()
        try:
            with ApiBoundary():
                self._completer = self.console.completion_context()
                self.console.selected_frame()
                shown = build_stop_view(
                    self._session,
                    self._branch_history,
                    self.console.selected_index,
                    self._display_tracker.evaluate_all(self.console),
                )
            return CommandFinished(command, shown, error, said, quits)
        except LoopdbgError as problem:
            return CommandFinished(command, None, error or self.error_text(problem), said, quits)

    def _dispatch(self, command: WorkerRequest) -> None:
        session = self._session
        if isinstance(command, BreakpointEdit):
            self.console.edit_breakpoint(command.number, command.condition, command.ignore, command.commands)
            return
        if not isinstance(command, SessionCommand):
            self.console.execute(command)
            return
        match command:
            case SessionCommand.START | SessionCommand.RESTART:
                self._branch_history.clear()
                session.restart()
            case SessionCommand.STEP:
                session.step()
            case SessionCommand.NEXT_NODE:
                session.next_node()
            case SessionCommand.INTO:
                session.into()
            case SessionCommand.FINISH:
                session.finish()
            case SessionCommand.CONTINUE:
                session.continue_()
            case SessionCommand.BACK:
                session.back()
            case SessionCommand.BACK_NODE:
                session.back_node()
            case SessionCommand.REVERSE_CONTINUE:
                session.reverse_continue()
        # Even where it led to where it stood: a step is shown in the innermost frame.
        self.console.select_frame(0)
        if command in _CONSOLE_NAMES:
            self.console.notify_command_done(_CONSOLE_NAMES[command])
        self.console.run_breakpoint_commands(session.stop)
