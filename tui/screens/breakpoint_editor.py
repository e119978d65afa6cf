"""Modal editor of a breakpoint's condition, ignore count and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from ...debugger.session.stop_state import BreakpointState
from ...runtime.text import count_text
from ..actions import Action, ScreenKind
from ..render.formatting import escape_unprintable
from ..widgets.line_input import LineInput
from ..worker_requests import BreakpointEdit
from .modal_base import ModalBase


class BreakpointScreen(ModalBase[None]):
    """Fields for the condition, the ignore count and the commands. ``submit`` receives the edit, whose outcome comes
    back through :meth:`handle_result`."""

    AUTO_FOCUS = "#fields-condition"

    def __init__(
        self, actions: Sequence[Action], bp: BreakpointState, submit: Callable[[BreakpointEdit], object]
    ) -> None:
        super().__init__(ScreenKind.BREAKPOINT, actions)
        self._number = bp.number
        self._submit_edit = submit
        hits = f", hit {count_text(bp.hits, 'time')}" if bp.hits else ""
        self._title = escape_unprintable(f"{bp.kind_name.capitalize()} {bp.number}: {bp.title}{hits}")
        # Most edits are partial: typing must not replace the whole text.
        self.condition = LineInput(
            bp.condition_text,
            "an expression; nothing: always",
            select_on_focus=False,
            compact=True,
            id="fields-condition",
        )
        self.ignore = LineInput(str(bp.ignore), "a count", compact=True, id="fields-ignore")
        self.commands = TextArea("\n".join(bp.commands), compact=True, id="fields-commands")
        self._error_label = Static(id="fields-message")

    @property
    def error_text(self) -> str:
        """The error message, "" for none."""
        return str(self._error_label.content)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="fields", can_focus=False) as box:
            box.border_title = Content(self._title)
            yield Static("stops only if", classes="-name")
            yield self.condition
            yield Static("ignores the next hits, a count", classes="-name")
            yield self.ignore
            yield Static("then runs these commands, one a line; ^s takes all", classes="-name")
            yield self.commands
            yield self._error_label
        yield self.key_bar

    def action_field(self, step: int) -> None:
        """Focus the next field (-1: the previous one)."""
        (self.focus_next if step > 0 else self.focus_previous)()

    @on(Input.Submitted)
    def handle_submitted(self) -> None:
        """Enter in a one-line field submits."""
        self.action_take()

    def action_take(self) -> None:
        """Submit the fields."""
        count = self.ignore.value.strip() or "0"
        if not (count.isascii() and count.isdecimal() and len(count) < 19):
            self.show_error(f"the hits that it passes are a whole number from 0 on, not '{count}'")
            self.ignore.focus()
            return
        self._submit_edit(
            BreakpointEdit(self._number, self.condition.value.strip(), int(count), self.commands.text.splitlines())
        )

    def handle_result(self, error: str | None) -> None:
        """Close the screen, or show the error of a rejected edit."""
        if error is None:
            self.dismiss_once()
        else:
            self.show_error(error)

    def show_error(self, text: str) -> None:
        """Show an error message."""
        self._error_label.update(Content(escape_unprintable(text)))
