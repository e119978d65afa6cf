"""The command language: one line in, lines out. The same for scripts, the command line and the screen's console."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ..runtime.errors import LoopdbgError, UsageError, one_line
from ..runtime.frame import Frame
from . import commands as commands  # registers them
from .command import ALIASES, COMMANDS, Quit, find
from .expressions import completions, parse, show
from .scope import FrameScope
from .session import Reason, Session, Stop


class Console:
    """Runs commands on a session; ``say`` gets every line of output.

    ``execute`` raises what goes wrong; who calls it decides whether to go on.
    """

    def __init__(self, session: Session, say: Callable[[str], object]) -> None:
        self.session = session
        self.say = say
        #: Expressions shown at every stop, by number.
        self.displays: dict[int, str] = {}
        self.next_display = 1
        #: Which frame of the stack commands are about: 0 is the innermost.
        self.selected = 0
        self._collecting: tuple[list[str], str] | None = None
        self._last = ""
        session.on_log = say

    @property
    def collecting(self) -> bool:
        """True while lines are part of a ``commands`` block."""
        return self._collecting is not None

    def execute(self, line: str) -> None:
        """Run one line; empty ones and comments do nothing, inside ``commands`` lines are kept up to ``end``.

        Raises:
            Quit: the program is to end.
            LoopdbgError: the command makes no sense or failed.
        """
        text = line.strip()
        if self._collecting is not None:
            lines, _ = self._collecting
            if text == "end":
                self._collecting = None
            elif text:
                lines.append(text)
            return
        if not text or text.startswith("#"):
            return
        word, _, rest = text.partition(" ")
        find(word).run(self, rest.strip())

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

    def collect(self, lines: list[str], what: str) -> None:
        """Put the lines that follow, up to ``end``, into a list."""
        self._collecting = (lines, what)

    # -- what commands share

    @property
    def scope(self) -> FrameScope:
        """The values of the selected frame, for expressions."""
        frame = self.selected_frame()
        return FrameScope(frame, self.session.history(frame))

    def selected_frame(self) -> Frame:
        """The frame that commands are about."""
        if self.session.done:
            return self.session.frame
        return self.session.frames[::-1][self.selected]

    def select(self, number: int) -> None:
        """Make commands be about a frame of the stack, 0 the innermost.

        Raises:
            UsageError: the stack has no such frame.
        """
        if not 0 <= number < len(self.session.frames):
            raise UsageError(f"there is no frame {number}; the stack has 0 to {len(self.session.frames) - 1}")
        self.selected = number

    def source(self, path: str) -> None:
        """Run the commands in a file.

        Raises:
            UsageError: the file cannot be read, or a command in it failed; the text names the line.
        """
        try:
            lines = Path(path).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: cannot be read: {one_line(error)}") from None
        for number, line in enumerate(lines, 1):
            try:
                self.execute(line)
            except LoopdbgError as error:
                raise UsageError(f"{path}, line {number}: {error}") from error
        self.finish()

    def moved(self, stop: Stop) -> None:
        """Say where the session stands after a command that moved it, and do what its breakpoints ask for."""
        self.selected = 0
        self.say(stop.text if stop.reason is not Reason.ERROR else f"error: {stop.text}")
        for number, text in self.displays.items():
            self.say(f"{number}: {text} = {self.value_of(text)}")
        todo = [line for b in self.session.breakpoints if b.number in stop.breakpoints for line in b.commands]
        for line in todo:
            self.execute(line)

    def value_of(self, text: str) -> str:
        """A display's value, or why it has none."""
        try:
            return show(parse(text).evaluate(self.scope), 100)
        except LoopdbgError as error:
            return f"<{error}>"

    # -- for front ends

    def complete(self, line: str, cursor: int | None = None) -> list[str]:
        """What the word at the cursor can become."""
        line = line[: len(line) if cursor is None else cursor]
        word, space, rest = line.lstrip().partition(" ")
        if not space:
            return sorted(name for name in (*COMMANDS, *ALIASES) if name.startswith(word) and len(name) > 1)
        try:
            takes = find(word).takes
        except UsageError:
            return []
        places = self.session.places
        if takes == "breakpoint":
            return [str(b.number) for b in self.session.breakpoints if str(b.number).startswith(rest)]
        if takes == "command":
            return [name for name in COMMANDS if name.startswith(rest)]
        if takes == "expression" or (takes == "place" and " if " in f" {rest}"):
            return completions(rest, len(rest), sorted(places.names(places.here())))
        if takes == "place":
            words = [*places.names(places.here()), "iter", "line", "op", "if", "end", "nan"]
            return sorted(one for one in words if one.startswith(rest))
        return []


__all__ = ["Console", "Quit"]
