"""The command language: one line in, lines out. The same for scripts, the command line and the screen's console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ....runtime.api_boundary import public_class
from ....runtime.errors import InterruptError, LoopdbgError, UsageError
from ....runtime.stable_file import read_text
from ...expression.language import Expression, ExpressionError, format_value
from ...scope.frame_scope import FrameScope
from ...scope.iteration_values import FrameWithHistory
from ...session.session_base import SessionBase
from ...session.stop import Reason, Stop
from .command_registry import COMMANDS, ConsoleCommand, QuitRequest, resolves_to_command, split_command
from .completion import CompletionContext, complete
from .file_access import UNRESTRICTED_ACCESS, FileAccess
from .parse_line import parse_line
from .text_output import breakpoint_lines, next_statement_lines


@public_class
class Console:
    """Runs commands on a session; ``say`` gets every line of output.

    ``execute`` raises what goes wrong; who calls it decides whether to go on.
    """

    def __init__(self, session: SessionBase, say: Callable[[str], object]) -> None:
        self.session: SessionBase = session
        self.write_line = say
        #: Expressions shown at every stop, by number.
        self.displays: dict[int, Expression] = {}
        #: Gets every stop that a command came to, once it was told.
        self.on_stop: Callable[[Stop], object] | None = None
        #: Gets the name of every command before it is carried out, and may refuse it with an error.
        self.before_command: Callable[[str], object] | None = None
        #: Gets the name of every command that was carried out, and what stood behind it; front ends that carry some out
        #: themselves tell it as well.
        self.on_command_done: Callable[[str, str], object] | None = None
        #: Commands that this console has beside those of all.
        self.extra_commands: Mapping[str, ConsoleCommand] = {}
        #: Which files commands may name.
        self.file_access: FileAccess = UNRESTRICTED_ACCESS
        self.next_display = 1
        #: Breakpoints of which somebody else says that they were never tested.
        self.untested_reported_elsewhere: frozenset[int] = frozenset()
        #: Which frame of the stack commands are about: 0 is the innermost.
        self.selected_index = 0
        self._block_lines: list[str] | None = None
        self._block_depth = 0
        #: What the breakpoints of the last stop still want to be run.
        self._pending_commands: list[str] = []
        self._epoch = session._internals.epoch
        self._open_sources: list[str] = []
        session.on_log = say

    def attach_session(self, session: SessionBase) -> None:
        """Be about something else from now on; what belongs to what was there before is forgotten."""
        self.session = session
        self.displays.clear()
        self.untested_reported_elsewhere = frozenset()
        self._pending_commands = []
        self.selected_index, self._epoch = 0, session._internals.epoch
        session.on_log = self.write_line
        self.report_stop(session.stop)

    @property
    def in_commands_block(self) -> bool:
        """True while lines are part of a ``commands`` block."""
        return self._block_lines is not None

    def execute(self, line: str) -> None:
        """Run one line, and what breakpoints ask for where it stops; empty ones and comments do nothing, inside
        ``commands`` lines are kept up to ``end``. What is no command is an expression, whose value is printed.

        Raises:
            Quit: the program is to end.
            LoopdbgError: the command makes no sense or failed.
        """
        self._run_with_pending_commands(lambda: self._execute_line(line))

    def _run_with_pending_commands(self, action: Callable[[], None]) -> None:
        """Carry out a command, then what the breakpoints of its stops ask for."""
        outer, self._pending_commands = self._pending_commands, []
        epoch = self.session._internals.epoch
        try:
            action()
            # One after the other, not one inside the other: each of them may stop where others are asked for.
            while self._pending_commands:
                self._execute_line(self._pending_commands.pop(0))
        finally:
            # What a breakpoint asked for ends with its stop.
            self._pending_commands = outer if self.session._internals.epoch == epoch else []

    def run_command(self, name: str, rest: str) -> None:
        """Run a command by its name, with a text that is its argument and never a line of its own; else as
        :meth:`execute`.

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
        """The command that a line means, and what stands behind its word.

        Raises:
            UsageError: it means none, and is no expression.
        """
        places = self.session._internals.symbols
        return parse_line(line, places.names_in_scope(self.selected_frame().index), self.extra_commands)

    def edit_breakpoint(self, number: int, condition: str, ignore: int, commands: Sequence[str]) -> None:
        """What ``condition``, ``ignore`` and ``commands`` do, in one; see :meth:`..breakpoints.Breakpoints.edit`."""
        if self.before_command is not None:
            self.before_command("condition")
        one = self.session.breakpoints.edit(number, condition=condition, ignore=ignore, commands=commands)
        self.write_line(breakpoint_lines([one], self.session)[0])
        self.notify_command_done("condition", str(number))

    def notify_command_done(self, command: str, rest: str = "") -> None:
        """A command was carried out: by this console, or by a front end that has a key for it."""
        if self.on_command_done is not None:
            self.on_command_done(command, rest)

    def run_lines(self, lines: Iterable[str]) -> None:
        """Run lines one after the other."""
        for line in lines:
            self.execute(line)
        self.end_of_input()

    def end_of_input(self) -> None:
        """No more lines come.

        Raises:
            UsageError: a ``commands`` block has no ``end``.
        """
        if self._block_lines is not None:
            self._block_lines = None
            raise UsageError("commands: 'end' is missing")

    def begin_commands_block(self, lines: list[str]) -> None:
        """Put the lines that follow, up to ``end``, into a list."""
        self._block_lines, self._block_depth = lines, 1

    # -- what commands share

    @property
    def scope(self) -> FrameScope:
        """The values of the selected frame, for expressions."""
        frame = self.selected_frame()
        return FrameScope(frame, frame.history)

    def selected_frame(self) -> FrameWithHistory:
        """The frame that commands are about."""
        if self._epoch != self.session._internals.epoch:
            # Whatever moved it: the stack may be another.
            self.selected_index, self._epoch = 0, self.session._internals.epoch
        if self.session.done:
            return self.session.frame
        return self.session.frames[::-1][self.selected_index]

    def select_frame(self, number: int) -> None:
        """Make commands be about a frame of the stack, 0 the innermost.

        Raises:
            UsageError: the stack has no such frame.
        """
        count = len(self.session.frames)
        if not 0 <= number < count:
            have = f"0 to {count - 1}" if count > 1 else "0 only"
            raise UsageError(f"there is no frame {number}; the stack has {have}")
        self.selected_index, self._epoch = number, self.session._internals.epoch

    def run_file(self, path: str) -> None:
        """Run the commands in a file.

        Raises:
            UsageError: the file cannot be read, or a command in it failed; the text names the line.
        """
        try:
            lines = read_text(path).splitlines()
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
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
            self.end_of_input()
        finally:
            self._open_sources.pop()

    def report_stop(self, stop: Stop) -> None:
        """Say where the session stands after a command that moved it, and do what its breakpoints ask for."""
        self.selected_index, self._epoch = 0, self.session._internals.epoch
        self.write_line(stop.text if stop.reason is not Reason.ERROR else f"error: {stop.text}")
        for line in next_statement_lines(self.session):
            self.write_line(line)
        if stop.reason is Reason.DONE:
            for one, why in self.session.breakpoints.never_evaluated():
                if one.number not in self.untested_reported_elsewhere:
                    self.write_line(f"{one.kind_name} {one.number} ({one.title}) was never tested: {why}")
        for number, expression in self.displays.items():
            self.write_line(f"{number}: {expression.text} = {self.display_text(expression)}")
        if self.on_stop is not None:
            self.on_stop(stop)
        # What was left to do belonged to the stop before.
        self._pending_commands = self._breakpoint_commands(stop)

    def _breakpoint_commands(self, stop: Stop) -> list[str]:
        """What the breakpoints of a stop want to be run."""
        return [line for b in self.session.breakpoints if b.number in stop.breakpoints for line in b.commands]

    def run_breakpoint_commands(self, stop: Stop) -> None:
        """Run what the breakpoints of a stop want, where a front end has moved the session without a command.

        Raises:
            Quit: the program is to end.
            LoopdbgError: one of the commands makes no sense or failed.
        """
        for line in self._breakpoint_commands(stop):
            epoch = self.session._internals.epoch
            self.execute(line)
            if self.session._internals.epoch != epoch:
                # What a breakpoint asked for ends with its stop.
                return

    def display_text(self, expression: Expression) -> str:
        """A display's value, or why it has none."""
        try:
            scope = self.scope
            return format_value(expression.evaluate(scope), 100) + scope.iteration_remark(expression.current_names)
        except ExpressionError as error:
            return f"<{error.problem}>"
        except LoopdbgError as error:
            return f"<{error}>"

    # -- for front ends

    def complete(self, line: str, cursor: int | None = None) -> list[str]:
        """What the word at the cursor can become."""
        return self.completions(line, cursor)[1]

    def completions(self, line: str, cursor: int | None = None) -> tuple[int, list[str]]:
        """Where the word at the cursor begins, and what it can become."""
        return complete(self.completion_context(), line[: len(line) if cursor is None else cursor])

    def completion_context(self) -> CompletionContext:
        """What completing a line here needs to know, frozen: a screen completes while the session may move."""
        session = self.session
        branches = [one.number for one in session.branches] if session._internals.has_branches else []
        return CompletionContext(
            session._internals.symbols,
            self.selected_frame().index,
            session._internals.has_nodes,
            tuple(map(str, (one.number for one in session.breakpoints))),
            tuple(map(str, self.displays)),
            tuple(port.name for port in session.model.inputs),
            tuple(map(str, branches)),
            tuple(self.extra_commands),
        )


__all__ = ["Console", "QuitRequest"]
