"""Rows of a widget that are kept until something of them changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.segment import Segment
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


def cache_rows(widget: Widget) -> None:
    """Let a widget keep its rows."""
    widget._styles_cache = CachedStyles()


class CachedStyles(StylesCache):
    """An update of the screen asks every widget in its reach for all its rows. Of rows that are as they were Textual
    keeps what is in them, but finds the colours around them, and filters their cells, again: this keeps the result. Of
    rows that are not, only what is between the borders is made anew."""

    def __init__(self) -> None:
        super().__init__()
        #: Which part of the widget the rows are of; None: nothing of them holds any more.
        self._cached_crop: Region | None = None
        self._cached_rows: list[Strip] = []
        self._border_segments: _BorderSegments | None = None
        #: The rows that changed.
        self._dirty_rows: set[int] = set()

    def set_dirty(self, *regions: Region) -> None:
        """See :class:`~textual._styles_cache.StylesCache`."""
        for region in regions:
            self._dirty_rows.update(region.line_range)
        super().set_dirty(*regions)

    def clear(self) -> None:
        """See :class:`~textual._styles_cache.StylesCache`."""
        self._cached_crop = None
        super().clear()

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        """See :class:`~textual._styles_cache.StylesCache`."""
        if self._cached_crop != crop:
            self._cached_rows = super().render_widget(widget, crop)
            self._border_segments = _BorderSegments.from_widget(widget, crop, self._cached_rows)
        else:
            for y in self._dirty_rows.intersection(crop.line_range):
                self._cached_rows[y - crop.y] = self._render_row(widget, crop, y)
        self._cached_crop = crop
        self._dirty_rows.clear()
        return self._cached_rows

    def _render_row(self, widget: Widget, crop: Region, y: int) -> Strip:
        between = None if self._border_segments is None else self._border_segments.render_row(widget, y)
        return between or super().render_widget(widget, Region(crop.x, y, crop.width, 1))[0]


@dataclass(frozen=True)
class _BorderSegments:
    """What Textual draws left and right of each row between the borders above and below. ``inside``: the cells between;
    ``width``: of all."""

    rows: range
    left: Sequence[Segment]
    right: Sequence[Segment]
    inner_width: int
    width: int
    background: Color

    @classmethod
    def from_widget(cls, widget: Widget, crop: Region, drawn: Sequence[Strip]) -> _BorderSegments | None:
        """Those of a widget that was drawn; None where only a part of it is seen, or its rows are more than something
        between two sides, or it is one row: that is drawn as soon as all of it."""
        gutter = widget.styles.gutter
        rows = range(gutter.top, crop.height - gutter.bottom)
        if crop.offset or crop.height == 1 or not rows:
            return None
        row, line = list(drawn[rows[0]]), widget.render_line(0)
        ends = list(accumulate((segment.cell_length for segment in row), initial=0))
        if gutter.left not in ends:
            return None
        first = ends.index(gutter.left)
        left, right = row[:first], row[first + len(list(line)) :]
        sides = cls(rows, left, right, line.cell_length, crop.width, widget.background_colors[1])
        return sides if sides.render_row(widget, rows[0]) == drawn[rows[0]] else None

    def render_row(self, widget: Widget, y: int) -> Strip | None:
        """A row of the widget; None where it is not between the sides."""
        if y not in self.rows:
            return None
        line = widget.render_line(y - self.rows.start)
        if line.cell_length != self.inner_width:
            return None
        strip = Strip([*self.left, *line, *self.right], self.width)
        for each in widget.get_line_filters():
            strip = strip.apply_filter(each, self.background)
        return strip
