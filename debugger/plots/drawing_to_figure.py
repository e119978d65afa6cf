"""Converts a drawing to a matplotlib figure, for file formats other than SVG."""

from __future__ import annotations

from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Line

from .figures import NotebookFigure, escape_math_markup
from .vector_drawing import BOX_FILL, FONT_SIZE_PX, STYLE_COLOURS, DrawnPath, DrawnRect, DrawnText, VectorDrawing

#: The resolution of drawings, and the size of a pixel in points.
_PIXELS_PER_INCH, _POINTS_PER_PIXEL = 96.0, 72 / 96
#: Larger figures would take gigabytes when rasterized.
_MAX_SIDE_INCHES = 300.0


def drawing_to_figure(drawing: VectorDrawing) -> NotebookFigure:
    """A figure of the drawing's size, in the light colours."""
    scale = min(1.0, _MAX_SIDE_INCHES * _PIXELS_PER_INCH / max(drawing.width, drawing.height, 1))
    figure = NotebookFigure(
        figsize=(drawing.width / _PIXELS_PER_INCH * scale, drawing.height / _PIXELS_PER_INCH * scale)
    )
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for order, part in enumerate(drawing.elements):
        if isinstance(part, DrawnText):
            axes.text(
                part.x, part.y, escape_math_markup(part.text), color=STYLE_COLOURS[part.style][0], zorder=order,
                fontsize=FONT_SIZE_PX * _POINTS_PER_PIXEL * scale, family="monospace", va="center",
                ha={"start": "left", "middle": "center", "end": "right"}[part.anchor],
                weight="bold" if part.bold else "normal",
            )  # fmt: skip
        elif isinstance(part, DrawnRect):
            axes.add_patch(_box_patch(part, order, scale))
        else:
            axes.add_patch(_line_patch(part, order, scale))
            if part.arrow:
                x, y = part.points[-1]
                head = [(x - 3.5, y - 6), (x + 3.5, y - 6), (x, y)]
                axes.add_patch(Polygon(head, color=STYLE_COLOURS[part.style][0], lw=0, zorder=order))
    return figure


def _box_patch(part: DrawnRect, order: int, scale: float) -> FancyBboxPatch:
    return FancyBboxPatch(
        (part.x, part.y), part.width, part.height, boxstyle=f"round,pad=0,rounding_size={part.corner_radius}",
        fc=BOX_FILL[0], ec=STYLE_COLOURS[part.style][0], lw=part.stroke_width * _POINTS_PER_PIXEL * scale,
        ls="--" if part.dashed else "-", zorder=order,
    )  # fmt: skip


def _line_patch(part: DrawnPath, order: int, scale: float) -> PathPatch:
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
    colour = STYLE_COLOURS[part.style][0]
    return PathPatch(
        Line(points, codes), fill=False, ec=colour, lw=part.stroke_width * _POINTS_PER_PIXEL * scale, zorder=order
    )
