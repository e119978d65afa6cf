"""Renders styled lines as Textual strips: maps roles to the colours of ``app.tcss`` and escapes control characters in
names from files."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..render.formatting import escape_unprintable
from ..render.styled_text import Role, StyledLine, truncate_spans
from .row_cache import enable_row_cache

#: The component classes that an app needs for :class:`StyleResolver`. They belong to the app: Textual computes
#: component styles once per widget.
ROLE_COMPONENT_CLASSES = {f"role--{role}" for role in Role} | {"role--current"}


class StyleResolver:
    """Cache of the styles of a widget's lines: a look-up walks the widget's ancestors. The widget invalidates it with
    :meth:`clear`."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._cache: dict[tuple[str, bool], Style] = {}

    def clear(self) -> None:
        """Invalidate the cache."""
        self._cache.clear()

    def style_for(self, role: str = "", current: bool = False) -> Style:
        """The style of a role, ``""`` for the widget's own; ``current``: on the current line."""
        style = self._cache.get((role, current))
        if style is None:
            style = self._cache[role, current] = self._resolve_style(role, current)
        return style

    def _resolve_style(self, role: str, current: bool) -> Style:
        if not role and not current:
            return self._widget.rich_style
        own = self._widget.app.get_component_styles(f"role--{role or 'current'}").partial_rich_style
        return self.style_for("", current and bool(role)) + own

    def to_strip(self, line: StyledLine, width: int) -> Strip:
        """Render a line in the widget's colours, cut or padded to ``width`` cells."""
        # Hot path, called for every changed line: most texts are printable and most styles cached.
        spans = [(text if text.isprintable() else escape_unprintable(text), role) for text, role in line.spans]
        known, current = self._cache, line.current
        segments = [
            Segment(text, known[role, current] if (role, current) in known else self.style_for(role, current))
            for text, role in truncate_spans(spans, width)
        ]
        return padded_strip(segments, width, self.style_for("", line.current))


def padded_strip(segments: list[Segment], width: int, style: Style) -> Strip:
    """Pad segments of at most ``width`` cells to a strip of that width."""
    padding = width - sum([segment.cell_length for segment in segments])
    return Strip([*segments, Segment(" " * padding, style)] if padding > 0 else segments, width)


class LineWidget(Widget):
    """Base class of widgets that show styled lines."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        enable_row_cache(self)
        self.style_resolver = StyleResolver(self)

    def notify_style_update(self) -> None:
        """See :class:`~textual.widget.Widget`."""
        super().notify_style_update()
        self.style_resolver.clear()
