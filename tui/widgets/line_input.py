"""A one-line text input."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from ..render.formatting import escape_unprintable


def pasted_lines(text: str) -> list[str]:
    """The non-empty lines of a pasted text, with white space as spaces and unprintable characters escaped."""
    lines = ("".join(" " if sign.isspace() else sign for sign in line).strip() for line in text.splitlines())
    return [escape_unprintable(line) for line in lines if line]


class LineInput(Input):
    """Keeps all lines of a paste; Textual's input keeps the first only."""

    async def on_key(self, event: events.Key) -> None:
        """Run the line's own key actions, such as enter, at once. Textual routes them through the app, where characters
        typed or pasted later would overtake them."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            # Scroll bindings, which every widget has, do nothing in a one-line widget.
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """The pasted text replaces the selection."""
        event.stop()
        event.prevent_default()
        lines = pasted_lines(event.text)
        if lines:
            self.insert_lines(lines)

    def insert_lines(self, lines: list[str]) -> None:
        """Insert pasted lines, joined by spaces."""
        self.replace(" ".join(lines), *self.selection)
