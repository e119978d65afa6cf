"""Pane of the scan outputs: their growing shape, the newest element, and a plot."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len

from ...debugger.describe.value_names import quote
from ...debugger.frame_state import FrameState, ScanState
from ...debugger.statistics.tensor_statistics import as_tensor_ref
from ...runtime.graph import TensorType, Value
from ..render.formatting import escape_unprintable, sparkline, type_text
from ..render.pane_layout import UNLIMITED_LINES, SpaceRequest
from ..render.scan_pictures import draw_scan
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, shorten_name, styled_line, truncate
from ..render.targets import ValueKind, ValueTarget
from ..render.text_plots import heat_strips, representative_number, split_non_finite
from ..render.value_cells import short_value
from .pane import Pane

#: The number of indices written per element, and the lines of scalar indices including the heading.
_WRITTEN_INDICES_MAX, _INDEX_LINES_MAX = 100, 4
#: The maximum height of a chart of scalars.
_CHART_MAX_ROWS = 8
#: The maximum height of a picture of elements.
_PICTURE_MAX_ROWS = 64


class ScansPane(Pane):
    """Two lines or more for each scan output."""

    def __init__(self, id: str) -> None:
        super().__init__("Scan outputs", id)

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        frame, outer = state.frame, _outer_scans(state)
        if not frame.scans and not outer:
            return None
        ports = frame.loop.scan_outputs if frame.loop is not None else ()
        heights = [
            _max_picture_rows(scan, port.result, frame.trip_count)
            for scan, port in zip(frame.scans, ports, strict=True)
        ]
        max_lines = UNLIMITED_LINES if None in heights else len(outer) + sum(1 + (rows or 0) for rows in heights)
        return SpaceRequest(min(2, max_lines), max_lines)

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        frame, spans = state.frame, list[Span]()
        for scan in (*frame.scans, *(scan for _, scan in _outer_scans(state))):
            spans += [(quote(scan.name), Role.NAME), (f" {type_text(scan.dtype, scan.shape)}   ", Role.VALUE)]
        return spans

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        outer_lines = [
            _scan_line(scan, width, f"  of loop '{escape_unprintable(outer.name)}'")
            for outer, scan in _outer_scans(state)
        ]
        if not frame.scans:
            return outer_lines or [styled_line(("none", Role.DIM))]
        lines: list[StyledLine] = []
        for scan, rows in zip(frame.scans, _picture_heights(frame.scans, height - len(frame.scans)), strict=True):
            line = _scan_line(scan, width)
            lines.append(replace(line, target=ValueTarget(scan.name, state.depth, ValueKind.SCAN)))
            lines += _picture_lines(scan, width, max(1, min(rows, _PICTURE_MAX_ROWS)))
        return lines + outer_lines


def _picture_heights(scans: Sequence[ScanState], height: int) -> list[int]:
    """The height of each picture: charts of scalars have a fixed maximum, the others share the rest."""
    share = height // len(scans)
    charts = [
        min(share, _INDEX_LINES_MAX if scan.is_index else _CHART_MAX_ROWS + 1) if _is_scalar_scan(scan) else None
        for scan in scans
    ]
    rest = height - sum(filter(None, charts))
    return [rest // charts.count(None) if rows is None else rows for rows in charts]


def _is_scalar_scan(scan: ScanState) -> bool:
    return bool(scan.tail) and scan.tail[-1].size == 1


def _max_picture_rows(scan: ScanState, element: Value, trip_count: int | None) -> int | None:
    """The maximum rows of a picture, equal at every stop; None: unlimited."""
    shape = element.type.shape if isinstance(element.type, TensorType) else None
    if _is_scalar_scan(scan) or (shape is not None and all(size == 1 for size in shape)):
        return _INDEX_LINES_MAX
    total = scan.length or trip_count
    return None if total is None or total >= _PICTURE_MAX_ROWS else 1 + max(1, total)


def _outer_scans(state: ScreenState) -> list[tuple[FrameState, ScanState]]:
    """The scan outputs of the enclosing loops."""
    outer = list(reversed(state.view.frames[1 : state.depth or 0]))
    return [(frame, scan) for frame in outer for scan in frame.scans]


def _scan_line(scan: ScanState, width: int, owner: str = "") -> StyledLine:
    """``xs  f32 [4]  4 so far  last 1.4142157  stacked on axis 0``, shortened at its end to the width. ``owner``: the
    text on the loop it belongs to, if that is not the one shown."""
    layout = "stacked on" if scan.stack else "concatenated along"
    reverse = ", newest first" if scan.reverse else ""
    spans = [
        # The direction of growth is visible at every width.
        (f"{shorten_name(quote(scan.name), max(8, width // 3))}{' ←' if scan.reverse else ''}", Role.NAME),
        (f"  {type_text(scan.dtype, scan.shape)}{_final_shape_text(scan)}", Role.VALUE),
        (f"  {scan.count} so far", Role.PLAIN),
    ]
    if owner:
        spans = [(text, Role.DIM) for text, _ in spans] + [(owner, Role.DIM)]
    layout_span = (f"  {layout} axis {scan.axis}{reverse}", Role.DIM)
    for suffix in ([_last_element_span(scan), layout_span], [_last_element_span(scan)], [layout_span]):
        extended = [*spans, *(span for span in suffix if span[0])]
        if cell_len(styled_line(*extended).text) <= width:
            return styled_line(*extended)
    return styled_line(*spans)


def _final_shape_text(scan: ScanState) -> str:
    """The final shape, while the output is incomplete."""
    if scan.length is None or scan.length <= scan.count or not scan.count:
        return ""
    shape = list(scan.shape)
    shape[scan.axis] = scan.length
    return f" of [{','.join(map(str, shape))}]"


def _last_element_span(scan: ScanState) -> Span:
    if not scan.tail or scan.tail[-1].size != 1:
        return ("", Role.PLAIN)
    return (f"  last {short_value(scan.tail[-1], 16)}", Role.PLAIN)


def _picture_lines(scan: ScanState, width: int, height: int) -> list[StyledLine]:
    """A picture of all elements, or of the newest ones where only those are kept."""
    if scan.is_index and scan.tail:
        return _index_lines(scan, width, height)
    is_scalar = _is_scalar_scan(scan)
    rows = height - 1 if height > 1 else height
    picture = draw_scan(scan, width, min(rows, _CHART_MAX_ROWS) if is_scalar else rows)
    if picture is None:
        return _newest_element_lines(scan, width, height)
    drawn = [styled_line((label, Role.DIM), *spans) for label, spans in zip(picture.labels, picture.rows, strict=True)]
    return [styled_line((truncate(picture.note, width), Role.DIM)), *drawn] if height > 1 else drawn


def _index_lines(scan: ScanState, width: int, height: int) -> list[StyledLine]:
    """The newest indices as numbers, as many as fit."""
    first = scan.count - len(scan.tail)
    if _is_scalar_scan(scan):
        text = " ".join(str(element.item()) for element in scan.tail)
        rows = textwrap.wrap(f"… {text}" if first else text, width)
        max_rows = height - 1 if height > 1 else height
        if len(rows) > max_rows:
            rows = rows[-max_rows:]
            rows[0] = f"…{rows[0][1:]}"
        drawn = [styled_line((row, Role.VALUE)) for row in rows]
    else:
        label = len(str(scan.count - 1)) + 1
        elements = list(enumerate(scan.tail, first))[1 - height if height > 1 else -1 :]
        drawn = [
            styled_line((f"{k:>{label - 1}} ", Role.DIM), (truncate(_indices_text(element), width - label), Role.VALUE))
            for k, element in elements
        ]
    return [styled_line(("indices, the newest ones last", Role.DIM)), *drawn] if height > 1 else drawn


def _indices_text(element: Any) -> str:
    return " ".join(map(str, as_tensor_ref(element).copy_range(0, _WRITTEN_INDICES_MAX).tolist()))


def _newest_element_lines(scan: ScanState, width: int, height: int) -> list[StyledLine]:
    if not scan.tail or scan.tail[-1].dtype.kind in "OUST":
        return []
    if all(element.size == 1 for element in scan.tail):
        return [
            styled_line(*split_non_finite(sparkline([representative_number(element) for element in scan.tail], width)))
        ]
    rows = scan.tail[-height:]
    label = len(str(scan.count - 1)) + 1
    start = scan.count - len(rows)
    return [
        styled_line((f"{start + k:>{label - 1}} ", Role.DIM), *row)
        for k, row in enumerate(heat_strips(rows, width - label))
    ]
