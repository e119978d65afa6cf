"""A screen as a picture: an SVG of the cells alone.

Each row is a line of the file, styles are named after their attributes, and there is nothing else: no fonts, ids or
frame. Two pictures therefore differ only if the screens do, whatever the version of the screenshot exporter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any, TypeVar

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.app import App

Kind = TypeVar("Kind")
#: The size of a cell in the picture's units, and the position of its text.
CELL_WIDTH_PX, CELL_HEIGHT_PX, BASELINE_PX = 10, 20, 15
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n'
    "<style>text {{ font: 16.6px 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre }}\n"
    ".b {{ font-weight: bold }} .i {{ font-style: italic }} .u {{ text-decoration: underline }} "
    ".s {{ text-decoration: line-through }} .d {{ opacity: 0.6 }}</style>\n"
)


def render_screen(app: App[Any]) -> str:
    """The screen of a running app, including what is visible behind a modal screen."""
    width, height = app.screen.size
    paper, rows = background_color(app), screen_rows(app)
    parts = [_HEAD.format(width=width * CELL_WIDTH_PX, height=height * CELL_HEIGHT_PX)]
    parts.append(f'<rect width="100%" height="100%" fill="{paper}"/>\n')
    parts += [f"{_row(number, row, paper)}\n" for number, row in enumerate(rows)]
    return "".join((*parts, "</svg>\n"))


def screen_rows(app: App[Any]) -> list[list[Segment]]:
    """The contents of each row of the screen."""
    update: Any = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    return [[segment for strip in row for segment in strip] for row in update.strips]


def background_color(app: App[Any]) -> str:
    """The background colour of most of the screen."""
    return _colour(app.screen.background_colors[1].rich_color)


def _row(number: int, row: Sequence[Segment], paper: str) -> str:
    """A row: its backgrounds, then its texts."""
    behind, texts = list[str](), list[str]()
    for index, text, ground in group_runs(row, lambda segment: style_attributes(segment.style)[1]):
        if ground and ground != paper:
            box = f'x="{index * CELL_WIDTH_PX}" y="{number * CELL_HEIGHT_PX}" width="{cell_len(text) * CELL_WIDTH_PX}"'
            box += f' height="{CELL_HEIGHT_PX}"'
            behind.append(f'<rect {box} fill="{ground}"/>')
    for index, text, (ink, _, classes) in group_runs(row, lambda segment: style_attributes(segment.style)):
        lined = "u" in classes or "s" in classes
        seen = text if lined else text.strip(" ")
        if seen:
            x = (index if lined else index + len(text) - len(text.lstrip(" "))) * CELL_WIDTH_PX
            named = f' class="{classes}"' if classes else ""
            texts.append(f'<tspan x="{x}" fill="{ink}"{named}>{escape(seen, quote=False)}</tspan>')
    drawn = f'<text y="{number * CELL_HEIGHT_PX + BASELINE_PX}">{"".join(texts)}</text>' if texts else ""
    return "".join((*behind, drawn))


def group_runs(row: Iterable[Segment], key: Callable[[Segment], Kind]) -> Iterator[tuple[int, str, Kind]]:
    """Runs of adjacent cells with equal attributes: start, text, attributes."""
    index = 0
    for kind, run in groupby(row, key=key):
        text = "".join(segment.text for segment in run)
        yield index, text, kind
        index += cell_len(text)


def style_attributes(style: Style | None) -> tuple[str, str, str]:
    """The foreground, background and text attributes of a style."""
    if style is None:
        return "", "", ""
    ink, ground = _colour(style.color), _colour(style.bgcolor)
    if style.reverse:
        ink, ground = ground, ink
    written = (
        ("b", style.bold), ("i", style.italic), ("u", style.underline), ("s", style.strike), ("d", style.dim),
    )  # fmt: skip
    return ink, ground, " ".join(name for name, on in written if on)


def _colour(colour: Color | None) -> str:
    return "" if colour is None else colour.get_truecolor().hex
