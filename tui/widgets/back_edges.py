"""What every back edge carries: what the iteration got, what it yields, and how it went so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...debugger.describe.value_names import display_name, quote
from ...debugger.statistics.tensor_ref import as_tensor_ref
from ...debugger.statistics.value_history import ValueHistory, is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import Loop, TensorType, Value
from ...runtime.graph.index_values import index_values
from ..render.formatting import delta_text, number_text
from ..render.history_plots import draw_history, flat_note, history_band, is_flat, iterations_per_cell
from ..render.pane_layout import ONE_LINE, SpaceRequest
from ..render.recurrences import has_lazy_sequences, recurrence_text
from ..render.stop_view import ScreenState
from ..render.styled_text import (
    Role,
    Span,
    StyledLine,
    TableColumn,
    TextTable,
    WidestColumns,
    spans_width,
    styled_line,
    truncate,
)
from ..render.targets import ValueKind, ValueTarget
from ..render.text_plots import split_non_finite
from ..render.value_cells import (
    EDITED_SIGN,
    NOT_COMPUTED_SIGN,
    TensorSummary,
    norm_value,
    short_value,
    value_span,
    value_type_text,
)
from .pane import Pane

_COLUMNS = (
    TableColumn("name", 14, holds_names=True),
    TableColumn("type", 12, rank=2),
    TableColumn("previous", 9),
    TableColumn("", 1, gap=1),
    TableColumn("new", 9, gap=1),
    TableColumn("Δ", 6, rank=1),
)
#: Shown where there is room for it and for a history.
_RESULT_COLUMN = TableColumn("from", holds_names=True)
#: The history is shown where at least so many cells are left, and in at most so many.
_HISTORY_MIN_CELLS, _HISTORY_MAX_CELLS = 4, 48
#: The ends of a history stand beside it where so many cells are left of it.
_BARS_MIN_CELLS, _RANGE_HEADER = 12, "from..to"
#: With less than so many cells for it values are written short.
_HISTORY_PREFERRED_CELLS, _SHORT_VALUE_CELLS, _SHORT_SCALAR_CELLS = 8, 12, 14
#: Of many indices so many are shown.
_SHOWN_INDICES_MAX = 3


class BackEdgesPane(Pane):
    """One row for each back edge."""

    def __init__(self, id: str) -> None:
        super().__init__("Back edges", id)
        self._column_widths = WidestColumns()

    def space_request(self, shown: ScreenState) -> SpaceRequest | None:
        if not shown.has_loops:
            return None
        frame = shown.frame.frame
        if not frame.back_edges:
            return ONE_LINE
        notes = _flat_notes([frame.history.get(edge.param) for edge in frame.back_edges], frame.back_edges)
        each = 2 if has_lazy_sequences(shown.frame.frame) else 1
        return SpaceRequest(2, 1 + each * len(frame.back_edges) + bool(notes))

    def one_line_spans(self, shown: ScreenState) -> Sequence[Span]:
        frame = shown.frame.frame
        if frame.loop is None or not frame.back_edges:
            return [(_empty_reason(shown), Role.DIM)]
        first, indices = frame.at_boundary and not frame.iteration, index_values(frame.loop)
        told: list[Span] = []
        for edge, port in zip(frame.back_edges, frame.loop.back_edges, strict=True):
            called, index = _param_text(port.param, shown), port.param in indices
            name, _, old, _, new, delta, _ = _edge_row(
                edge, (_SHORT_VALUE_CELLS, _SHORT_VALUE_CELLS), first, called, "", index
            )
            told += [name, (" ", Role.PLAIN), *([old, (" → ", Role.DIM)] if new[0] == NOT_COMPUTED_SIGN else ()), new]
            told.append((f" {delta[0]}   ", delta[1]))
        return told

    def build(self, shown: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = shown.frame.frame
        if frame.loop is None or not frame.back_edges:
            self.set_title("Back edges", _iterations_text(shown))
            return [styled_line((_empty_reason(shown), Role.DIM))]
        room = max(8, min(36, (width - 28) // 2))
        rows = self._table(shown, frame.loop, width, room, room)
        if any(map(len, frame.history.values())) and rows.used_width > width - 2 - _HISTORY_PREFERRED_CELLS:
            # How it went tells more than many digits.
            short = self._table(shown, frame.loop, width, min(room, _SHORT_VALUE_CELLS), min(room, _SHORT_SCALAR_CELLS))
            rows = short if short.used_width <= width - 2 - _HISTORY_MIN_CELLS else rows
        lines = self._append_history(rows.lines(_row_targets(shown, frame.loop)), shown, width, height)
        return _append_sequences(lines, shown, width, height) if has_lazy_sequences(shown.frame.frame) else lines

    def _table(self, shown: ScreenState, loop: Loop, width: int, room: int, single: int) -> TextTable:
        """A row for each, its values in at most so many cells, single numbers in ``single``: they keep digits."""
        frame = shown.frame.frame
        first, indices = frame.at_boundary and not frame.iteration, index_values(loop)
        rows = [
            _edge_row(
                edge,
                (room, single),
                first,
                _param_text(port.param, shown),
                display_name(port.result),
                port.param in indices,
            )
            for edge, port in zip(frame.back_edges, loop.back_edges, strict=True)
        ]
        key = (frame.path, width, room, single)
        whole = TextTable((*_COLUMNS, _RESULT_COLUMN), rows, width, sizes=self._column_widths.sizer_for(*key))
        if whole.used_width <= width - 12:
            return whole
        return TextTable(
            _COLUMNS, [row[:-1] for row in rows], width, sizes=self._column_widths.sizer_for(*key, "narrow")
        )

    def _append_history(self, lines: list[StyledLine], shown: ScreenState, width: int, height: int) -> list[StyledLine]:
        """Rows with how each value went, where there is room for that; the title says of which iterations."""
        room = min(width - max(spans_width(row.spans) for row in lines) - 2, _HISTORY_MAX_CELLS)
        edges = shown.frame.frame.back_edges
        histories = [shown.frame.frame.history.get(edge.param) for edge in edges]
        known = [history for history in histories if history is not None and len(history) > 1]
        if room < _HISTORY_MIN_CELLS or not known:
            self.set_title("Back edges", _iterations_text(shown))
            return lines
        indices = _index_names(shown)
        both = list(zip(histories, edges, strict=True))
        ends = [_range_text(history, _edge_dtype(edge), edge.param in indices) for history, edge in both]
        # Bars have no number: from where to where they go stands beside them, where that leaves enough of them.
        (wide,) = self._column_widths.sizer_for(shown.frame.frame.path, width, "ends")(
            [max(len(_RANGE_HEADER), *map(len, ends))]
        )
        bars = room - wide - 1
        enough = max(len("history"), min(_BARS_MIN_CELLS, max(map(len, known))))
        bars = bars if any(ends) and bars >= enough else room
        self.set_title(_history_title(known, shown.frame.frame.iteration, bars, width), _iterations_text(shown))
        header = "history" if room >= len("history") else "hist"
        drawn = [
            "" if history is None else _history_text(history, bars, _edge_dtype(edge), edge.param in indices)
            for history, edge in both
        ]
        added = [[(f"  {header:<{bars}}", Role.DIM)], *(split_non_finite(f"  {one:<{bars}}") for one in drawn)]
        if bars < room:
            added = [
                [*spans, (f" {told}", Role.DIM)] for spans, told in zip(added, [_RANGE_HEADER, *ends], strict=True)
            ]
        rows = zip(lines, added, strict=False)
        titled = [styled_line(*row.spans, *spans, target=row.target) for row, spans in rows]
        notes = _flat_notes(histories, edges)
        return [*titled, styled_line((truncate(notes, width), Role.DIM))] if notes and len(titled) < height else titled


def _empty_reason(shown: ScreenState) -> str:
    """Why nothing is carried."""
    if shown.frame.frame.loop is not None:
        return "none: nothing is carried from iteration to iteration"
    return "none: no loop runs here" if shown.has_loops else "none: this model has no loop, n runs it node by node"


def _row_targets(shown: ScreenState, loop: Loop) -> list[ValueTarget]:
    """What the rows stand for."""
    return [ValueTarget(port.param.name, shown.depth, ValueKind.CARRIED, port.param) for port in loop.back_edges]


def _append_sequences(lines: list[StyledLine], shown: ScreenState, width: int, height: int) -> list[StyledLine]:
    """Each recurrence as the sequence that it is: below its row, or, without room for that, below all rows."""
    frame = shown.frame.frame
    rows = lines[1 : 1 + len(frame.back_edges)]
    targets = [row.target for row in rows]
    if len(lines) + len(rows) <= height:
        told = [recurrence_text(frame, edge, width - 2) for edge in frame.back_edges]
        below = [styled_line(f"  {text}", target=target) for text, target in zip(told, targets, strict=True)]
        both = [one for pair in zip(rows, below, strict=True) for one in pair]
        return [lines[0], *both, *lines[1 + len(rows) :]]
    names = [f"{quote(edge.param)} " for edge in frame.back_edges]
    return lines + [
        styled_line((name, Role.NAME), recurrence_text(frame, edge, width - len(name)), target=target)
        for name, edge, target in zip(names, frame.back_edges, targets, strict=True)
    ]


def _param_text(param: Value, shown: ScreenState) -> str:
    return f"{display_name(param)} {EDITED_SIGN}" if param.name in shown.frame.edited else display_name(param)


def _iterations_text(shown: ScreenState) -> str:
    frame = shown.frame.frame
    if not frame.back_edges:
        return ""
    if shown.depth is None or frame.stopped_by is not None:
        return f"iteration {frame.iteration - 1} → end" if frame.iteration else "initial values"
    if not frame.at_boundary:
        return f"iteration {frame.iteration} → {frame.iteration + 1}"
    return f"iteration {frame.iteration - 1} → {frame.iteration}" if frame.iteration else "initial values"


def _edge_row(
    edge: CarriedValue, rooms: tuple[int, int], first: bool, param: str, result: str, index: bool
) -> list[Span]:
    def told(value: Any, there: bool, role: Role) -> Span:
        if there and isinstance(value, np.ndarray) and value.size == 1:
            return value_span(norm_value(value.reshape(()), rooms[1]), role)
        # How large indices are means nothing, nor how far apart they are.
        write = _last_indices_text if index and not isinstance(value, TensorSummary) else norm_value
        return value_span(write(value, rooms[0]), role) if there else (NOT_COMPUTED_SIGN, Role.DIM)

    newest = edge.value if edge.ready and edge.value is not None else edge.previous
    # While a long loop runs nobody knows what a tensor was an iteration ago.
    unknown = edge.previous is None and isinstance(edge.type, TensorType)
    there = edge.ready and not first and not isinstance(edge.value, TensorSummary)
    delta = delta_text(edge.previous, edge.value) if there else ""
    if index and delta[:1] in ("+", "-", "±"):
        delta = "another" if "[" not in delta else delta
    return [
        (param, Role.NAME),
        (value_type_text(newest, edge.type), Role.DIM),
        told(edge.previous, not first and not unknown, Role.DIM),
        ("→", Role.DIM),
        told(edge.value, edge.ready, Role.VALUE),
        (delta, Role.PLAIN),
        (result, Role.DIM),
    ]


def _index_names(shown: ScreenState) -> set[str]:
    """The names of what picks."""
    loop = shown.frame.frame.loop
    return set() if loop is None else {value.name for value in index_values(loop)}


def _history_text(history: ValueHistory, room: int, dtype: str, index: bool) -> str:
    """A history in so many cells; of indices the newest ones as they are."""
    if not index:
        return draw_history(history, room, dtype)
    if history.is_tensor or history.bucket > 1 or not all(is_exact(number, dtype) for number in history.values):
        return ""
    told = " ".join(f"{number:.0f}" for number in history.values[-room:].tolist() if math.isfinite(number))
    return told if len(told) <= room else f"…{told[len(told) - room + 1 :]}"


def _last_indices_text(value: Any, room: int) -> str:
    """The last ones of some indices."""
    tensor = as_tensor_ref(value)
    if tensor.size == 1 or tensor.dtype.kind not in "iu":
        return short_value(value, room)
    last = tensor.copy_range(max(0, tensor.size - _SHOWN_INDICES_MAX), tensor.size).tolist()
    told = " ".join(map(str, last))
    return told if len(last) == tensor.size and len(told) <= room else truncate(f"… {told}", room)


def _range_text(history: ValueHistory | None, dtype: str, index: bool) -> str:
    """From where to where a history goes; nothing where it stays, or has no size."""
    span = None if history is None or index else history_band(history).bounds
    if history is None or span is None or is_flat(history, dtype):
        return ""
    return f"{number_text(span[0])}..{number_text(span[1])}"


def _history_title(known: Sequence[ValueHistory], last: int, room: int, width: int) -> str:
    """Of which iterations the pictures are, and how many of them a cell has."""
    longest = max(known, key=len)
    many = iterations_per_cell(longest, room)
    cell = f", 1 cell = {many}" if many > 1 else ""
    exact = f"{longest.iterations[0]}–{last}"
    forms = [f"Back edges   every iteration {exact}{cell}", f"Back edges   {exact}{cell}", "Back edges"]
    return next((form for form in forms if len(form) <= width - 4), forms[-1])


def _flat_notes(histories: Sequence[ValueHistory | None], edges: Sequence[CarriedValue]) -> str:
    """What the pictures leave open: what is flat but moves."""
    notes = []
    for history, edge in zip(histories, edges, strict=True):
        if history is not None and is_flat(history, _edge_dtype(edge)) and (note := flat_note(history)):
            notes.append(f"{quote(history.name)}: {note}")
    return "; ".join(notes)


def _edge_dtype(edge: CarriedValue) -> str:
    newest = edge.value if edge.value is not None else edge.previous
    return str(getattr(newest, "dtype", ""))
