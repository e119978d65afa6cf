"""The line above the keys: all of what the cursor is on, or the text of the search."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from ..screen.lines import Role, fit, line
from ..screen.text import printable
from .strips import COMPONENTS, strip


class Detail(Widget):
    """One line."""

    COMPONENT_CLASSES = COMPONENTS

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
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
        return strip(self, line((fit(f" {self.text}", width), Role.DIM)), width)
