"""A stop as a page shows it: plain data, made of a frozen snapshot and of the one text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.frame import CarriedValue
from ...session.debuggee import Debuggee
from ...session.listed import listing_of
from ...session.snapshot import BranchSnapshot, FrameSnapshot, ScanSnapshot, Snapshot
from ...statistics.history import Evolution
from ...text import value_text
from ...words.listing import Listing, Row
from ...words.moments import given_trip_count, unlimited, when, whose
from ...words.names import named
from ...words.source import LineKind
from ..visible import Lines
from .html import kind_of

#: Of a long body so many lines before and after the next one are shown.
AROUND = 150
#: How wide the text of a value is in a row, and where the pointer rests on it.
_WIDTH, _WHOLE = 48, 1000
#: So many points of a history are drawn.
_POINTS = 300
#: Trip counts above this say nothing about how long a loop will run.
_LIMIT = 1 << 31


class View:
    """One stop. Good until the session moves."""

    def __init__(self, session: Debuggee, snapshot: Snapshot) -> None:
        self.session, self.snapshot = session, snapshot
        self.frame: FrameSnapshot = snapshot.frame
        running = not snapshot.done
        live = next((one for one in (session.frame, *session.frames) if one.index == self.frame.index), session.frame)
        self._live = live
        inside = session._inside
        self.listing: Listing = listing_of(
            inside.places.source, inside.standing(live), session.breakpoints, running=running
        )

    def data(self) -> dict[str, Any]:
        """All of it, as it can be written as JSON."""
        frame, stop = self.frame, self.snapshot.stop
        return {
            "model": self.snapshot.model,
            "stop": stop.text,
            "reason": stop.reason.value,
            "done": self.snapshot.done,
            "frames": [one.name for one in self.snapshot.frames],
            "where": f"{frame.path}, {when(frame)}" if frame.loop is not None else frame.path,
            "lines": list(self._lines()),
            "carried": list(map(self._edge, frame.back_edges)),
            "whose": list(whose(frame)) if frame.loop is not None else ["", ""],
            "condition": self._condition(),
            "scans": list(map(_scan, frame.scans)),
            "timeline": self._timeline(),
            "outputs": [
                {"name": name, "type": kind_of(value), "value": value_text(value, _WIDTH)}
                for name, value in self.snapshot.outputs or ()
            ],
            "breakpoints": [
                {"number": one.number, "word": one.word, "title": one.title, "enabled": one.enabled, "hits": one.hits}
                for one in self.snapshot.breakpoints
            ],
        }

    # -- the text

    def _lines(self) -> Iterator[dict[str, Any]]:
        rows = range(len(self.listing))
        at = self.listing.next or 0
        rows = rows[max(0, at - AROUND) : at + AROUND + 1]
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
                "value": row.value(_WIDTH),
                "own": line.loop is self.frame.loop,
                "loop": line.kind is LineKind.LOOP and line.node is self.frame.loop,
            }

    def value(self, number: int) -> Lines:
        """What is told where the pointer rests on a line: the types and values of what it assigns; nothing of no
        line."""
        index = number - self.listing.source.lines[0].number
        if not 0 <= index < len(self.listing):
            return Lines()
        row: Row = self.listing.row(index)
        names = [named(value) for value in row.line.values]
        told = zip(names, row.values, strict=False) if len(row.values) == len(names) else ()
        return Lines(line for name, value in told for line in (f"{name}: {kind_of(value)}", value_text(value, _WHOLE)))

    # -- the loop

    def _edge(self, edge: CarriedValue) -> dict[str, Any]:
        return {
            "param": edge.param,
            "result": edge.result,
            "type": kind_of(edge.value if edge.ready else edge.previous),
            "previous": "" if edge.previous is None else value_text(edge.previous, _WIDTH),
            "value": value_text(edge.value, _WIDTH) if edge.ready else "·",
            "ready": edge.ready,
            "history": _points(self.frame.history, edge.param),
        }

    def _condition(self) -> dict[str, Any]:
        """What decides whether the loop goes on, as ``why`` tells it."""
        frame = self._live
        if frame.loop is None:
            return {"value": None, "limit": "", "why": "", "whole": ""}
        trips = given_trip_count(frame)
        try:
            why = self.session.why(frame)
            told, whole = why.headline, str(why)
        except LoopdbgError as error:
            told = whole = str(error)
        limit = f"trip count {trips}" if trips is not None else unlimited(frame)
        return {"value": frame.condition, "limit": limit, "why": told, "whole": whole}

    # -- time

    def _timeline(self) -> dict[str, Any]:
        frame, spans = self.frame, [self._span(one) for one in self.snapshot.branches]
        if frame.loop is None:
            return {"now": None, "last": 0, "end": 0, "limit": None, "branches": []}
        last = max([frame.iteration, *(span["last"] for span in spans if span["current"])])
        limit = frame.trip_count if frame.trip_count is not None and frame.trip_count < _LIMIT else None
        ahead = 0 if frame.stopped_by is not None else max(1, last // 8)
        end = max(1, last + ahead if limit is None else max(last, limit))
        return {"now": frame.iteration, "last": last, "end": end, "limit": limit, "branches": spans}

    def _span(self, branch: BranchSnapshot) -> dict[str, Any]:
        """A branch, and how far it came in this entry of the loop."""
        here = self.snapshot.position
        depth = 2 * len(self.frame.entry)
        # A position has the loop and its iteration for each loop around, then for this one.
        same = len(branch.tip) > depth + 1 and branch.tip[: depth + 1] == here[: depth + 1]
        last = branch.tip[depth + 1] if same else self.frame.iteration
        return {
            "number": branch.number,
            "edits": list(branch.edits),
            "current": branch.current,
            "last": int(last),
        }


def _scan(scan: ScanSnapshot) -> dict[str, Any]:
    tail: Sequence[Any] = scan.tail
    numbers = [_number(one) for one in tail if np.size(one) == 1]
    return {
        "name": scan.name,
        "type": f"{scan.dtype} {list(scan.shape)}",
        "count": scan.count,
        "last": value_text(tail[-1], _WIDTH) if tail else "",
        "history": numbers if len(numbers) == len(tail) else [],
    }


def _points(evolution: Evolution, name: str) -> list[float | None]:
    """The history of a carried value, thinned out; None for what is not finite."""
    history = evolution.get(name)
    if history is None:
        return []
    values = history.values
    step = -(-len(values) // _POINTS) or 1
    return [_number(value) for value in values[::step]]


def _number(value: Any) -> float | None:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return None
    number = float(array.reshape(()))
    return number if np.isfinite(number) else None
