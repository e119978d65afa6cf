"""Lines as strips of a widget: the one place where roles become colours, which ``app.tcss`` names, and where names out
of a file lose what a terminal would obey."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from ..screen.lines import Line, Role, fit_spans
from ..screen.text import printable

#: The component classes that a widget needs for :func:`strip`.
COMPONENTS = {f"role--{role}" for role in Role} | {"role--current"}


def look_of(widget: Widget, role: str, looks: dict[str, Style]) -> Style:
    """The style of a role, ``""`` for the widget's own, on top of that; ``looks``: what is known of its styles already,
    which go through all that is around it each time."""
    if role not in looks:
        own = widget.rich_style if not role else look_of(widget, "", looks)
        looks[role] = own + widget.get_component_rich_style(f"role--{role}", partial=True) if role else own
    return looks[role]


def strip(widget: Widget, line: Line, width: int, looks: dict[str, Style] | None = None) -> Strip:
    """A line in the widget's colours, cut or filled to ``width`` cells; ``looks``: see :func:`look_of`."""
    looks = {} if looks is None else looks
    base = look_of(widget, "current" if line.current else "", looks)
    segments = [
        Segment(text, _on(widget, base, line, role, looks))
        for text, role in fit_spans(((printable(text), role) for text, role in line.spans), width)
    ]
    return Strip(segments).adjust_cell_length(width, base)


def _on(widget: Widget, base: Style, line: Line, role: str, looks: dict[str, Style]) -> Style:
    if line.current:
        return base + widget.get_component_rich_style(f"role--{role}", partial=True)
    return look_of(widget, role, looks)
