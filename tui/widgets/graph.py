"""The graph of a loop: centred in its window, or panned where it is larger. The cursor is on a box."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..render.graphview.layout import GraphLayout, PlacedBox
from ..render.styled_text import Role, StyledLine
from .row_cache import enable_row_cache
from .size_aware import SizeAware
from .strips import StyleResolver


class GraphWidget(SizeAware, ScrollView, can_focus=True, inherit_bindings=False):
    """A scrollable window on the drawn lines of a graph."""

    class BoxClicked(Message):
        """A box was clicked, or double-clicked."""

        def __init__(self, box: int, is_double: bool) -> None:
            super().__init__()
            self.box = box
            self.is_double = is_double

    class GraphResized(Message):
        """The size changed."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        enable_row_cache(self)
        self.graph_layout: GraphLayout | None = None
        self._lines: Sequence[StyledLine] = ()
        self._style_resolver = StyleResolver(self)
        self._strips: dict[int, Strip] = {}

    def show_graph(self, lines: Sequence[StyledLine], graph_layout: GraphLayout) -> None:
        """Show a graph; redraws only changed lines."""
        old_lines, self._lines, self.graph_layout = self._lines, lines, graph_layout
        size = Size(graph_layout.width, graph_layout.height)
        if size != self.virtual_size:
            self._strips.clear()
            self.virtual_size = size
            self.refresh()
            return
        top = round(self.scroll_y)
        for row in range(top, min(top + self.size.height, max(len(lines), len(old_lines)))):
            old = old_lines[row] if row < len(old_lines) else None
            if old is None or row >= len(lines) or not lines[row].draws_same_as(old):
                self.refresh_line(row + self._margin.y)
        self._strips = {
            row: strip
            for row, strip in self._strips.items()
            if row < min(len(lines), len(old_lines)) and lines[row].draws_same_as(old_lines[row])
        }

    @property
    def _margin(self) -> Offset:
        """The empty columns and rows left of and above the graph."""
        width, height = self.size - self.virtual_size
        return Offset(width // 2, height // 2)

    @property
    def origin(self) -> Offset:
        """The position of the graph's first cell relative to the window."""
        return self._margin - self.scroll_offset

    @property
    def text(self) -> str:
        """The drawn lines."""
        return "\n".join(line.text for line in self._lines)

    def scroll_to_box(self, index: int) -> None:
        """Scroll a box and its surroundings into view."""
        if self.graph_layout is None:
            return
        box = self.graph_layout.placed_boxes[index]
        region = Region(max(0, box.left - 4), max(0, box.top - 3), box.width + 8, box.height + 6) + self._margin
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    def pan(self, right: int, down: int) -> None:
        """Move the window by halves of its size."""
        width, height = self.size
        self.scroll_relative(right * width // 2, down * height // 2, animate=False)

    def notify_style_update(self) -> None:
        """See :class:`~textual.widget.Widget`."""
        super().notify_style_update()
        self._strips.clear()
        self._style_resolver.clear()

    def render_line(self, y: int) -> Strip:
        """See :class:`~textual.scroll_view.ScrollView`."""
        row, width = y - self.origin.y, self.size.width
        if not 0 <= row < len(self._lines):
            return Strip.blank(width, self._style_resolver.style_for())
        if row not in self._strips:
            line = StyledLine(((" " * self._margin.x, Role.PLAIN), *self._lines[row].spans), self._lines[row].current)
            self._strips[row] = self._style_resolver.to_strip(line, max(self.virtual_size.width, width))
        return self._strips[row].crop(self.scroll_offset.x, self.scroll_offset.x + width)

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        self._strips.clear()
        self.post_message(self.GraphResized())

    def on_click(self, event: events.Click) -> None:
        """A click selects a box, a double click opens it."""
        offset = event.get_content_offset(self)
        if offset is None or self.graph_layout is None:
            return
        column, row = offset - self.origin
        index = next(
            (k for k, box in enumerate(self.graph_layout.placed_boxes) if _contains_cell(box, column, row)), None
        )
        if index is not None:
            self.post_message(self.BoxClicked(index, event.chain == 2))


def _contains_cell(box: PlacedBox, column: int, row: int) -> bool:
    return box.left <= column < box.right and box.top <= row < box.top + box.height
