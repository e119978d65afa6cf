"""HTML elements for light and dark pages: all colours derive from the colour of the surrounding text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ....runtime.text import escape_lines, escape_unprintable

#: Maximum number of rows and columns of a heatmap; larger tensors are sampled.
HEATMAP_MAX_SIDE = 32
#: Maximum number of displayed table rows.
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


def html_fragment(*parts: str) -> str:
    """A self-contained HTML fragment with its style."""
    return f'<div class="loopdbg-shown"><style>{_STYLE}</style>{"".join(parts)}</div>'


def escape_text(text: object) -> str:
    """One line of text, escaped for HTML, with line ends and reversed text in names made visible."""
    return escape(escape_unprintable(str(text)))


def paragraph(title: str, text: str = "", kind: str = "") -> str:
    """A paragraph with a bold start. ``kind``: good or bad."""
    suffix = f" {escape_text(text)}" if text else ""
    return f"<p{f' class={kind}' if kind else ''}><b>{escape_text(title)}</b>{suffix}</p>"


def preformatted(lines: Iterable[str]) -> str:
    """Preformatted text."""
    return f"<pre>{escape(escape_lines(lines))}</pre>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty if it has no rows."""
    all_rows = list(rows)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in row)}</tr>" for row in all_rows[:TABLE_MAX_ROWS]
    )
    if len(all_rows) > TABLE_MAX_ROWS:
        body += f"<tr><td colspan={len(header)}>… and {len(all_rows) - TABLE_MAX_ROWS} more</td></tr>"
    if not body:
        return ""
    return f"<table><tr>{''.join(f'<th>{escape_text(cell)}</th>' for cell in header)}</tr>{body}</table>"


def details(summary: str, *parts: str) -> str:
    """A collapsible element."""
    return f"<details><summary>{escape_text(summary)}</summary>{''.join(parts)}</details>"


def heatmap(array: npt.NDArray[Any]) -> str:
    """The elements of a tensor as coloured cells, leading axes flattened into rows; "" for other values."""
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
            fraction = (value - low) / (high - low) if high > low else 0.5
            # Sequential from light to dark; non-finite values are red.
            colour = f"hsl(210,60%,{90 - 65 * fraction:.0f}%)" if np.isfinite(value) else "#d33"
            cells.append(f'<rect x="{8 * x}" y="{8 * y}" width="8" height="8" fill="{colour}"/>')
    height, width = 8 * len(grid), 8 * len(grid[0])
    return f'<svg role="img" width="{width}" height="{height}">{"".join(cells)}</svg>'
