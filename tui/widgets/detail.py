"""The line above the keys: all of what the cursor is on, or the text of the search."""

from __future__ import annotations

from textual.strip import Strip

from ..screen.lines import Role, fit, line
from ..screen.text import printable
from .strips import Lined


class Detail(Lined):
    """One line."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.text = ""

    def say(self, text: str) -> None:
        """Show a text."""
        text = printable(text)
        if text != self.text:
            self.text = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.size.width
        return self.looks.strip(line((fit(f" {self.text}", width), Role.DIM)), width)
