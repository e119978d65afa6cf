"""The command language: one line in, lines out. The same for scripts, the command line and the screen's console."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...runtime.boundary import public_class
from ...runtime.errors import InterruptError, LoopdbgError, UsageError
from ...runtime.files import text_of
from ..expression.language import Expression, ExpressionError, show
from ..session.debuggee import Debuggee
from ..session.stop import Reason, Stop
from ..values.iterations import TimedFrame
from ..values.scope import FrameScope
from .command import COMMANDS, Command, Quit, is_command, split
from .completion import Completer, complete
from .file_access import EVERYWHERE, FileAccess
from .meant import meant
from .report import breakpoint_lines, next_line


@public_class
class Console:
    """Runs commands on a session; ``say`` gets every line of output.

    ``execute`` raises what goes wrong; who calls it decides whether to go on.
    """

    def __init__(self, session: Debuggee, say: Callable[[str], object]) -> None:
        self.session: Debuggee = session
        self.say = say
        #: Expressions shown at every stop, by number.
        self.displays: dict[int, Expression] = {}
        #: Gets every stop that a command came to, once it was told.
        self.on_stop: Callable[[Stop], object] | None = None
        #: Gets the name of every command before it is carried out, and may refuse it with an error.
        self.before: Callable[[str], object] | None = None
        #: Gets the name of every command that was carried out, and what stood behind it; front ends that carry some out
        #: themselves tell it as well.
        self.on_done: Callable[[str, str], object] | None = None
        #: Commands that this console has beside those of all.
        self.more: Mapping[str, Command] = {}
        #: Which files commands may name.
        self.files: FileAccess = EVERYWHERE
        self.next_display = 1
        #: Breakpoints of which somebody else says that they were never tested.
        self.answered: frozenset[int] = frozenset()
        #: Which frame of the stack commands are about: 0 is the innermost.
        self.selected = 0
        self._collecting: list[str] | None = None
        self._depth = 0
        #: What the breakpoints of the last stop still want to be run.
        self._todo: list[str] = []
        self._epoch = session._inside.epoch
        self._sources: list[str] = []
        session.on_log = say

    def open(self, session: Debuggee) -> None:
        """Be about something else from now on; what belongs to what was there before is forgotten."""
        self.session = session
        self.displays.clear()
        self.answered = frozenset()
        self._todo = []
        self.selected, self._epoch = 0, session._inside.epoch
        session.on_log = self.say
        self.moved(session.stop)

    @property
    def collecting(self) -> bool:
        """True while lines are part of a ``commands`` block."""
        return self._collecting is not None

    def execute(self, line: str) -> None:
        """Run one line, and what breakpoints ask for where it stops; empty ones and comments do nothing, inside
        ``commands`` lines are kept up to ``end``. What is no command is an expression, whose value is printed.

        Raises:
            Quit: the program is to end.
            LoopdbgError: the command makes no sense or failed.
        """
        self._with_followers(lambda: self._execute(line))

    def _with_followers(self, action: Callable[[], None]) -> None:
        """Carry out a command, then what the breakpoints of its stops ask for."""
        outer, self._todo = self._todo, []
        epoch = self.session._inside.epoch
        try:
            action()
            # One after the other, not one inside the other: each of them may stop where others are asked for.
            while self._todo:
                self._execute(self._todo.pop(0))
        finally:
            # What a breakpoint asked for ends with its stop.
            self._todo = outer if self.session._inside.epoch == epoch else []

    def call(self, name: str, rest: str) -> None:
        """Run a command by its name, with a text that is its argument and never a line of its own; else as
        :meth:`execute`.

        Raises:
            LoopdbgError: as :meth:`execute`.
        """
        command, text = COMMANDS[name], " ".join(rest.splitlines()).strip()
        self._with_followers(lambda: self._carry_out(command, text))

    def _execute(self, line: str) -> None:
        text = line.strip()
        if not text or text.startswith("#"):
            return
        if self._collecting is not None:
            word, _ = split(text)
            self._depth += is_command(word, "commands") - (text == "end")
            if self._depth:
                self._collecting.append(text)
            else:
                self._collecting = None
            return
        self._carry_out(*self.meant(text))

    def _carry_out(self, command: Command, rest: str) -> None:
        if self.before is not None:
            self.before(command.name)
        command.run(self, rest)
        self.did(command.name, rest)

    def meant(self, line: str) -> tuple[Command, str]:
        """The command that a line means, and what stands behind its word.

        Raises:
            UsageError: it means none, and is no expression.
        """
        places = self.session._inside.places
        return meant(line, places.names(self.selected_frame().index), self.more)

    def edit_breakpoint(self, number: int, condition: str, ignore: int, commands: Sequence[str]) -> None:
        """What ``condition``, ``ignore`` and ``commands`` do, in one; see :meth:`..breakpoints.Breakpoints.edit`."""
        if self.before is not None:
            self.before("condition")
        one = self.session.breakpoints.edit(number, condition=condition, ignore=ignore, commands=commands)
        self.say(breakpoint_lines([one], self.session)[0])
        self.did("condition", str(number))

    def did(self, command: str, rest: str = "") -> None:
        """A command was carried out: by this console, or by a front end that has a key for it."""
        if self.on_done is not None:
            self.on_done(command, rest)

    def run(self, lines: Iterable[str]) -> None:
        """Run lines one after the other."""
        for line in lines:
            self.execute(line)
        self.finish()

    def finish(self) -> None:
        """No more lines come.

        Raises:
            UsageError: a ``commands`` block has no ``end``.
        """
        if self._collecting is not None:
            self._collecting = None
            raise UsageError("commands: 'end' is missing")

    def collect(self, lines: list[str]) -> None:
        """Put the lines that follow, up to ``end``, into a list."""
        self._collecting, self._depth = lines, 1

    # -- what commands share

    @property
    def scope(self) -> FrameScope:
        """The values of the selected frame, for expressions."""
        frame = self.selected_frame()
        return FrameScope(frame, frame.history)

    def selected_frame(self) -> TimedFrame:
        """The frame that commands are about."""
        if self._epoch != self.session._inside.epoch:
            # Whatever moved it: the stack may be another.
            self.selected, self._epoch = 0, self.session._inside.epoch
        if self.session.done:
            return self.session.frame
        return self.session.frames[::-1][self.selected]

    def select(self, number: int) -> None:
        """Make commands be about a frame of the stack, 0 the innermost.

        Raises:
            UsageError: the stack has no such frame.
        """
        count = len(self.session.frames)
        if not 0 <= number < count:
            have = f"0 to {count - 1}" if count > 1 else "0 only"
            raise UsageError(f"there is no frame {number}; the stack has {have}")
        self.selected, self._epoch = number, self.session._inside.epoch

    def source(self, path: str) -> None:
        """Run the commands in a file.

        Raises:
            UsageError: the file cannot be read, or a command in it failed; the text names the line.
        """
        try:
            lines = text_of(path).splitlines()
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, ValueError):
            raise UsageError(f"{path}: cannot be read: it is no text in UTF-8") from None
        if path in self._sources:
            raise UsageError(f"{path} sources itself")
        self._sources.append(path)
        try:
            for number, line in enumerate(lines, 1):
                try:
                    self.execute(line)
                except InterruptError:
                    raise
                except LoopdbgError as error:
                    raise UsageError.at(f"{path}, line {number}", error) from error
            self.finish()
        finally:
            self._sources.pop()

    def moved(self, stop: Stop) -> None:
        """Say where the session stands after a command that moved it, and do what its breakpoints ask for."""
        self.selected, self._epoch = 0, self.session._inside.epoch
        self.say(stop.text if stop.reason is not Reason.ERROR else f"error: {stop.text}")
        for line in next_line(self.session):
            self.say(line)
        if stop.reason is Reason.DONE:
            for one, why in self.session.breakpoints.untested():
                if one.number not in self.answered:
                    self.say(f"{one.word} {one.number} ({one.title}) was never tested: {why}")
        for number, expression in self.displays.items():
            self.say(f"{number}: {expression.text} = {self.value_of(expression)}")
        if self.on_stop is not None:
            self.on_stop(stop)
        # What was left to do belonged to the stop before.
        self._todo = self._asked_for(stop)

    def _asked_for(self, stop: Stop) -> list[str]:
        """What the breakpoints of a stop want to be run."""
        return [line for b in self.session.breakpoints if b.number in stop.breakpoints for line in b.commands]

    def follow(self, stop: Stop) -> None:
        """Run what the breakpoints of a stop want, where a front end has moved the session without a command.

        Raises:
            Quit: the program is to end.
            LoopdbgError: one of the commands makes no sense or failed.
        """
        for line in self._asked_for(stop):
            epoch = self.session._inside.epoch
            self.execute(line)
            if self.session._inside.epoch != epoch:
                # What a breakpoint asked for ends with its stop.
                return

    def value_of(self, expression: Expression) -> str:
        """A display's value, or why it has none."""
        try:
            scope = self.scope
            return show(expression.evaluate(scope), 100) + scope.remark(expression.present)
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
        return complete(self.completer(), line[: len(line) if cursor is None else cursor])

    def completer(self) -> Completer:
        """What completing a line here needs to know, frozen: a screen completes while the session may move."""
        session = self.session
        branches = [one.number for one in session.branches] if session._inside.has_branches else []
        return Completer(
            session._inside.places,
            self.selected_frame().index,
            session._inside.has_nodes,
            tuple(map(str, (one.number for one in session.breakpoints))),
            tuple(map(str, self.displays)),
            tuple(port.name for port in session.model.inputs),
            tuple(map(str, branches)),
            tuple(self.more),
        )


__all__ = ["Console", "Quit"]
