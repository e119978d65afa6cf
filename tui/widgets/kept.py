"""Rows of a widget that are kept until something of it changes."""

from __future__ import annotations

from textual._styles_cache import StylesCache
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class KeptRows(StylesCache):
    """An update of the screen asks every widget in its reach for all its rows. Of rows that are as they were Textual
    keeps what is in them, but finds the colours around them, and filters their cells, again: this keeps the result."""

    def __init__(self) -> None:
        super().__init__()
        self._drawn: tuple[Region, list[Strip]] | None = None

    def set_dirty(self, *regions: Region) -> None:
        """See :class:`~textual._styles_cache.StylesCache`."""
        self._drawn = None
        super().set_dirty(*regions)

    def clear(self) -> None:
        """See :class:`~textual._styles_cache.StylesCache`."""
        self._drawn = None
        super().clear()

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        """See :class:`~textual._styles_cache.StylesCache`."""
        if self._drawn is None or self._drawn[0] != crop:
            self._drawn = crop, super().render_widget(widget, crop)
        return self._drawn[1]


def keep_rows(widget: Widget) -> None:
    """Let a widget keep its rows."""
    widget._styles_cache = KeptRows()
