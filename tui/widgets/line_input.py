"""A line that is typed or pasted into."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from ..render.formatting import escape_unprintable


def pasted_lines(text: str) -> list[str]:
    """The lines of a pasted text, without empty ones: white space as spaces, other characters that no key types as
    escapes."""
    lines = ("".join(" " if sign.isspace() else sign for sign in line).strip() for line in text.splitlines())
    return [escape_unprintable(line) for line in lines if line]


class LineInput(Input):
    """Textual's keeps the first line of what is pasted; this one keeps all of them."""

    async def on_key(self, event: events.Key) -> None:
        """A key that the line itself has an action for, such as enter. Textual sends it on a way through the app, on
        which the letters that are typed or pasted behind it would overtake it."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            # Scrolling, which all widgets have keys for, is done by none that is one line.
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """What is pasted replaces what is selected."""
        event.stop()
        event.prevent_default()
        lines = pasted_lines(event.text)
        if lines:
            self.insert_lines(lines)

    def insert_lines(self, lines: list[str]) -> None:
        """Insert pasted lines; there is one line, so they are joined."""
        self.replace(" ".join(lines), *self.selection)
