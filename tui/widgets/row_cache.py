"""Cache of a widget's rendered rows."""

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


def enable_row_cache(widget: Widget) -> None:
    """Make a widget cache its rows."""
    widget._styles_cache = CachedStyles()


class CachedStyles(StylesCache):
    """Caches complete rows. Textual caches only the content of unchanged rows and recomputes borders and filters at
    every screen update; here unchanged rows are reused as a whole, and changed rows redraw only their content."""

    def __init__(self) -> None:
        super().__init__()
        #: The region of the widget that the rows cover; None: the cache is invalid.
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
        row = None if self._border_segments is None else self._border_segments.render_row(widget, y)
        return row or super().render_widget(widget, Region(crop.x, y, crop.width, 1))[0]


@dataclass(frozen=True)
class _BorderSegments:
    """The left and right border segments, equal for all rows between the top and the bottom border."""

    rows: range
    left: Sequence[Segment]
    right: Sequence[Segment]
    inner_width: int
    width: int
    background: Color

    @classmethod
    def from_widget(cls, widget: Widget, crop: Region, drawn: Sequence[Strip]) -> _BorderSegments | None:
        """Extract the borders of a drawn widget. Returns None if it is clipped, has one row only, or its rows are not
        just content between two borders."""
        gutter = widget.styles.gutter
        rows = range(gutter.top, crop.height - gutter.bottom)
        if crop.offset or crop.height == 1 or not rows:
            return None
        row, line = list(drawn[rows[0]]), widget.render_line(0)
        boundaries = list(accumulate((segment.cell_length for segment in row), initial=0))
        if gutter.left not in boundaries:
            return None
        start = boundaries.index(gutter.left)
        left, right = row[:start], row[start + len(list(line)) :]
        segments = cls(rows, left, right, line.cell_length, crop.width, widget.background_colors[1])
        return segments if segments.render_row(widget, rows[0]) == drawn[rows[0]] else None

    def render_row(self, widget: Widget, y: int) -> Strip | None:
        """Render a row of the widget; None if it is not between the borders."""
        if y not in self.rows:
            return None
        line = widget.render_line(y - self.rows.start)
        if line.cell_length != self.inner_width:
            return None
        strip = Strip([*self.left, *line, *self.right], self.width)
        for line_filter in widget.get_line_filters():
            strip = strip.apply_filter(line_filter, self.background)
        return strip
