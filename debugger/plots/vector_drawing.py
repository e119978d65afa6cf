"""A drawing of boxes, lines and texts, in pixels: what a picture becomes before it is a file of one kind or another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from ...runtime.text import escape_lines, escape_unprintable

#: Of text in a box: the size, and how wide a character is.
FONT_SIZE_PX, CHARACTER_WIDTH_PX = 12.0, 7.25
#: By style: colours on a light and on a dark page, of lines and of text.
STYLE_COLOURS = {
    "plain": ("#4a5463", "#aab4c2"),
    "dim": ("#6a7380", "#8b94a0"),
    "wire": ("#8a939e", "#6b7584"),
    "enters": ("#2f5d8c", "#7d9fc4"),
    "decides": ("#80570a", "#d8b26a"),
    "arc": ("#6b3fa0", "#b69ae0"),
    "next": ("#35682a", "#92b885"),
    "odd": ("#a8322a", "#e07a72"),
    "text": ("#23272e", "#ccd1d9"),
}
#: What is behind a box.
BOX_FILL = ("#fbfaf7", "#1f242a")
_PAGE_FILL = ("#ffffff", "#14171b")


@dataclass(frozen=True)
class DrawnRect:
    """A box; ``round``: the radius of its corners; ``told``: lines said of it where one points at it; ``sheet``: it
    lies under another one of a stack."""

    x: float
    y: float
    width: float
    height: float
    style: str
    corner_radius: float = 4
    stroke_width: float = 1
    dashed: bool = False
    stacked: bool = False
    tooltip: Sequence[str] = ()


@dataclass(frozen=True)
class DrawnPath:
    """A line through points. ``curved``: it leaves each point, and comes to each, vertically; otherwise it has corners.
    ``arrow``: at its end."""

    points: Sequence[tuple[float, float]]
    style: str
    curved: bool = True
    arrow: bool = True
    stroke_width: float = 1.2
    tooltip: Sequence[str] = ()
    #: What it joins, for who reads the file.
    endpoints: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class DrawnText:
    """A line of text; ``y``: of its middle; ``anchor``: ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    text: str
    style: str = "text"
    anchor: str = "start"
    bold: bool = False


@dataclass(eq=False)
class VectorDrawing:
    """What is drawn, first things first."""

    width: float = 0
    height: float = 0
    elements: list[DrawnRect | DrawnPath | DrawnText] = field(default_factory=list)

    def svg(self) -> str:
        """The drawing as SVG, with the colours of a light or a dark page."""
        size = f"{self.width:.0f} {self.height:.0f}"
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{self.width:.0f}" '
            f'height="{self.height:.0f}" font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" '
            f'font-size="{FONT_SIZE_PX:.0f}">',
            f"<style>{_style_rules(0)} @media (prefers-color-scheme: dark) {{ {_style_rules(1)} }}</style>",
            f'<rect class="page" width="{self.width:.0f}" height="{self.height:.0f}"/>',
            *map(_element_svg, self.elements),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _style_rules(dark: int) -> str:
    """The colours of every style. Classes begin with ``lg-``: a page may hold several drawings beside its own."""
    rules = [f".page{{fill:{_PAGE_FILL[dark]}}}"]
    for name, colours in STYLE_COLOURS.items():
        rules.append(f".lg-{name}{{stroke:{colours[dark]};fill:none}}")
        rules.append(f".lg-{name}.lg-box{{fill:{BOX_FILL[dark]}}}")
        rules.append(f"text.lg-{name}, .lg-{name}.lg-head{{stroke:none;fill:{colours[dark]}}}")
    return " ".join(rules)


def _element_svg(part: DrawnRect | DrawnPath | DrawnText) -> str:
    if isinstance(part, DrawnText):
        bold = ' font-weight="bold"' if part.bold else ""
        return (
            f'<text class="lg-{part.style}" x="{part.x:.1f}" y="{part.y + FONT_SIZE_PX * 0.35:.1f}" '
            f'text-anchor="{part.anchor}"{bold} xml:space="preserve">{_escape_text(part.text)}</text>'
        )
    title = f"<title>{escape(escape_lines(part.tooltip))}</title>" if part.tooltip else ""
    if isinstance(part, DrawnRect):
        dashed = ' stroke-dasharray="4 3"' if part.dashed else ""
        sheet = " lg-sheet" if part.stacked else ""
        return (
            f'<rect class="lg-{part.style} lg-box{sheet}" x="{part.x:.1f}" y="{part.y:.1f}" width="{part.width:.1f}" '
            f'height="{part.height:.1f}" rx="{part.corner_radius:.0f}" stroke-width="{part.stroke_width}"{dashed}>'
            f"{title}</rect>"
        )
    ends = (
        f' data-from="{_escape_text(part.endpoints[0])}" data-to="{_escape_text(part.endpoints[1])}"'
        if part.endpoints[0]
        else ""
    )
    path = (
        f'<path class="lg-{part.style}" d="{_path_data(part)}" stroke-width="{part.stroke_width}"{ends}>{title}</path>'
    )
    return path + (_arrow_head(part) if part.arrow else "")


def _path_data(part: DrawnPath) -> str:
    (x, y), *rest = part.points
    found = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if part.curved:
            middle = (y + to_y) / 2
            found.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        else:
            found.append(f"L{to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(found)


def _arrow_head(part: DrawnPath) -> str:
    """The head of an arrow, which comes from above."""
    x, y = part.points[-1]
    points = f"M{x - 3.5:.1f} {y - 6:.1f}L{x + 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}Z"
    return f'<path class="lg-{part.style} lg-head" d="{points}"/>'


def _escape_text(text: str) -> str:
    """Text of one line for XML; of names out of files nothing that it could not hold is left."""
    return escape(escape_unprintable(text))
