"""What the scan outputs have collected: their growing shape, the newest element, and a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len

from ...debugger.session.snapshot import FrameSnapshot, ScanSnapshot
from ...debugger.statistics.tensor import tensor_of
from ...debugger.words.names import quote
from ...runtime.graph import TensorType, Value
from ..screen.cells import short_value
from ..screen.collected import picture
from ..screen.layout import ALL, Need
from ..screen.lines import Line, Role, Span, fit, line, shortened
from ..screen.plots import heat, number_of, odd_apart
from ..screen.targets import Of, ValueTarget
from ..screen.text import printable, sparkline, type_text
from ..screen.view import Shown
from .pane import Pane

#: Of an element at most so many indices are written; single numbers want so many lines, with the one above them.
_INDICES, _INDEXED = 100, 4
#: A chart of scalars is not higher than this.
_HIGHEST = 8
#: No picture of elements has more rows.
_ROWS = 64


class Scans(Pane):
    """Two lines or more for each scan output."""

    def __init__(self, id: str) -> None:
        super().__init__("Scan outputs", id)

    def need(self, shown: Shown) -> Need | None:
        frame, around = shown.frame.frame, _around(shown)
        if not frame.scans and not around:
            return None
        ports = frame.loop.scan_outputs if frame.loop is not None else ()
        most = [_most(scan, port.result, frame.trip_count) for scan, port in zip(frame.scans, ports, strict=True)]
        wanted = ALL if None in most else len(around) + sum(1 + (rows or 0) for rows in most)
        return Need(min(2, wanted), wanted)

    def brief(self, shown: Shown) -> Sequence[Span]:
        frame, told = shown.frame.frame, list[Span]()
        for scan in (*frame.scans, *(scan for _, scan in _around(shown))):
            told += [(quote(scan.name), Role.NAME), (f" {type_text(scan.dtype, scan.shape)}   ", Role.VALUE)]
        return told

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        around = [_facts(scan, width, f"  of loop '{printable(outer.name)}'") for outer, scan in _around(shown)]
        if not frame.scans:
            return around or [line(("none", Role.DIM))]
        lines: list[Line] = []
        for scan, each in zip(frame.scans, _rooms(frame.scans, height - len(frame.scans)), strict=True):
            facts = _facts(scan, width)
            lines.append(replace(facts, target=ValueTarget(scan.name, shown.depth, Of.SCAN)))
            lines += _picture(scan, width, max(1, min(each, _ROWS)))
        return lines + around


def _rooms(scans: Sequence[ScanSnapshot], height: int) -> list[int]:
    """The lines of each picture: what charts of single numbers leave the others have."""
    each = height // len(scans)
    charts = [min(each, _INDEXED if scan.picks else _HIGHEST + 1) if _is_chart(scan) else None for scan in scans]
    rest = height - sum(filter(None, charts))
    return [rest // charts.count(None) if one is None else one for one in charts]


def _is_chart(scan: ScanSnapshot) -> bool:
    return bool(scan.tail) and scan.tail[-1].size == 1


def _most(scan: ScanSnapshot, element: Value, trip_count: int | None) -> int | None:
    """The rows that its picture can use, the same at every stop; None: all that there are."""
    shape = element.type.shape if isinstance(element.type, TensorType) else None
    if _is_chart(scan) or (shape is not None and all(size == 1 for size in shape)):
        return _INDEXED
    total = scan.length or trip_count
    return None if total is None or total >= _ROWS else 1 + max(1, total)


def _around(shown: Shown) -> list[tuple[FrameSnapshot, ScanSnapshot]]:
    """The scan outputs of the loops around, which go on collecting."""
    outer = [view.frame for view in reversed(shown.view.frames[1 : shown.depth or 0])]
    return [(frame, scan) for frame in outer for scan in frame.scans]


def _facts(scan: ScanSnapshot, width: int, whose: str = "") -> Line:
    """``xs  f32 [4]  4 so far  last 1.4142157  stacked on axis 0``; the end is left out where there is no room.
    ``whose``: the loop that it is of, where that is another than the one shown."""
    how = "stacked on" if scan.stack else "concatenated along"
    reverse = ", newest first" if scan.reverse else ""
    spans = [
        # Which way it grows is visible at every width.
        (f"{shortened(quote(scan.name), max(8, width // 3))}{' ←' if scan.reverse else ''}", Role.NAME),
        (f"  {type_text(scan.dtype, scan.shape)}{_in_the_end(scan)}", Role.VALUE),
        (f"  {scan.count} so far", Role.PLAIN),
    ]
    if whose:
        spans = [(text, Role.DIM) for text, _ in spans] + [(whose, Role.DIM)]
    how_span = (f"  {how} axis {scan.axis}{reverse}", Role.DIM)
    for more in ([_last(scan), how_span], [_last(scan)], [how_span]):
        longer = [*spans, *(span for span in more if span[0])]
        if cell_len(line(*longer).text) <= width:
            return line(*longer)
    return line(*spans)


def _in_the_end(scan: ScanSnapshot) -> str:
    """The shape with what fills it up."""
    if scan.length is None or scan.length <= scan.count or not scan.count:
        return ""
    shape = list(scan.shape)
    shape[scan.axis] = scan.length
    return f" of [{','.join(map(str, shape))}]"


def _last(scan: ScanSnapshot) -> Span:
    if not scan.tail or scan.tail[-1].size != 1:
        return ("", Role.PLAIN)
    return (f"  last {short_value(scan.tail[-1], 16)}", Role.PLAIN)


def _picture(scan: ScanSnapshot, width: int, height: int) -> list[Line]:
    """All that was collected; the newest elements where only those are known."""
    if scan.picks and scan.tail:
        return _indices(scan, width, height)
    few = _is_chart(scan)
    room = height - 1 if height > 1 else height
    found = picture(scan, width, min(room, _HIGHEST) if few else room)
    if found is None:
        return _newest(scan, width, height)
    drawn = [line((label, Role.DIM), *spans) for label, spans in zip(found.labels, found.rows, strict=True)]
    return [line((fit(found.note, width), Role.DIM)), *drawn] if height > 1 else drawn


def _indices(scan: ScanSnapshot, width: int, height: int) -> list[Line]:
    """Numbers that pick something, as such: the newest ones, as far as there is room."""
    first = scan.count - len(scan.tail)
    if _is_chart(scan):
        told = " ".join(str(element.item()) for element in scan.tail)
        rows = textwrap.wrap(f"… {told}" if first else told, width)
        room = height - 1 if height > 1 else height
        if len(rows) > room:
            rows = rows[-room:]
            rows[0] = f"…{rows[0][1:]}"
        drawn = [line((row, Role.VALUE)) for row in rows]
    else:
        label = len(str(scan.count - 1)) + 1
        shown = list(enumerate(scan.tail, first))[1 - height if height > 1 else -1 :]
        drawn = [
            line((f"{k:>{label - 1}} ", Role.DIM), (fit(_numbers(element), width - label), Role.VALUE))
            for k, element in shown
        ]
    return [line(("indices, the newest ones last", Role.DIM)), *drawn] if height > 1 else drawn


def _numbers(element: Any) -> str:
    return " ".join(map(str, tensor_of(element).flat(0, _INDICES).tolist()))


def _newest(scan: ScanSnapshot, width: int, height: int) -> list[Line]:
    if not scan.tail or scan.tail[-1].dtype.kind in "OUST":
        return []
    if all(element.size == 1 for element in scan.tail):
        return [line(*odd_apart(sparkline([number_of(element) for element in scan.tail], width)))]
    rows = scan.tail[-height:]
    label = len(str(scan.count - 1)) + 1
    start = scan.count - len(rows)
    return [line((f"{start + k:>{label - 1}} ", Role.DIM), *row) for k, row in enumerate(heat(rows, width - label))]
