"""The line above the key bar: the full text of the cursor's target, or the search text."""

from __future__ import annotations

from textual.strip import Strip

from ..render.formatting import escape_unprintable
from ..render.styled_text import Role, styled_line, truncate
from .strips import LineWidget


class DetailLine(LineWidget):
    """One line of dim text."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.text = ""

    def say(self, text: str) -> None:
        """Show a text."""
        text = escape_unprintable(text)
        if text != self.text:
            self.text = text
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.size.width
        return self.style_resolver.to_strip(styled_line((truncate(f" {self.text}", width), Role.DIM)), width)
