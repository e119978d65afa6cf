"""What a breakpoint asks for, each in a field of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from ...debugger.session.snapshot import BreakpointSnapshot
from ...runtime.text import count_text
from ..actions import Action, ScreenKind
from ..render.formatting import escape_unprintable
from ..widgets.line_input import LineInput
from ..worker_requests import BreakpointEdit
from .help import HelpScreen
from .modal_base import ModalBase


class BreakpointScreen(ModalBase[None]):
    """The condition of a breakpoint, the hits that it passes, and the commands that are run where it stops. What is
    taken replaces what was there. ``ask``: gets it; :meth:`answered` says whether it could be done."""

    AUTO_FOCUS = "#fields-condition"

    def __init__(
        self, actions: Sequence[Action], one: BreakpointSnapshot, ask: Callable[[BreakpointEdit], object]
    ) -> None:
        super().__init__(ScreenKind.BREAKPOINT, actions)
        self._number = one.number
        self._submit_edit = ask
        hits = f", hit {count_text(one.hits, 'time')}" if one.hits else ""
        self._title = escape_unprintable(f"{one.kind_name.capitalize()} {one.number}: {one.title}{hits}")
        # Most edits are of a part: typing does not replace all of it.
        self.condition = LineInput(
            one.condition_text,
            "an expression; nothing: always",
            select_on_focus=False,
            compact=True,
            id="fields-condition",
        )
        self.ignore = LineInput(str(one.ignore), "a count", compact=True, id="fields-ignore")
        self.commands = TextArea("\n".join(one.commands), compact=True, id="fields-commands")
        self._error_label = Static(id="fields-said")

    @property
    def error_text(self) -> str:
        """What is wrong with what was typed, "" for nothing."""
        return str(self._error_label.content)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="fields", can_focus=False) as box:
            box.border_title = Content(self._title)
            yield Static("stops only if", classes="-name")
            yield self.condition
            yield Static("passes the next hits, so many", classes="-name")
            yield self.ignore
            yield Static("then runs these commands, one a line; ^s takes all", classes="-name")
            yield self.commands
            yield self._error_label
        yield self.key_bar

    def action_field(self, way: int) -> None:
        """The next field (-1: the one before)."""
        (self.focus_next if way > 0 else self.focus_previous)()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.actions, ScreenKind.BREAKPOINT, opened="fields-help"))

    @on(Input.Submitted)
    def handle_submitted(self) -> None:
        """Enter in a field of one line."""
        self.action_take()

    def action_take(self) -> None:
        """Ask for what the fields say."""
        count = self.ignore.value.strip() or "0"
        if not (count.isascii() and count.isdecimal() and len(count) < 19):
            self.show_error(f"the hits that it passes are a whole number from 0 on, not '{count}'")
            self.ignore.focus()
            return
        self._submit_edit(
            BreakpointEdit(self._number, self.condition.value.strip(), int(count), self.commands.text.splitlines())
        )

    def handle_result(self, error: str | None) -> None:
        """It was done, or why it could not be."""
        if error is None:
            self.dismiss_once()
        else:
            self.show_error(error)

    def show_error(self, text: str) -> None:
        """What is wrong."""
        self._error_label.update(Content(escape_unprintable(text)))
