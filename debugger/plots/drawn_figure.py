"""A drawing as a figure of matplotlib, for the kinds of files that are not SVG."""

from __future__ import annotations

from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Line

from .drawing import COLOURS, FILL, FONT, Drawing, Path, Rect, Text
from .figures import Picture, as_plain_text

#: Pixels of a drawing in an inch of a figure, and what one is of a point.
_INCH, _POINT = 96.0, 72 / 96
#: Larger sides would take gigabytes as pixels.
_MOST = 300.0


def figure_of(drawing: Drawing) -> Picture:
    """The figure, as large as the drawing, in the colours of a light page."""
    scale = min(1.0, _MOST * _INCH / max(drawing.width, drawing.height, 1))
    figure = Picture(figsize=(drawing.width / _INCH * scale, drawing.height / _INCH * scale))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for order, part in enumerate(drawing.parts):
        if isinstance(part, Text):
            axes.text(
                part.x, part.y, as_plain_text(part.text), color=COLOURS[part.style][0], zorder=order,
                fontsize=FONT * _POINT * scale, family="monospace", va="center",
                ha={"start": "left", "middle": "center", "end": "right"}[part.anchor],
                weight="bold" if part.bold else "normal",
            )  # fmt: skip
        elif isinstance(part, Rect):
            axes.add_patch(_box(part, order, scale))
        else:
            axes.add_patch(_line(part, order, scale))
            if part.arrow:
                x, y = part.points[-1]
                head = [(x - 3.5, y - 6), (x + 3.5, y - 6), (x, y)]
                axes.add_patch(Polygon(head, color=COLOURS[part.style][0], lw=0, zorder=order))
    return figure


def _box(part: Rect, order: int, scale: float) -> FancyBboxPatch:
    return FancyBboxPatch(
        (part.x, part.y), part.width, part.height, boxstyle=f"round,pad=0,rounding_size={part.round}", fc=FILL[0],
        ec=COLOURS[part.style][0], lw=part.thick * _POINT * scale, ls="--" if part.dashed else "-", zorder=order,
    )  # fmt: skip


def _line(part: Path, order: int, scale: float) -> PathPatch:
    (x, y), *rest = part.points
    points, codes = [(x, y)], [Line.MOVETO]
    for to_x, to_y in rest:
        if part.curved:
            middle = (y + to_y) / 2
            points += [(x, middle), (to_x, middle), (to_x, to_y)]
            codes += [Line.CURVE4] * 3
        else:
            points.append((to_x, to_y))
            codes.append(Line.LINETO)
        x, y = to_x, to_y
    colour = COLOURS[part.style][0]
    return PathPatch(Line(points, codes), fill=False, ec=colour, lw=part.thick * _POINT * scale, zorder=order)
