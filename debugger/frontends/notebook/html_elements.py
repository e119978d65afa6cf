"""Pieces of HTML that are readable on light and on dark pages: all colours come from that of the text around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ....runtime.text import escape_lines, escape_unprintable

#: A tensor is drawn with at most this many rows and columns; larger ones are sampled.
HEATMAP_MAX_SIDE = 32
#: So many rows of a table are shown.
TABLE_MAX_ROWS = 40
_STYLE = """\
.loopdbg-shown{color:inherit;font-size:.92em;line-height:1.45;max-width:100%;overflow-x:auto}
.loopdbg-shown table{border-collapse:collapse;margin:.4em 0;color:inherit;background:none}
.loopdbg-shown th,.loopdbg-shown td{border:0;border-top:1px solid color-mix(in srgb,currentColor 18%,transparent);
padding:.15em .7em .15em 0;text-align:left;vertical-align:top;background:none;color:inherit}
.loopdbg-shown th{font-weight:600;opacity:.75;border-top:0}
.loopdbg-shown td,.loopdbg-shown pre,.loopdbg-shown code{font-family:ui-monospace,monospace}
.loopdbg-shown pre,.loopdbg-shown code{background:none;color:inherit}
.loopdbg-shown pre{margin:.4em 0;white-space:pre;overflow-x:auto}
.loopdbg-shown p{margin:.2em 0}.loopdbg-shown ul{margin:.2em 0;padding-left:1.4em}
.loopdbg-shown .good{border-left:.3em solid #2a9d5c;padding-left:.5em}
.loopdbg-shown .bad{border-left:.3em solid #d9534f;padding-left:.5em}"""


def html_page(*parts: str) -> str:
    """Parts as one piece that a notebook shows; it brings its style."""
    return f'<div class="loopdbg-shown"><style>{_STYLE}</style>{"".join(parts)}</div>'


def escape_text(told: object) -> str:
    """Text of one line, escaped: for HTML, and of names out of files what would end a line or turn text around."""
    return escape(escape_unprintable(str(told)))


def paragraph(strong: str, told: str = "", kind: str = "") -> str:
    """A paragraph that begins with something strong. ``kind``: good or bad."""
    after = f" {escape_text(told)}" if told else ""
    return f"<p{f' class={kind}' if kind else ''}><b>{escape_text(strong)}</b>{after}</p>"


def preformatted(lines: Iterable[str]) -> str:
    """Text in columns."""
    return f"<pre>{escape(escape_lines(lines))}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; none where it has no rows."""
    kept = list(rows)
    shown = "".join(
        f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in row)}</tr>" for row in kept[:TABLE_MAX_ROWS]
    )
    if len(kept) > TABLE_MAX_ROWS:
        shown += f"<tr><td colspan={len(head)}>… and {len(kept) - TABLE_MAX_ROWS} more</td></tr>"
    if not shown:
        return ""
    return f"<table><tr>{''.join(f'<th>{escape_text(cell)}</th>' for cell in head)}</tr>{shown}</table>"


def details(summary: str, *parts: str) -> str:
    """What is opened by a click."""
    return f"<details><summary>{escape_text(summary)}</summary>{''.join(parts)}</details>"


def heatmap(array: npt.NDArray[Any]) -> str:
    """The elements of a tensor as coloured cells, axes before the last flattened into rows; "" of what has none."""
    if array.dtype.kind not in "biuf" or array.size == 0 or array.ndim == 0:
        return ""
    grid = array.reshape(-1, array.shape[-1])
    rows, columns = (np.unique(np.linspace(0, size - 1, HEATMAP_MAX_SIDE).astype(int)) for size in grid.shape)
    with np.errstate(all="ignore"):
        grid = grid[np.ix_(rows, columns)].astype(np.float64)
    finite = grid[np.isfinite(grid)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    cells = []
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            share = (value - low) / (high - low) if high > low else 0.5
            # Sequential from light to dark; what is not finite stands out in red.
            colour = f"hsl(210,60%,{90 - 65 * share:.0f}%)" if np.isfinite(value) else "#d33"
            cells.append(f'<rect x="{8 * x}" y="{8 * y}" width="8" height="8" fill="{colour}"/>')
    height, width = 8 * len(grid), 8 * len(grid[0])
    return f'<svg role="img" width="{width}" height="{height}">{"".join(cells)}</svg>'
