"""A page's view of a stop: plain data from its state and the pseudo-code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.frame import CarriedValue
from ...describe.frame_text import back_edge_labels, declared_trip_count, no_limit_reason, position_text
from ...describe.listing import Listing, ListingRow
from ...describe.pseudo_code import LineKind
from ...describe.value_names import display_name
from ...frame_state import FrameState, ScanState
from ...session.session import Session
from ...session.stop_state import BranchState, StopState
from ...statistics.value_history import Evolution
from ...value_json import json_number
from ...value_text import value_text
from ..sanitize import MultilineText
from .html_repr import type_text

#: Number of displayed lines before and after the next one.
CONTEXT_LINES = 150
#: Width of the text of a value in a row, and in a hover text.
_ROW_WIDTH_CHARS, _HOVER_WIDTH_CHARS = 48, 1000
#: Maximum number of points of a history.
_MAX_HISTORY_POINTS = 300
#: Larger trip counts are no estimate of the loop's length.
_MAX_SHOWN_TRIP_COUNT = 1 << 31


class NotebookStopView:
    """One stop; valid until the session moves."""

    def __init__(self, session: Session, stop_state: StopState) -> None:
        self.session, self.stop_state = session, stop_state
        self.frame: FrameState = stop_state.frame
        source, marked = session.controller.symbols.pseudo_code, session.breakpoints.nodes_with_breakpoints()
        self.listing: Listing = self.frame.listing(source, running=not stop_state.done, breakpoints=marked)

    def as_json(self) -> dict[str, Any]:
        """The view as JSON data."""
        frame, stop = self.frame, self.stop_state.stop
        return {
            "model": self.stop_state.model,
            "stop": stop.text,
            "reason": stop.reason.value,
            "done": self.stop_state.done,
            "frames": [entry.name for entry in self.stop_state.frames],
            "where": f"{frame.path}, {position_text(frame)}" if frame.loop is not None else frame.path,
            "lines": list(self._line_entries()),
            "carried": list(map(self._carried_entry, frame.back_edges)),
            "whose": list(back_edge_labels(frame)) if frame.loop is not None else ["", ""],
            "condition": self._condition_entry(),
            "scans": list(map(_scan_entry, frame.scans)),
            "timeline": self._timeline_entry(),
            "outputs": [
                {"name": name, "type": type_text(value), "value": value_text(value, _ROW_WIDTH_CHARS)}
                for name, value in self.stop_state.outputs or ()
            ],
            "breakpoints": [
                {
                    "number": entry.number,
                    "word": entry.kind_name,
                    "title": entry.title,
                    "enabled": entry.enabled,
                    "hits": entry.hits,
                }
                for entry in self.stop_state.breakpoints
            ],
        }

    # -- the text

    def _line_entries(self) -> Iterator[dict[str, Any]]:
        rows = range(len(self.listing))
        next_index = self.listing.next_index or 0
        rows = rows[max(0, next_index - CONTEXT_LINES) : next_index + CONTEXT_LINES + 1]
        for k in rows:
            row = self.listing.row(k)
            line = row.line
            yield {
                "number": line.number,
                "indent": line.indent,
                "text": line.text,
                "comment": line.comment,
                "kind": line.kind.value,
                "sign": row.sign.strip(),
                "value": row.value(_ROW_WIDTH_CHARS),
                "own": line.loop is self.frame.loop,
                "loop": line.kind is LineKind.LOOP and line.node is self.frame.loop,
            }

    def hover_text(self, number: int) -> MultilineText:
        """The hover text of a line: types and values of its assignments; empty for an invalid line."""
        index = number - self.listing.source.lines[0].number
        if not 0 <= index < len(self.listing):
            return MultilineText()
        row: ListingRow = self.listing.row(index)
        names = [display_name(value) for value in row.line.values]
        pairs = zip(names, row.values, strict=False) if len(row.values) == len(names) else ()
        return MultilineText(
            line
            for name, value in pairs
            for line in (f"{name}: {type_text(value)}", value_text(value, _HOVER_WIDTH_CHARS))
        )

    # -- the loop

    def _carried_entry(self, edge: CarriedValue) -> dict[str, Any]:
        return {
            "param": edge.param,
            "result": edge.result,
            "type": type_text(edge.value if edge.ready else edge.previous),
            "previous": "" if edge.previous is None else value_text(edge.previous, _ROW_WIDTH_CHARS),
            "value": value_text(edge.value, _ROW_WIDTH_CHARS) if edge.ready else "·",
            "ready": edge.ready,
            "history": _history_points(self.frame.history, edge.param),
        }

    def _condition_entry(self) -> dict[str, Any]:
        """The loop's condition, and its explanation by ``why``."""
        frame = self.session.frame
        if frame.loop is None:
            return {"value": None, "limit": "", "why": "", "whole": ""}
        trips = declared_trip_count(frame)
        try:
            why = self.session.why()
            headline, text = why.headline, str(why)
        except LoopdbgError as error:
            headline = text = str(error)
        limit = f"trip count {trips}" if trips is not None else no_limit_reason(frame)
        return {"value": frame.condition, "limit": limit, "why": headline, "whole": text}

    # -- time

    def _timeline_entry(self) -> dict[str, Any]:
        frame, spans = self.frame, [self._branch_span(b) for b in self.stop_state.branches]
        if frame.loop is None:
            return {"now": None, "last": 0, "end": 0, "limit": None, "branches": []}
        last = max([frame.iteration, *(span["last"] for span in spans if span["current"])])
        limit = frame.trip_count if frame.trip_count is not None and frame.trip_count < _MAX_SHOWN_TRIP_COUNT else None
        margin = 0 if frame.stopped_by is not None else max(1, last // 8)
        end = max(1, last + margin if limit is None else max(last, limit))
        return {"now": frame.iteration, "last": last, "end": end, "limit": limit, "branches": spans}

    def _branch_span(self, branch: BranchState) -> dict[str, Any]:
        """A branch with its last iteration in this entry of the loop."""
        position = self.stop_state.position
        depth = 2 * len(self.frame.entry)
        # A position has pairs of loop and iteration for the enclosing loops, then for this one.
        in_entry = len(branch.tip) > depth + 1 and branch.tip[: depth + 1] == position[: depth + 1]
        last = branch.tip[depth + 1] if in_entry else self.frame.iteration
        return {
            "number": branch.number,
            "edits": list(branch.edits),
            "current": branch.current,
            "last": int(last),
        }


def _scan_entry(scan: ScanState) -> dict[str, Any]:
    tail: Sequence[Any] = scan.tail
    numbers = [_plotted_number(value) for value in tail if np.size(value) == 1]
    return {
        "name": scan.name,
        "type": f"{scan.dtype} {list(scan.shape)}",
        "count": scan.count,
        "last": value_text(tail[-1], _ROW_WIDTH_CHARS) if tail else "",
        "history": numbers if len(numbers) == len(tail) else [],
    }


def _history_points(evolution: Evolution, name: str) -> list[float | None]:
    """The subsampled history of a carried value; None for non-finite numbers."""
    history = evolution.get(name)
    if history is None:
        return []
    values = history.values
    step = -(-len(values) // _MAX_HISTORY_POINTS) or 1
    return [json_number(value) for value in values[::step]]


def _plotted_number(value: Any) -> float | None:
    array = np.asarray(value)
    return json_number(array.item()) if array.dtype.kind in "biuf" else None
