"""An answer on a screen of its own, and a question before something is lost."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ..screen.text import printable
from .above import Above

#: What moves in a panel; any other key goes on below it.
_MOVES = ("up", "down", "pageup", "pagedown", "home", "end", "tab", "shift+tab", "ctrl+c", "ctrl+p")


class PanelScreen(Above[None]):
    """What a command said: its first line, the verdict, stands out. Any key that means something below closes it and
    does that, so that one can step on at once."""

    BINDINGS = [Binding("escape,q,enter,W", "leave", "close")]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._lines = [printable(line) for line in lines]

    @property
    def text(self) -> str:
        """What it says."""
        return "\n".join(self._lines)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="panel") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "esc closes"
            first, *rest = self._lines or [""]
            parts: list[str | tuple[str, str]] = [(first, "bold $accent")]
            parts += ["\n\n", "\n".join(rest)] if rest else []
            yield Static(Content.assemble(*parts))

    def on_key(self, event: events.Key) -> None:
        """A key that the panel itself has no use for."""
        if event.key in _MOVES or event.key in self._bindings.key_to_bindings:
            return
        event.stop()
        if self.is_current:
            self.leave()
            self.app.call_later(self.app.simulate_key, event.key)


class LeaveScreen(Above[bool]):
    """Asks whether to leave though something would be lost."""

    BINDINGS = [Binding("q,y,enter", "leave", "leave"), Binding("escape,n,left", "stay", "stay")]

    def __init__(self, lost: Sequence[str]) -> None:
        super().__init__()
        self._lost = [printable(line) for line in lost]

    @property
    def text(self) -> str:
        """What it says."""
        return "\n".join(["Leaving forgets what was set by hand:", *(f"  {line}" for line in self._lost)])

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="panel") as box:
            box.border_title = "Leave?"
            box.border_subtitle = "q leaves, esc stays"
            yield Static(Content(self.text))

    def action_leave(self) -> None:
        self.leave(True)

    def action_stay(self) -> None:
        self.leave(False)
