"""A modal panel for long output, and the confirmation before edits are lost."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ..actions import Action, ScreenKind
from ..render.formatting import escape_unprintable
from .modal_base import ModalBase


class PanelScreen(ModalBase[None]):
    """The output of a command, with its first line, the verdict, highlighted. Keys that the panel does not use close it
    and are passed on to the screen below."""

    def __init__(self, actions: Sequence[Action], opened_by: str, title: str, lines: Sequence[str]) -> None:
        super().__init__(ScreenKind.TEXT, actions, opened_by)
        self._title = title
        self._lines = [escape_unprintable(line) for line in lines]

    @property
    def text(self) -> str:
        """The panel as text."""
        return "\n".join(self._lines)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="panel") as box:
            box.border_title = Content(self._title)
            first, *rest = self._lines or [""]
            parts: list[str | tuple[str, str]] = [(first, "bold $accent")]
            parts += ["\n\n", "\n".join(rest)] if rest else []
            yield Static(Content.assemble(*parts))
        yield self.key_bar

    def on_key(self, event: events.Key) -> None:
        """Close the panel, and pass on keys that it does not use."""
        has_priority = any(event.key in action.keys for action in self.actions if action.priority)
        if has_priority or event.key in self._bindings.key_to_bindings:
            return
        event.stop()
        if self.is_current:
            self.dismiss_once()
            self.app.call_later(self.app.simulate_key, event.key)


class QuitConfirmScreen(ModalBase[bool]):
    """Asks whether to leave and lose edits."""

    def __init__(self, actions: Sequence[Action], edits: Sequence[str]) -> None:
        super().__init__(ScreenKind.LEAVE, actions)
        self._lost_edits = [escape_unprintable(line) for line in edits]

    @property
    def text(self) -> str:
        """The question as text."""
        return "\n".join(["Leaving forgets what was set by hand:", *(f"  {line}" for line in self._lost_edits)])

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="panel") as box:
            box.border_title = "Leave?"
            yield Static(Content(self.text))
        yield self.key_bar

    def action_leave(self) -> None:
        self.dismiss_once(True)

    def action_stay(self) -> None:
        self.dismiss_once(False)
