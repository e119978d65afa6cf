"""What the scan outputs have collected: their growing shape, the newest element, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len

from ...debugger.session.snapshot import ScanSnapshot
from ...debugger.words.names import quote
from ..screen.cells import short_value
from ..screen.collected import picture
from ..screen.layout import ALL, Need
from ..screen.lines import Line, Role, Span, fit, line
from ..screen.plots import heat, number_of
from ..screen.targets import Of, ValueTarget
from ..screen.text import printable, sparkline, type_text
from ..screen.view import Shown
from .pane import Pane

#: A chart of scalars is not higher than this.
_HIGHEST = 8


class Scans(Pane):
    """Two lines or more for each scan output."""

    def __init__(self, id: str) -> None:
        super().__init__("Scan outputs", id)

    def need(self, shown: Shown) -> Need | None:
        around = any(view.frame.scans for view in shown.view.frames[1 : shown.depth or 0])
        return Need(2, ALL) if shown.frame.frame.scans or around else None

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        around = _around(shown, width)
        if not frame.scans:
            return around or [line(("none", Role.DIM))]
        each = (height - len(frame.scans)) // len(frame.scans)
        lines: list[Line] = []
        for scan in frame.scans:
            facts = _facts(scan, frame.trip_count, width)
            lines.append(replace(facts, target=ValueTarget(scan.name, shown.depth, Of.SCAN)))
            lines += _picture(scan, width, max(1, min(each, 64)))
        return lines + around


def _around(shown: Shown, width: int) -> list[Line]:
    """A line for each scan output of the loops around, which go on collecting."""
    depth = shown.depth or 0
    outer = [view.frame for view in reversed(shown.view.frames[1:depth])]
    return [
        _facts(scan, frame.trip_count, width, f"  of loop '{printable(frame.name)}'")
        for frame in outer
        for scan in frame.scans
    ]


def _facts(scan: ScanSnapshot, trip_count: int | None, width: int, whose: str = "") -> Line:
    """``xs  f32 [4]  4 so far  last 1.4142157  stacked on axis 0``; the end is left out where there is no room.
    ``whose``: the loop that it is of, where that is another than the one shown."""
    how = "stacked on" if scan.stack else "concatenated along"
    reverse = ", newest first" if scan.reverse else ""
    spans = [
        # Which way it grows is seen at every width.
        (f"{quote(scan.name)}{' ←' if scan.reverse else ''}", Role.NAME),
        (f"  {type_text(scan.dtype, scan.shape)}{_in_the_end(scan)}", Role.VALUE),
        (f"  {scan.count} of {trip_count}" if trip_count is not None else f"  {scan.count} so far", Role.PLAIN),
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
    few = bool(scan.tail) and scan.tail[-1].size == 1
    room = height - 1 if height > 1 else height
    found = picture(scan, width, min(room, _HIGHEST) if few else room)
    if found is None:
        return _newest(scan, width, height)
    drawn = [line((label, Role.DIM), (text, Role.PLOT)) for label, text in zip(found.labels, found.lines, strict=True)]
    return [line((fit(found.note, width), Role.DIM)), *drawn] if height > 1 else drawn


def _newest(scan: ScanSnapshot, width: int, height: int) -> list[Line]:
    if not scan.tail or scan.tail[-1].dtype.kind in "OUST":
        return []
    if all(element.size == 1 for element in scan.tail):
        return [line((sparkline([number_of(element) for element in scan.tail], width), Role.PLOT))]
    rows = scan.tail[-height:]
    label = len(str(scan.count - 1)) + 1
    start = scan.count - len(rows)
    return [
        line((f"{start + k:>{label - 1}} ", Role.DIM), (row, Role.PLOT))
        for k, row in enumerate(heat(rows, width - label))
    ]
