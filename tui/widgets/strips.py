"""Lines as strips of a widget: the one place where roles become colours, which ``app.tcss`` names, and where names out
of a file lose what a terminal would obey."""

from __future__ import annotations

from rich.segment import Segment
from textual.strip import Strip
from textual.widget import Widget

from ..screen.lines import Line, Role, fit_spans
from ..screen.text import printable

#: The component classes that a widget needs for :func:`strip`.
COMPONENTS = {f"role--{role}" for role in Role} | {"role--current"}


def strip(widget: Widget, line: Line, width: int) -> Strip:
    """A line in the widget's colours, cut or filled to ``width`` cells."""
    base = widget.rich_style
    if line.current:
        base += widget.get_component_rich_style("role--current", partial=True)
    segments = [
        Segment(text, base + widget.get_component_rich_style(f"role--{role}", partial=True))
        for text, role in fit_spans(((printable(text), role) for text, role in line.spans), width)
    ]
    return Strip(segments).adjust_cell_length(width, base)
