"""A format-independent drawing of boxes, lines and texts, in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from ...runtime.text import escape_lines, escape_unprintable

#: The font size, and the width of a character.
FONT_SIZE_PX, CHARACTER_WIDTH_PX = 12.0, 7.25
#: The colours of each style, in the light and the dark theme.
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
#: The fill colour of boxes.
BOX_FILL = ("#fbfaf7", "#1f242a")
_PAGE_FILL = ("#ffffff", "#14171b")


@dataclass(frozen=True)
class DrawnRect:
    """A box; ``stacked``: it is a lower sheet of a stack."""

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
    """A line through points. ``curved``: it is vertical at each point; else it has corners. ``arrow``: at its end."""

    points: Sequence[tuple[float, float]]
    style: str
    curved: bool = True
    arrow: bool = True
    stroke_width: float = 1.2
    tooltip: Sequence[str] = ()
    #: The names of the connected boxes, as attributes in the file.
    endpoints: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class DrawnText:
    """A line of text, vertically centred at ``y``; ``anchor``: ``start``, ``middle`` or ``end``."""

    x: float
    y: float
    text: str
    style: str = "text"
    anchor: str = "start"
    bold: bool = False


@dataclass(eq=False)
class VectorDrawing:
    """A drawing; elements are in drawing order."""

    width: float = 0
    height: float = 0
    elements: list[DrawnRect | DrawnPath | DrawnText] = field(default_factory=list)

    def svg(self) -> str:
        """The drawing as SVG, with light and dark colours."""
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
    """The CSS rules of every style. Classes have the prefix ``lg-`` to avoid clashes with those of the page."""
    rules = [f".page{{fill:{_PAGE_FILL[dark]}}}"]
    for name, colours in STYLE_COLOURS.items():
        rules.append(f".lg-{name}{{stroke:{colours[dark]};fill:none}}")
        rules.append(f".lg-{name}.lg-box{{fill:{BOX_FILL[dark]}}}")
        rules.append(f"text.lg-{name}, .lg-{name}.lg-head{{stroke:none;fill:{colours[dark]}}}")
    return " ".join(rules)


def _element_svg(item: DrawnRect | DrawnPath | DrawnText) -> str:
    if isinstance(item, DrawnText):
        bold = ' font-weight="bold"' if item.bold else ""
        return (
            f'<text class="lg-{item.style}" x="{item.x:.1f}" y="{item.y + FONT_SIZE_PX * 0.35:.1f}" '
            f'text-anchor="{item.anchor}"{bold} xml:space="preserve">{_escape_text(item.text)}</text>'
        )
    title = f"<title>{escape(escape_lines(item.tooltip))}</title>" if item.tooltip else ""
    if isinstance(item, DrawnRect):
        dashed = ' stroke-dasharray="4 3"' if item.dashed else ""
        sheet = " lg-sheet" if item.stacked else ""
        return (
            f'<rect class="lg-{item.style} lg-box{sheet}" x="{item.x:.1f}" y="{item.y:.1f}" width="{item.width:.1f}" '
            f'height="{item.height:.1f}" rx="{item.corner_radius:.0f}" stroke-width="{item.stroke_width}"{dashed}>'
            f"{title}</rect>"
        )
    ends = (
        f' data-from="{_escape_text(item.endpoints[0])}" data-to="{_escape_text(item.endpoints[1])}"'
        if item.endpoints[0]
        else ""
    )
    path = (
        f'<path class="lg-{item.style}" d="{_path_data(item)}" stroke-width="{item.stroke_width}"{ends}>{title}</path>'
    )
    return path + (_arrow_head(item) if item.arrow else "")


def _path_data(path: DrawnPath) -> str:
    (x, y), *rest = path.points
    commands = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if path.curved:
            middle = (y + to_y) / 2
            commands.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        else:
            commands.append(f"L{to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(commands)


def _arrow_head(path: DrawnPath) -> str:
    """The head of a downward arrow."""
    x, y = path.points[-1]
    points = f"M{x - 3.5:.1f} {y - 6:.1f}L{x + 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}Z"
    return f'<path class="lg-{path.style} lg-head" d="{points}"/>'


def _escape_text(text: str) -> str:
    """Escape a line of text for XML, including characters that XML does not allow."""
    return escape(escape_unprintable(text))
