"""What a breakpoint asks for, each in a field of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from ...debugger.session.snapshot import BreakpointSnapshot
from ...runtime.text import counted
from ..actions import Action, Place
from ..requests import BreakpointEdit
from ..screen.text import printable
from ..widgets.line_input import LineInput
from .above import Above
from .help import HelpScreen


class BreakpointScreen(Above[None]):
    """The condition of a breakpoint, the hits that it passes, and the commands that are run where it stops. What is
    taken replaces what was there. ``ask``: gets it; :meth:`answered` says whether it could be done."""

    AUTO_FOCUS = "#fields-condition"

    def __init__(
        self, actions: Sequence[Action], one: BreakpointSnapshot, ask: Callable[[BreakpointEdit], object]
    ) -> None:
        super().__init__(Place.BREAKPOINT, actions)
        self._number = one.number
        self._ask = ask
        hits = f", hit {counted(one.hits, 'time')}" if one.hits else ""
        self._title = printable(f"{one.word.capitalize()} {one.number}: {one.title}{hits}")
        # Most edits are of a part: typing does not replace all of it.
        self.condition = LineInput(
            one.stops_if, "an expression; nothing: always", select_on_focus=False, compact=True, id="fields-condition"
        )
        self.ignore = LineInput(str(one.ignore), "a count", compact=True, id="fields-ignore")
        self.commands = TextArea("\n".join(one.commands), compact=True, id="fields-commands")
        self._said = Static(id="fields-said")

    @property
    def said(self) -> str:
        """What is wrong with what was typed, "" for nothing."""
        return str(self._said.content)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="fields", can_focus=False) as box:
            box.border_title = Content(self._title)
            yield Static("stops only if", classes="-name")
            yield self.condition
            yield Static("passes the next hits, so many", classes="-name")
            yield self.ignore
            yield Static("then runs these commands, one a line; ^s takes all", classes="-name")
            yield self.commands
            yield self._said
        yield self.keys

    def action_field(self, way: int) -> None:
        """The next field (-1: the one before)."""
        (self.focus_next if way > 0 else self.focus_previous)()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.actions, Place.BREAKPOINT, opened="fields-help"))

    @on(Input.Submitted)
    def submitted(self) -> None:
        """Enter in a field of one line."""
        self.action_take()

    def action_take(self) -> None:
        """Ask for what the fields say."""
        count = self.ignore.value.strip() or "0"
        if not (count.isascii() and count.isdecimal() and len(count) < 19):
            self.say(f"the hits that it passes are a whole number from 0 on, not '{count}'")
            self.ignore.focus()
            return
        self._ask(
            BreakpointEdit(self._number, self.condition.value.strip(), int(count), self.commands.text.splitlines())
        )

    def answered(self, error: str | None) -> None:
        """It was done, or why it could not be."""
        if error is None:
            self.leave()
        else:
            self.say(error)

    def say(self, text: str) -> None:
        """What is wrong."""
        self._said.update(Content(printable(text)))
