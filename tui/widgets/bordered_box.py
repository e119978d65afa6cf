"""A bordered box of lines provided by the caller: parts of the inspector."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from ..render.formatting import escape_unprintable
from ..render.styled_text import StyledLine
from .strips import LineWidget


class LineBox(LineWidget):
    """Shows lines; redraws only those that changed."""

    class BoxResized(Message):
        """The size changed; the owner may provide other lines."""

    class CellClicked(Message):
        """A cell was clicked."""

        def __init__(self, line: int, column: int) -> None:
            super().__init__()
            self.line = line
            self.column = column

    class WheelScrolled(Message):
        """The wheel was turned: ``lines`` down, negative up."""

        def __init__(self, lines: int) -> None:
            super().__init__()
            self.lines = lines

    def __init__(self, title: str, id: str) -> None:
        super().__init__(id)
        self.lines: Sequence[StyledLine] = ()
        self.heading = ("", "")
        self.set_title(title)

    @property
    def text(self) -> str:
        """The title, the subtitle and the lines."""
        return "\n".join(["  ".join(self.heading).rstrip(), *(line.text for line in self.lines)])

    @property
    def inner_size(self) -> Size:
        """The size of the area for lines."""
        return self.content_region.size

    def set_title(self, title: str, subtitle: str = "") -> None:
        """Change the texts in the border."""
        if (title, subtitle) != self.heading:
            self.heading = (title, subtitle)
            # Content, not str: names in a model may look like markup.
            self.border_title, self.border_subtitle = (
                Content(escape_unprintable(title)),
                Content(escape_unprintable(subtitle)),
            )

    def show_lines(self, lines: Sequence[StyledLine]) -> None:
        """Replace the lines."""
        old_lines, self.lines = self.lines, tuple(lines)
        for k in range(max(len(old_lines), len(self.lines))):
            if k >= len(old_lines) or k >= len(self.lines) or old_lines[k] != self.lines[k]:
                self.refresh_line(k)

    def refresh_line(self, k: int) -> None:
        """Draw one line again."""
        from textual.geometry import Region

        if k < self.inner_size.height:
            self.refresh(Region(0, k, self.inner_size.width, 1))

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.widget.Widget`."""
        width = self.inner_size.width
        if y >= len(self.lines):
            return Strip.blank(width, self.style_resolver.style_for())
        return self.style_resolver.to_strip(self.lines[y], width)

    def on_resize(self, event: events.Resize) -> None:
        self.post_message(self.BoxResized())

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None:
            self.post_message(self.CellClicked(offset.y, offset.x))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.post_message(self.WheelScrolled(3))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.post_message(self.WheelScrolled(-3))
