"""Runs the commands of the screen on its session, in a thread.

Commands are submitted as strings, immutable views are posted as messages; no other thread uses the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from textual.message import Message

from ..debugger.frontends.console.completion import complete
from ..debugger.frontends.console.console import Console, QuitRequest
from ..debugger.session.session import Reason, Session, Stop
from ..debugger.session.worker import SessionWorker
from ..runtime.api_boundary import ApiBoundary
from ..runtime.errors import LoopdbgError, UsageError
from ..runtime.model import Data, Model
from .busy_queries import answer_query
from .render.display_expressions import DisplayTracker
from .render.stop_view import StopView, build_stop_view
from .render.timeline_rows import BranchHistory
from .worker_requests import SHORT_COMMANDS, BreakpointEdit, SessionCommand, WorkerRequest

#: The maximum number of queued steps.
_QUEUED_STEPS_MAX = 8


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


class CommandWorker(SessionWorker):
    """A session with a console, driven by the commands of the screen. ``post`` receives a :class:`CommandFinished` for
    every command, in the worker thread.

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
        super().__init__(lambda: self.console.session)
        self.error_text = error_text
        self.post: Callable[[CommandFinished], object] = lambda _: None
        self._branch_history = BranchHistory()
        self._display_tracker = DisplayTracker()
        self._output: list[str] = []
        self.console = Console(
            session or DeferredStartSession(model, inputs, max_iterations=max_iterations), self._output.append
        )
        self._completer = self.console.completion_context()
        #: The number of finished commands; while :attr:`has_pending_command`, the running one may be among them.
        self.finished_count = 0

    @property
    def model(self) -> Model:
        """The model of the session."""
        return self.session.model

    @property
    def has_pending_command(self) -> bool:
        """True while a command, as opposed to a query, runs or waits."""
        return any(label is not None for label in self.pending)

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
        if command is SessionCommand.RESTART:
            self.interrupt()
        else:
            pending = [label for label in self.pending if label is not None]
            if not SHORT_COMMANDS.issuperset(pending) or len(pending) > _QUEUED_STEPS_MAX:
                return False
        self.enqueue(partial(self._execute, command), lambda message, error: self.post(message), command)
        return True

    def query(self, compute: Callable[[Session], Any], on_result: Callable[[Any, str | None], object]) -> bool:
        """Query the session at its current stop; False if the running command may take long. ``on_result`` receives
        the result, or None and the error message, in the worker thread."""
        if not all(label is None or label in SHORT_COMMANDS for label in self.pending):
            return False

        def finish(result: Any, error: Exception | None) -> None:
            try:
                if error is not None and not isinstance(error, LoopdbgError):
                    raise error
                on_result(result, None if error is None else self.error_text(error))
            except Exception as fault:
                # The exception would be lost in this thread: the receiver of the message raises it.
                self.post(CommandFinished(SessionCommand.START, None, internal_error=fault))

        self.enqueue(lambda: compute(self.session), finish)
        return True

    def refusal_message(self, operation: str) -> str:
        """The message why an operation is not possible, such as in a recording, with the remedy."""
        try:
            self.session.controller.refuse(operation)
        except UsageError as problem:
            return self.error_text(problem)

    def select_frame(self, number: int) -> bool:
        """Select the frame for commands, 0 the innermost; False while busy.

        Raises:
            UsageError: the stack has no such frame.
        """
        if self.busy:
            return False
        old_index = self.console.selected_index
        self.console.select_frame(number)
        self.console.notify_command_done("up" if number > old_index else "down")
        self._completer = self.console.completion_context()
        return True

    def query_displays(self, on_result: Callable[[Any, str | None], object]) -> bool:
        """:meth:`query` the displays in the selected frame."""
        return self.query(lambda _: self._display_tracker.evaluate_all(self.console), on_result)

    def _execute(self, command: WorkerRequest) -> CommandFinished:
        try:
            message = self._run_command(command)
        except Exception as fault:
            message = CommandFinished(command, None, internal_error=fault)
        message.model = self.model
        self.finished_count += 1
        if message.error is not None:
            # Steps queued before the error was shown would run into it again.
            self.drop_queued(keep=lambda label: label is SessionCommand.RESTART)
        return message

    def _run_command(self, command: WorkerRequest) -> CommandFinished:
        error = None
        quit_requested = False
        old_stop, inputs = self.session.stop, self.session.inputs
        try:
            with ApiBoundary():
                self._dispatch(command)
        except LoopdbgError as problem:
            error = self.error_text(problem)
        except QuitRequest:
            quit_requested = True
        if self.session.inputs is not inputs:
            # A new run began.
            self._branch_history.clear()
            self._display_tracker.clear()
        stop = self.session.stop
        if error is None and stop.reason is Reason.ERROR and stop is not old_stop:
            error = stop.text
        output = tuple(self._output)
        self._output.clear()
        try:
            with ApiBoundary():
                self._completer = self.console.completion_context()
                self.console.selected_frame()
                view = build_stop_view(
                    self.session,
                    self._branch_history,
                    self.console.selected_index,
                    self._display_tracker.evaluate_all(self.console),
                )
            return CommandFinished(command, view, error, output, quit_requested)
        except LoopdbgError as problem:
            return CommandFinished(command, None, error or self.error_text(problem), output, quit_requested)

    def _dispatch(self, command: WorkerRequest) -> None:
        if isinstance(command, BreakpointEdit):
            self.console.edit_breakpoint(command.number, command.condition, command.ignore, command.commands)
            return
        if not isinstance(command, SessionCommand):
            self.console.execute(command)
            return
        if command in (SessionCommand.START, SessionCommand.RESTART):
            self._branch_history.clear()
        console_name, method = _COMMAND_METHODS[command]
        getattr(self.session, method)()
        # Show the innermost frame after a step, even if the position did not change.
        self.console.select_frame(0)
        if console_name is not None:
            self.console.notify_command_done(console_name)
        self.console.run_breakpoint_commands(self.session.stop)
