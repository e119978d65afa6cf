"""Lines as strips of a widget: the one place where roles become colours, which ``app.tcss`` names, and where names out
of a file lose what a terminal would obey."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..screen.lines import Line, Role, fit_spans
from ..screen.text import printable
from .kept import keep_rows

#: The component classes that an app needs for :class:`Looks`. They are the app's: Textual would compute those of a
#: widget for each widget anew.
COMPONENTS = {f"role--{role}" for role in Role} | {"role--current"}


class Looks:
    """The styles of a widget's lines. A look-up of one goes through all that is around the widget, so each is kept
    until the widget says that they changed (:meth:`forget`)."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[tuple[str, bool], Style] = {}

    def forget(self) -> None:
        """The widget's style changed."""
        self._known.clear()

    def of(self, role: str = "", current: bool = False) -> Style:
        """The style of a role, ``""`` for the widget's own; ``current``: on the current line."""
        found = self._known.get((role, current))
        if found is None:
            found = self._known[role, current] = self._find(role, current)
        return found

    def _find(self, role: str, current: bool) -> Style:
        if not role and not current:
            return self._widget.rich_style
        own = self._widget.app.get_component_styles(f"role--{role or 'current'}").partial_rich_style
        return self.of("", current and bool(role)) + own

    def strip(self, line: Line, width: int) -> Strip:
        """A line in the widget's colours, cut or filled to ``width`` cells."""
        # Most texts are printable and most styles known: a strip is made of every line that changed at a stop.
        spans = [(text if text.isprintable() else printable(text), role) for text, role in line.spans]
        known, current = self._known, line.current
        segments = [
            Segment(text, known[role, current] if (role, current) in known else self.of(role, current))
            for text, role in fit_spans(spans, width)
        ]
        return filled(segments, width, self.of("", line.current))


def filled(segments: list[Segment], width: int, style: Style) -> Strip:
    """Segments of at most ``width`` cells as a strip of so many."""
    room = width - sum([segment.cell_length for segment in segments])
    return Strip([*segments, Segment(" " * room, style)] if room > 0 else segments, width)


class Lined(Widget):
    """A widget that shows lines."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        keep_rows(self)
        self.looks = Looks(self)

    def notify_style_update(self) -> None:
        """See :class:`~textual.widget.Widget`."""
        super().notify_style_update()
        self.looks.forget()
