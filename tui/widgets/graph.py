"""The graph of a loop: what is larger than its window pans, what is smaller stands in the middle. The cursor is on a
box."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..render.graphview.layout import GraphLayout, PlacedBox
from ..render.styled_text import Role, StyledLine
from .cached_styles import cache_rows
from .size_aware import SizeAware
from .strips import StyleResolver


class GraphView(SizeAware, ScrollView, can_focus=True, inherit_bindings=False):
    """Lines in a window. ``places``: where the boxes stand in them."""

    class BoxClicked(Message):
        """A box was clicked; ``twice``: two times."""

        def __init__(self, box: int, twice: bool) -> None:
            super().__init__()
            self.box = box
            self.is_double = twice

    class GraphResized(Message):
        """It has another size."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        cache_rows(self)
        self.graph_layout: GraphLayout | None = None
        self._lines: Sequence[StyledLine] = ()
        self._style_resolver = StyleResolver(self)
        self._strips: dict[int, Strip] = {}

    def show_graph(self, lines: Sequence[StyledLine], places: GraphLayout) -> None:
        """Show other lines."""
        before, self._lines, self.graph_layout = self._lines, lines, places
        size = Size(places.width, places.height)
        if size != self.virtual_size:
            self._strips.clear()
            self.virtual_size = size
            self.refresh()
            return
        top = round(self.scroll_y)
        for row in range(top, min(top + self.size.height, max(len(lines), len(before)))):
            old = before[row] if row < len(before) else None
            if old is None or row >= len(lines) or not lines[row].draws_same_as(old):
                self.refresh_line(row + self._margin.y)
        self._strips = {
            row: strip
            for row, strip in self._strips.items()
            if row < min(len(lines), len(before)) and lines[row].draws_same_as(before[row])
        }

    @property
    def _margin(self) -> Offset:
        """What is left over at the left and above."""
        width, height = self.size - self.virtual_size
        return Offset(width // 2, height // 2)

    @property
    def origin(self) -> Offset:
        """Where the first cell of the graph stands in the window, or outside of it."""
        return self._margin - self.scroll_offset

    @property
    def text(self) -> str:
        """All that it says."""
        return "\n".join(line.text for line in self._lines)

    def scroll_to_box(self, box: int) -> None:
        """Scroll so far that a box is seen, with what is around it."""
        if self.graph_layout is None:
            return
        chip = self.graph_layout.placed_boxes[box]
        region = Region(max(0, chip.left - 4), max(0, chip.top - 3), chip.width + 8, chip.height + 6) + self._margin
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    def pan(self, right: int, down: int) -> None:
        """Move the window, in halves of it."""
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
            before = StyledLine(((" " * self._margin.x, Role.PLAIN), *self._lines[row].spans), self._lines[row].current)
            self._strips[row] = self._style_resolver.to_strip(before, max(self.virtual_size.width, width))
        return self._strips[row].crop(self.scroll_offset.x, self.scroll_offset.x + width)

    def size_changed(self) -> None:
        """See :class:`.resized.SizeAware`."""
        self._strips.clear()
        self.post_message(self.GraphResized())

    def on_click(self, event: events.Click) -> None:
        """Once puts the cursor on a box, twice opens it."""
        offset = event.get_content_offset(self)
        if offset is None or self.graph_layout is None:
            return
        column, row = offset - self.origin
        found = next(
            (k for k, chip in enumerate(self.graph_layout.placed_boxes) if _contains_cell(chip, column, row)), None
        )
        if found is not None:
            self.post_message(self.BoxClicked(found, event.chain == 2))


def _contains_cell(chip: PlacedBox, column: int, row: int) -> bool:
    return chip.left <= column < chip.right and chip.top <= row < chip.top + chip.height
