"""Runs a session in a worker thread, so that the screen stays responsive.

Commands are submitted as strings, immutable views are posted as messages; no other thread uses the session.
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
from ..debugger.statistics.value_history import Evolution
from ..runtime.api_boundary import ApiBoundary
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.model import Data, Model
from .busy_queries import answer_query
from .render.branch_rows import BranchHistory
from .render.display_values import DisplayTracker
from .render.stop_view import StopView, build_stop_view
from .worker_requests import SHORT_COMMANDS, BreakpointEdit, SessionCommand, WorkerRequest

#: The maximum number of queued steps.
_QUEUED_STEPS_MAX = 8


@dataclass(frozen=True, eq=False)
class SessionQuery:
    """A query of the session at its current stop. ``on_result`` receives the result, or None and the error message, in
    the worker thread."""

    compute: Callable[[Session], Any]
    on_result: Callable[[Any, str | None], object]


#: The console name, if any, and the session method of each command.
_COMMAND_METHODS = {
    SessionCommand.START: (None, "restart"),
    SessionCommand.STEP: ("step", "step"),
    SessionCommand.NEXT_NODE: ("next", "next_node"),
    SessionCommand.INTO: ("into", "into"),
    SessionCommand.FINISH: ("finish", "finish"),
    SessionCommand.CONTINUE: ("continue", "continue_"),
    SessionCommand.RESTART: ("restart", "restart"),
    SessionCommand.BACK: ("back", "back"),
    SessionCommand.BACK_NODE: ("back-node", "back_node"),
    SessionCommand.REVERSE_CONTINUE: ("reverse-continue", "reverse_continue"),
}


@dataclass(frozen=True)
class RunProgress:
    """The progress of a running command: seconds, iterations by loop path, the total rate per second, and the value
    histories and live status of each loop."""

    command: WorkerRequest
    seconds: float
    iterations: Mapping[str, int]
    rate: float = 0.0
    histories: Mapping[str, Evolution] = field(default_factory=dict)
    live_status: Mapping[str, LiveStatus] = field(default_factory=dict)


class CommandFinished(Message):
    """A command ended; ``error``: the error message; ``view``: None if no view could be built.

    ``output``: the lines printed by the console and logpoints; ``quit_requested``: the user asked to leave;
    ``internal_error``: an unexpected exception, to be raised.
    """

    def __init__(
        self,
        command: WorkerRequest,
        view: StopView | None,
        error: str | None = None,
        output: tuple[str, ...] = (),
        quit_requested: bool = False,
        internal_error: Exception | None = None,
    ) -> None:
        super().__init__()
        self.command = command
        self.view = view
        self.error = error
        self.output = output
        self.quit_requested = quit_requested
        self.internal_error = internal_error
        #: The model of the view.
        self.model: Model | None = None


class DeferredStartSession(Session):
    """A session that runs nothing before :meth:`restart`.

    The nodes before the first loop may take long or fail: the screen must be open to show that.
    """

    _start_pending = True

    def restart(self, inputs: Mapping[str, Data] | None = None) -> Stop:
        """See :meth:`Session.restart`; the first call, by the constructor, does nothing."""
        if self._start_pending:
            self._start_pending = False
            return self.stop
        return super().restart(inputs)


class SessionWorker:
    """A session and its worker thread. ``post`` receives a :class:`CommandFinished` for every command, in that thread.

    ``session``: the session to drive, such as a recording, instead of a model run. ``error_text``: formats errors.

    Raises:
        InputError: inputs that do not fit the signature.
        UnsupportedError: an operator is not supported.
    """

    def __init__(
        self,
        model: Model,
        inputs: Mapping[str, Data],
        max_iterations: int | None,
        session: Session | None = None,
        error_text: Callable[[LoopdbgError], str] = str,
    ) -> None:
        self.error_text = error_text
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
        #: The number of finished commands.
        self.finished_count = 0
        #: The time and the iteration count of the last progress sample.
        self._last_sample = (0.0, 0)
        # A daemon thread: a single long node can't be interrupted, and must not keep the process alive.
        self._thread = threading.Thread(target=self._run_loop, name="loopdbg-driver", daemon=True)
        self._thread.start()

    @property
    def _session(self) -> Session:
        """The current session; the console can open another one."""
        return self.console.session

    @property
    def model(self) -> Model:
        """The model of the session."""
        return self._session.model

    @property
    def session(self) -> Session:
        """The session, for tests; only valid while not :attr:`busy`."""
        return self._session

    @property
    def busy(self) -> bool:
        """True while a command runs or waits."""
        with self._condition:
            return self._current is not None or bool(self._queue)

    @property
    def has_pending_command(self) -> bool:
        """True while a command, as opposed to a query, runs or waits."""
        with self._condition:
            return any(c is not None and not isinstance(c, SessionQuery) for c in (self._current, *self._queue))

    def complete(self, line: str) -> tuple[int, list[str]]:
        """The start of the last word of a console line, and its completions, as of the last stop."""
        return complete(self._completer, line)

    def answer_while_busy(self, line: str) -> list[str] | None:
        """Run a line that needs no stop, such as ``help``, and return its output; None for any other line.

        Raises:
            UsageError: the line is invalid.
        """
        return answer_query(line, self.console)

    def submit(self, command: WorkerRequest) -> bool:
        """Queue a command or a console line; False if it is rejected.

        Commands queue behind steps; during a longer command only a restart is accepted, which interrupts it.
        """
        with self._condition:
            if command is SessionCommand.RESTART:
                self._cancel()
            pending = [c for c in (self._current, *self._queue) if c is not None and not isinstance(c, SessionQuery)]
            if command is not SessionCommand.RESTART and (
                not SHORT_COMMANDS.issuperset(pending) or len(pending) > _QUEUED_STEPS_MAX
            ):
                return False
            self._queue.append(command)
            self._condition.notify()
        return True

    def query(self, query: SessionQuery) -> bool:
        """Queue a query; False if the running command may take long."""
        with self._condition:
            if not all(isinstance(c, SessionQuery) or c in SHORT_COMMANDS for c in (self._current, *self._queue) if c):
                return False
            self._queue.append(query)
            self._condition.notify()
        return True

    def refusal(self, operation: str) -> str:
        """The message why an operation is not possible, such as in a recording, with the remedy."""
        try:
            self._session._internals.refuse(operation)
        except UsageError as problem:
            return self.error_text(problem)

    def select_frame(self, number: int) -> bool:
        """Select the frame for commands, 0 the innermost; False while busy.

        Raises:
            UsageError: the stack has no such frame.
        """
        with self._condition:
            if self._current is not None or self._queue:
                return False
            old_index = self.console.selected_index
            self.console.select_frame(number)
            self.console.notify_command_done("up" if number > old_index else "down")
            self._completer = self.console.completion_context()
        return True

    def query_displays(self, on_result: Callable[[Any, str | None], object]) -> bool:
        """Query the displays in the selected frame; see :class:`SessionQuery`. False if the running command may take
        long."""
        return self.query(SessionQuery(lambda _: self._display_tracker.evaluate_all(self.console), on_result))

    def interrupt(self) -> None:
        """Interrupt the running command at its next boundary, and drop queued ones."""
        with self._condition:
            self._cancel()

    def progress(self) -> RunProgress | None:
        """Sample the progress of the running command; None if none runs."""
        with self._condition:
            command, started = self._current, self._current_started
        if command is None or isinstance(command, SessionQuery):
            self._last_sample = (0.0, 0)
            return None
        now, iterations = time.monotonic(), self._session.progress
        count = sum(iterations.values())
        last_time, last_count = self._last_sample
        rate = (count - last_count) / (now - last_time) if last_time > started and now > last_time else 0.0
        self._last_sample = (now, count)
        return RunProgress(
            command, now - started, iterations, max(0.0, rate), self._session.lately, self._session.underway
        )

    def close(self, timeout: float = 1.0) -> None:
        """Interrupt the running command and end the thread; waits for at most ``timeout`` seconds."""
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
                # The exception would be lost in this thread: the receiver of the message raises it.
                message = CommandFinished(command, None, internal_error=fault)
            message.model = self.model
            with self._condition:
                self._current = None
                self.finished_count += 1
                if message.error is not None:
                    # Steps queued before the error was shown would run into it again.
                    self._queue = [c for c in self._queue if c is SessionCommand.RESTART]
                is_open = not self._is_closed()
            if is_open:
                self.post(message)

    def _run_query(self, query: SessionQuery) -> None:
        result, error, internal_error = None, None, None
        try:
            with ApiBoundary():
                result = query.compute(self._session)
        except LoopdbgError as problem:
            error = self.error_text(problem)
        except Exception as problem:
            internal_error = problem
        with self._condition:
            self._current = None
            is_open = not self._is_closed()
        if internal_error is None and is_open:
            try:
                query.on_result(result, error)
            except Exception as problem:
                internal_error = problem
        if internal_error is not None and is_open:
            self.post(CommandFinished(SessionCommand.START, None, internal_error=internal_error))

    def _run_command(self, command: WorkerRequest) -> CommandFinished:
        error = None
        quit_requested = False
        old_stop, inputs = self._session.stop, self._session.inputs
        try:
            with ApiBoundary():
                self._dispatch(command)
        except LoopdbgError as problem:
            error = self.error_text(problem)
        except QuitRequest:
            quit_requested = True
        if self._session.inputs is not inputs:
            # A new run began.
            self._branch_history.clear()
            self._display_tracker.clear()
        stop = self._session.stop
        if error is None and stop.reason is Reason.ERROR and stop is not old_stop:
            error = stop.text
        output = tuple(self._output)
        self._output.clear()
        try:
            with ApiBoundary():
                self._completer = self.console.completion_context()
                self.console.selected_frame()
                view = build_stop_view(
                    self._session,
                    self._branch_history,
                    self.console.selected_index,
                    self._display_tracker.evaluate_all(self.console),
                )
            return CommandFinished(command, view, error, output, quit_requested)
        except LoopdbgError as problem:
            return CommandFinished(command, None, error or self.error_text(problem), output, quit_requested)

    def _dispatch(self, command: WorkerRequest) -> None:
        session = self._session
        if isinstance(command, BreakpointEdit):
            self.console.edit_breakpoint(command.number, command.condition, command.ignore, command.commands)
            return
        if not isinstance(command, SessionCommand):
            self.console.execute(command)
            return
        if command in (SessionCommand.START, SessionCommand.RESTART):
            self._branch_history.clear()
        console_name, method = _COMMAND_METHODS[command]
        getattr(session, method)()
        # Show the innermost frame after a step, even if the position did not change.
        self.console.select_frame(0)
        if console_name is not None:
            self.console.notify_command_done(console_name)
        self.console.run_breakpoint_commands(session.stop)
