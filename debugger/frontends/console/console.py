"""Interpreter of the command language for scripts, the command line and the screen's console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ....runtime.api_boundary import public_class
from ....runtime.errors import InterruptError, LoopdbgError, UsageError, file_error
from ....runtime.safe_file_reading import read_text
from ...expression.expression import Expression, ExpressionError, format_value
from ...frame_protocol import FrameReader
from ...scope.frame_scope import FrameScope
from ...session.session import Session
from ...session.stop import Reason, Stop
from .command_registry import COMMANDS, ConsoleCommand, QuitRequest, resolves_to_command, split_command
from .completion import CompletionContext, complete
from .file_access import UNRESTRICTED_ACCESS, FileAccess
from .parse_line import parse_line
from .text_output import breakpoint_lines, next_statement_lines


@public_class
class Console:
    """Runs commands on a session; ``write_line`` gets every line of output.

    ``execute`` raises errors; the caller decides whether to continue.
    """

    def __init__(self, session: Session, write_line: Callable[[str], object]) -> None:
        self.session: Session = session
        self.write_line = write_line
        #: Expressions to print at every stop, by number.
        self.displays: dict[int, Expression] = {}
        #: Called with every stop of a command after it was printed.
        self.on_stop: Callable[[Stop], object] | None = None
        #: Called with the name of every command before it runs; may reject it with an error.
        self.before_command: Callable[[str], object] | None = None
        #: Called with the name and arguments of every command after it ran; also by front ends that run commands
        #: themselves.
        self.on_command_done: Callable[[str, str], object] | None = None
        #: Additional commands of this console.
        self.extra_commands: Mapping[str, ConsoleCommand] = {}
        #: Files that commands may name.
        self.file_access: FileAccess = UNRESTRICTED_ACCESS
        self.next_display = 1
        #: Never-tested breakpoints that a front end reports itself.
        self.untested_reported_elsewhere: frozenset[int] = frozenset()
        #: The selected frame of the stack; 0: the innermost.
        self.selected_index = 0
        self._block_lines: list[str] | None = None
        self._block_depth = 0
        #: Remaining commands of the breakpoints of the last stop.
        self._pending_commands: list[str] = []
        self._epoch = session.controller.epoch
        self._open_sources: list[str] = []
        session.on_log = write_line

    def attach_session(self, session: Session) -> None:
        """Switch to another session; state of the old one is discarded."""
        self.session = session
        self.displays.clear()
        self.untested_reported_elsewhere = frozenset()
        self._pending_commands = []
        self.selected_index, self._epoch = 0, session.controller.epoch
        session.on_log = self.write_line
        self.report_stop(session.stop)

    @property
    def in_commands_block(self) -> bool:
        """True inside a ``commands`` block."""
        return self._block_lines is not None

    def execute(self, line: str) -> None:
        """Run one line, and the commands of breakpoints where it stops. Empty lines and comments are ignored; lines
        inside ``commands`` are collected up to ``end``. A line that is no command is an expression to print.

        Raises:
            QuitRequest: the program should end.
            LoopdbgError: the command is invalid or failed.
        """
        self._run_with_pending_commands(lambda: self._execute_line(line))

    def _run_with_pending_commands(self, action: Callable[[], None]) -> None:
        """Run a command, then the commands of breakpoints at its stops."""
        outer, self._pending_commands = self._pending_commands, []
        epoch = self.session.controller.epoch
        try:
            action()
            # Run them sequentially instead of recursively: each may stop at further breakpoints.
            while self._pending_commands:
                self._execute_line(self._pending_commands.pop(0))
        finally:
            # A move discards the remaining commands of the old stop.
            self._pending_commands = outer if self.session.controller.epoch == epoch else []

    def run_command(self, name: str, rest: str) -> None:
        """Run a command by its name with an argument text that is never parsed as a line; otherwise as :meth:`execute`.

        Raises:
            LoopdbgError: as :meth:`execute`.
        """
        command, text = COMMANDS[name], " ".join(rest.splitlines()).strip()
        self._run_with_pending_commands(lambda: self._dispatch(command, text))

    def _execute_line(self, line: str) -> None:
        text = line.strip()
        if not text or text.startswith("#"):
            return
        if self._block_lines is not None:
            word, _ = split_command(text)
            self._block_depth += resolves_to_command(word, "commands") - (text == "end")
            if self._block_depth:
                self._block_lines.append(text)
            else:
                self._block_lines = None
            return
        self._dispatch(*self.parse_line(text))

    def _dispatch(self, command: ConsoleCommand, rest: str) -> None:
        if self.before_command is not None:
            self.before_command(command.name)
        command.run(self, rest)
        self.notify_command_done(command.name, rest)

    def parse_line(self, line: str) -> tuple[ConsoleCommand, str]:
        """The command of a line, and its arguments.

        Raises:
            UsageError: the line is neither a command nor an expression.
        """
        symbols = self.session.controller.symbols
        return parse_line(line, symbols.names_in_scope(self.selected_frame().index), self.extra_commands)

    def edit_breakpoint(self, number: int, condition: str, ignore: int, commands: Sequence[str]) -> None:
        """``condition``, ``ignore`` and ``commands`` combined; see :meth:`..breakpoints.Breakpoints.edit`."""
        if self.before_command is not None:
            self.before_command("condition")
        breakpoint_ = self.session.breakpoints.edit(number, condition=condition, ignore=ignore, commands=commands)
        self.write_line(breakpoint_lines([breakpoint_], self.session)[0])
        self.notify_command_done("condition", str(number))

    def notify_command_done(self, command: str, rest: str = "") -> None:
        """Report a command that ran in this console or a front end."""
        if self.on_command_done is not None:
            self.on_command_done(command, rest)

    def run_lines(self, lines: Iterable[str]) -> None:
        """Run lines in sequence."""
        for line in lines:
            self.execute(line)
        self.check_end_of_input()

    def check_end_of_input(self) -> None:
        """Check the state after the last line.

        Raises:
            UsageError: a ``commands`` block has no ``end``.
        """
        if self._block_lines is not None:
            self._block_lines = None
            raise UsageError("commands: 'end' is missing")

    def begin_commands_block(self, lines: list[str]) -> None:
        """Collect the following lines, up to ``end``, in a list."""
        self._block_lines, self._block_depth = lines, 1

    # -- common parts of commands

    @property
    def scope(self) -> FrameScope:
        """The values of the selected frame, for expressions."""
        frame = self.selected_frame()
        return FrameScope(frame, frame.history)

    def selected_frame(self) -> FrameReader:
        """The frame of commands."""
        if self._epoch != self.session.controller.epoch:
            # After a move the stack may have changed.
            self.selected_index, self._epoch = 0, self.session.controller.epoch
        if self.selected_index == 0 or self.session.done:
            return self.session.controller.frame
        return self.session.controller.frames[::-1][self.selected_index]

    def select_frame(self, number: int) -> None:
        """Select a frame of the stack; 0: the innermost.

        Raises:
            UsageError: the stack has no such frame.
        """
        count = len(self.session.controller.frames) if number else 1
        if not 0 <= number < count:
            available = f"0 to {count - 1}" if count > 1 else "0 only"
            raise UsageError(f"there is no frame {number}; the stack has {available}")
        self.selected_index, self._epoch = number, self.session.controller.epoch

    def run_file(self, path: str) -> None:
        """Run the commands in a file.

        Raises:
            UsageError: the file cannot be read, or a command in it failed; the message has the line number.
        """
        try:
            lines = read_text(path).splitlines()
        except OSError as error:
            raise file_error(UsageError, path, "cannot be read", error) from None
        except (UnicodeDecodeError, ValueError):
            raise UsageError(f"{path}: cannot be read: it is no text in UTF-8") from None
        if path in self._open_sources:
            raise UsageError(f"{path} sources itself")
        self._open_sources.append(path)
        try:
            for number, line in enumerate(lines, 1):
                try:
                    self.execute(line)
                except InterruptError:
                    raise
                except LoopdbgError as error:
                    raise UsageError.with_location(f"{path}, line {number}", error) from error
            self.check_end_of_input()
        finally:
            self._open_sources.pop()

    def report_stop(self, stop: Stop) -> None:
        """Print the stop after a move, and queue the commands of its breakpoints."""
        self.selected_index, self._epoch = 0, self.session.controller.epoch
        self.write_line(stop.text if stop.reason is not Reason.ERROR else f"error: {stop.text}")
        for line in next_statement_lines(self.session):
            self.write_line(line)
        if stop.done:
            for b, reason in self.session.breakpoints.never_evaluated_breakpoints():
                if b.number not in self.untested_reported_elsewhere:
                    self.write_line(f"{b.kind_name} {b.number} ({b.title}) was never tested: {reason}")
        for number, expression in self.displays.items():
            self.write_line(f"{number}: {expression.text} = {self.display_text(expression)}")
        if self.on_stop is not None:
            self.on_stop(stop)
        # Remaining commands of the previous stop are discarded.
        self._pending_commands = self._breakpoint_commands(stop)

    def _breakpoint_commands(self, stop: Stop) -> list[str]:
        """The commands of the breakpoints of a stop."""
        breakpoints = self.session.controller.breakpoints.in_order if stop.breakpoints else ()
        return [line for b in breakpoints if b.number in stop.breakpoints for line in b.commands]

    def run_breakpoint_commands(self, stop: Stop) -> None:
        """Run the commands of breakpoints after a front end moved the session without a command.

        Raises:
            QuitRequest: the program should end.
            LoopdbgError: a command is invalid or failed.
        """
        for line in self._breakpoint_commands(stop):
            epoch = self.session.controller.epoch
            self.execute(line)
            if self.session.controller.epoch != epoch:
                # A move discards the remaining commands of the old stop.
                return

    def display_text(self, expression: Expression) -> str:
        """The value of a display, or the error."""
        try:
            scope = self.scope
            return format_value(expression.evaluate(scope), 100) + scope.iteration_remark(expression.current_names)
        except ExpressionError as error:
            return f"<{error.problem}>"
        except LoopdbgError as error:
            return f"<{error}>"

    # -- for front ends

    def complete(self, line: str, cursor: int | None = None) -> list[str]:
        """Completions of the word at the cursor."""
        return self.completions(line, cursor)[1]

    def completions(self, line: str, cursor: int | None = None) -> tuple[int, list[str]]:
        """The start of the word at the cursor, and its completions."""
        return complete(self.completion_context(), line[: len(line) if cursor is None else cursor])

    def completion_context(self) -> CompletionContext:
        """A snapshot of the data for completions, since a screen completes lines while the session may move."""
        controller = self.session.controller
        return CompletionContext(
            controller.symbols,
            self.selected_frame().index,
            controller.has_nodes,
            tuple([str(b.number) for b in controller.breakpoints.in_order]),
            tuple(map(str, self.displays)),
            tuple([port.name for port in controller.model.inputs]),
            tuple([str(b.number) for b in controller.branches] if controller.has_branches else ()),
            tuple(self.extra_commands),
        )


__all__ = ["Console", "QuitRequest"]
