"""What every back edge carries: what the iteration got, what it yields, and how it went so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...debugger.statistics.history import History, is_exact
from ...debugger.statistics.tensor import tensor_of
from ...debugger.words.names import named, quote
from ...runtime.frame import CarriedValue
from ...runtime.graph import Loop, TensorType, Value
from ...runtime.graph.picks import picks
from ..screen.cells import NOT_YET, SET, Summary, norm_value, short_value, type_of, valued
from ..screen.evolution import band, flat_note, is_flat, iterations_a_cell, spark
from ..screen.layout import LINE, Need
from ..screen.lines import Column, Line, Role, Span, Table, Widest, cells_of, fit, line
from ..screen.plots import odd_apart
from ..screen.sequence import is_lazy, recurrence
from ..screen.targets import Of, ValueTarget
from ..screen.text import delta_text, number_text
from ..screen.view import Shown
from .pane import Pane

_COLUMNS = (
    Column("name", 14, names=True),
    Column("type", 12, rank=2),
    Column("previous", 9),
    Column("", 1, gap=1),
    Column("new", 9, gap=1),
    Column("Δ", 6, rank=1),
)
#: Shown where there is room for it and for a history.
_FROM = Column("from", names=True)
#: The history is shown where at least so many cells are left, and in at most so many.
_LEAST, _MOST = 4, 48
#: The ends of a history stand beside it where so many cells are left of it.
_BARS, _ENDS = 12, "from..to"
#: With less than so many cells for it values are written short.
_WELL, _SHORT, _SCALAR = 8, 12, 14
#: Of many indices so many are shown.
_SHOWN = 3


class BackEdges(Pane):
    """One row for each back edge."""

    def __init__(self, id: str) -> None:
        super().__init__("Back edges", id)
        self._widest = Widest()

    def need(self, shown: Shown) -> Need | None:
        if not shown.has_loops:
            return None
        frame = shown.frame.frame
        if not frame.back_edges:
            return LINE
        notes = _notes([frame.history.get(edge.param) for edge in frame.back_edges], frame.back_edges)
        each = 2 if is_lazy(shown.frame.frame) else 1
        return Need(2, 1 + each * len(frame.back_edges) + bool(notes))

    def brief(self, shown: Shown) -> Sequence[Span]:
        frame = shown.frame.frame
        if frame.loop is None or not frame.back_edges:
            return [(_why_none(shown), Role.DIM)]
        first, indices = frame.at_boundary and not frame.iteration, picks(frame.loop)
        told: list[Span] = []
        for edge, port in zip(frame.back_edges, frame.loop.back_edges, strict=True):
            called, index = _called(port.param, shown), port.param in indices
            name, _, old, _, new, delta, _ = _row(edge, (_SHORT, _SHORT), first, called, "", index)
            told += [name, (" ", Role.PLAIN), *([old, (" → ", Role.DIM)] if new[0] == NOT_YET else ()), new]
            told.append((f" {delta[0]}   ", delta[1]))
        return told

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        if frame.loop is None or not frame.back_edges:
            self.set_title("Back edges", _whose(shown))
            return [line((_why_none(shown), Role.DIM))]
        room = max(8, min(36, (width - 28) // 2))
        rows = self._table(shown, frame.loop, width, room, room)
        if any(map(len, frame.history.values())) and rows.used > width - 2 - _WELL:
            # How it went tells more than many digits.
            short = self._table(shown, frame.loop, width, min(room, _SHORT), min(room, _SCALAR))
            rows = short if short.used <= width - 2 - _LEAST else rows
        lines = self._with_history(rows.lines(_targets(shown, frame.loop)), shown, width, height)
        return _with_sequences(lines, shown, width, height) if is_lazy(shown.frame.frame) else lines

    def _table(self, shown: Shown, loop: Loop, width: int, room: int, single: int) -> Table:
        """A row for each, its values in at most so many cells, single numbers in ``single``: they keep digits."""
        frame = shown.frame.frame
        first, indices = frame.at_boundary and not frame.iteration, picks(loop)
        rows = [
            _row(edge, (room, single), first, _called(port.param, shown), named(port.result), port.param in indices)
            for edge, port in zip(frame.back_edges, loop.back_edges, strict=True)
        ]
        key = (frame.path, width, room, single)
        whole = Table((*_COLUMNS, _FROM), rows, width, sizes=self._widest.of(*key))
        if whole.used <= width - 12:
            return whole
        return Table(_COLUMNS, [row[:-1] for row in rows], width, sizes=self._widest.of(*key, "narrow"))

    def _with_history(self, lines: list[Line], shown: Shown, width: int, height: int) -> list[Line]:
        """Rows with how each value went, where there is room for that; the title says of which iterations."""
        room = min(width - max(cells_of(row.spans) for row in lines) - 2, _MOST)
        edges = shown.frame.frame.back_edges
        histories = [shown.frame.frame.history.get(edge.param) for edge in edges]
        known = [history for history in histories if history is not None and len(history) > 1]
        if room < _LEAST or not known:
            self.set_title("Back edges", _whose(shown))
            return lines
        indices = _indices(shown)
        both = list(zip(histories, edges, strict=True))
        ends = [_ends(history, _dtype(edge), edge.param in indices) for history, edge in both]
        # Bars have no number: from where to where they go stands beside them, where that leaves enough of them.
        (wide,) = self._widest.of(shown.frame.frame.path, width, "ends")([max(len(_ENDS), *map(len, ends))])
        bars = room - wide - 1
        enough = max(len("history"), min(_BARS, max(map(len, known))))
        bars = bars if any(ends) and bars >= enough else room
        self.set_title(_title(known, shown.frame.frame.iteration, bars, width), _whose(shown))
        header = "history" if room >= len("history") else "hist"
        drawn = [
            "" if history is None else _drawn(history, bars, _dtype(edge), edge.param in indices)
            for history, edge in both
        ]
        added = [[(f"  {header:<{bars}}", Role.DIM)], *(odd_apart(f"  {one:<{bars}}") for one in drawn)]
        if bars < room:
            added = [[*spans, (f" {told}", Role.DIM)] for spans, told in zip(added, [_ENDS, *ends], strict=True)]
        rows = zip(lines, added, strict=False)
        titled = [line(*row.spans, *spans, target=row.target) for row, spans in rows]
        notes = _notes(histories, edges)
        return [*titled, line((fit(notes, width), Role.DIM))] if notes and len(titled) < height else titled


def _why_none(shown: Shown) -> str:
    """Why nothing is carried."""
    if shown.frame.frame.loop is not None:
        return "none: nothing is carried from iteration to iteration"
    return "none: no loop runs here" if shown.has_loops else "none: this model has no loop, n runs it node by node"


def _targets(shown: Shown, loop: Loop) -> list[ValueTarget]:
    """What the rows stand for."""
    return [ValueTarget(port.param.name, shown.depth, Of.CARRIED, port.param) for port in loop.back_edges]


def _with_sequences(lines: list[Line], shown: Shown, width: int, height: int) -> list[Line]:
    """Each recurrence as the sequence that it is: below its row, or, without room for that, below all rows."""
    frame = shown.frame.frame
    rows = lines[1 : 1 + len(frame.back_edges)]
    targets = [row.target for row in rows]
    if len(lines) + len(rows) <= height:
        told = [recurrence(frame, edge, width - 2) for edge in frame.back_edges]
        below = [line(f"  {text}", target=target) for text, target in zip(told, targets, strict=True)]
        both = [one for pair in zip(rows, below, strict=True) for one in pair]
        return [lines[0], *both, *lines[1 + len(rows) :]]
    names = [f"{quote(edge.param)} " for edge in frame.back_edges]
    return lines + [
        line((name, Role.NAME), recurrence(frame, edge, width - len(name)), target=target)
        for name, edge, target in zip(names, frame.back_edges, targets, strict=True)
    ]


def _called(param: Value, shown: Shown) -> str:
    return f"{named(param)} {SET}" if param.name in shown.frame.edited else named(param)


def _whose(shown: Shown) -> str:
    frame = shown.frame.frame
    if not frame.back_edges:
        return ""
    if shown.depth is None or frame.stopped_by is not None:
        return f"iteration {frame.iteration - 1} → end" if frame.iteration else "initial values"
    if not frame.at_boundary:
        return f"iteration {frame.iteration} → {frame.iteration + 1}"
    return f"iteration {frame.iteration - 1} → {frame.iteration}" if frame.iteration else "initial values"


def _row(edge: CarriedValue, rooms: tuple[int, int], first: bool, param: str, result: str, index: bool) -> list[Span]:
    def told(value: Any, there: bool, role: Role) -> Span:
        if there and isinstance(value, np.ndarray) and value.size == 1:
            return valued(norm_value(value.reshape(()), rooms[1]), role)
        # How large indices are means nothing, nor how far apart they are.
        write = _newest if index and not isinstance(value, Summary) else norm_value
        return valued(write(value, rooms[0]), role) if there else (NOT_YET, Role.DIM)

    newest = edge.value if edge.ready and edge.value is not None else edge.previous
    # While a long loop runs nobody knows what a tensor was an iteration ago.
    unknown = edge.previous is None and isinstance(edge.type, TensorType)
    there = edge.ready and not first and not isinstance(edge.value, Summary)
    delta = delta_text(edge.previous, edge.value) if there else ""
    if index and delta[:1] in ("+", "-", "±"):
        delta = "another" if "[" not in delta else delta
    return [
        (param, Role.NAME),
        (type_of(newest, edge.type), Role.DIM),
        told(edge.previous, not first and not unknown, Role.DIM),
        ("→", Role.DIM),
        told(edge.value, edge.ready, Role.VALUE),
        (delta, Role.PLAIN),
        (result, Role.DIM),
    ]


def _indices(shown: Shown) -> set[str]:
    """The names of what picks."""
    loop = shown.frame.frame.loop
    return set() if loop is None else {value.name for value in picks(loop)}


def _drawn(history: History, room: int, dtype: str, index: bool) -> str:
    """A history in so many cells; of indices the newest ones as they are."""
    if not index:
        return spark(history, room, dtype)
    if history.is_tensor or history.bucket > 1 or not all(is_exact(number, dtype) for number in history.values):
        return ""
    told = " ".join(f"{number:.0f}" for number in history.values[-room:].tolist() if math.isfinite(number))
    return told if len(told) <= room else f"…{told[len(told) - room + 1 :]}"


def _newest(value: Any, room: int) -> str:
    """The last ones of some indices."""
    tensor = tensor_of(value)
    if tensor.size == 1 or tensor.dtype.kind not in "iu":
        return short_value(value, room)
    last = tensor.flat(max(0, tensor.size - _SHOWN), tensor.size).tolist()
    told = " ".join(map(str, last))
    return told if len(last) == tensor.size and len(told) <= room else fit(f"… {told}", room)


def _ends(history: History | None, dtype: str, index: bool) -> str:
    """From where to where a history goes; nothing where it stays, or has no size."""
    span = None if history is None or index else band(history).span
    if history is None or span is None or is_flat(history, dtype):
        return ""
    return f"{number_text(span[0])}..{number_text(span[1])}"


def _title(known: Sequence[History], last: int, room: int, width: int) -> str:
    """Of which iterations the pictures are, and how many of them a cell has."""
    longest = max(known, key=len)
    many = iterations_a_cell(longest, room)
    cell = f", 1 cell = {many}" if many > 1 else ""
    exact = f"{longest.iterations[0]}–{last}"
    forms = [f"Back edges   every iteration {exact}{cell}", f"Back edges   {exact}{cell}", "Back edges"]
    return next((form for form in forms if len(form) <= width - 4), forms[-1])


def _notes(histories: Sequence[History | None], edges: Sequence[CarriedValue]) -> str:
    """What the pictures leave open: what is flat but moves."""
    notes = []
    for history, edge in zip(histories, edges, strict=True):
        if history is not None and is_flat(history, _dtype(edge)) and (note := flat_note(history)):
            notes.append(f"{quote(history.name)}: {note}")
    return "; ".join(notes)


def _dtype(edge: CarriedValue) -> str:
    newest = edge.value if edge.value is not None else edge.previous
    return str(getattr(newest, "dtype", ""))
