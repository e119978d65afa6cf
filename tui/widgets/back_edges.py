"""Pane of the back edges: the previous and the new carried value of each, and its history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...debugger.describe.value_names import display_name, quote
from ...debugger.statistics.tensor_statistics import as_tensor_ref
from ...debugger.statistics.value_history import ValueHistory, is_exact
from ...runtime.frame import CarriedValue
from ...runtime.graph import Loop, TensorType, Value
from ..render.formatting import delta_text, number_text
from ..render.history_plots import draw_history, flat_note, history_band, is_flat, iterations_per_cell
from ..render.pane_layout import ONE_LINE, SpaceRequest
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
from ..render.tensorrt_recurrences import has_lazy_sequences, recurrence_elements_text
from ..render.text_plots import split_non_finite
from ..render.value_cells import (
    EDITED_SIGN,
    NOT_COMPUTED_SIGN,
    LiveTensorSummary,
    short_value,
    short_value_with_norm,
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
#: Shown where the pane is wide enough for it and a history.
_RESULT_COLUMN = TableColumn("from", holds_names=True)
#: Bounds of the history column's width; below the minimum it is hidden.
_HISTORY_MIN_CELLS, _HISTORY_MAX_CELLS = 4, 48
#: The range of a history is written next to its bars where they keep this many cells.
_BARS_MIN_CELLS, _RANGE_HEADER = 12, "from..to"
#: Values are abbreviated where the history would have fewer cells than this.
_HISTORY_PREFERRED_CELLS, _SHORT_VALUE_CELLS, _SHORT_SCALAR_CELLS = 8, 12, 14
#: The number of indices shown of a longer tensor.
_SHOWN_INDICES_MAX = 3


class BackEdgesPane(Pane):
    """One row for each back edge."""

    def __init__(self, id: str) -> None:
        super().__init__("Back edges", id)
        self._column_widths = WidestColumns()

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        if not state.has_loops:
            return None
        frame = state.frame
        if not frame.back_edges:
            return ONE_LINE
        notes = _flat_history_notes([frame.history.get(edge.param) for edge in frame.back_edges], frame.back_edges)
        rows_per_edge = 2 if has_lazy_sequences(state.frame) else 1
        return SpaceRequest(2, 1 + rows_per_edge * len(frame.back_edges) + bool(notes))

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        frame = state.frame
        if frame.loop is None or not frame.back_edges:
            return [(_empty_reason(state), Role.DIM)]
        is_initial, indices = frame.at_boundary and not frame.iteration, frame.index_values
        spans: list[Span] = []
        for edge, port in zip(frame.back_edges, frame.loop.back_edges, strict=True):
            param, index = _param_text(port.param, state), port.param in indices
            name, _, old, _, new, delta, _ = _edge_row(
                edge, (_SHORT_VALUE_CELLS, _SHORT_VALUE_CELLS), is_initial, param, "", index
            )
            spans += [name, (" ", Role.PLAIN), *([old, (" → ", Role.DIM)] if new[0] == NOT_COMPUTED_SIGN else ()), new]
            spans.append((f" {delta[0]}   ", delta[1]))
        return spans

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        if frame.loop is None or not frame.back_edges:
            self.set_title("Back edges", _iterations_text(state))
            return [styled_line((_empty_reason(state), Role.DIM))]
        cells = max(8, min(36, (width - 28) // 2))
        table = self._back_edge_table(state, frame.loop, width, cells, cells)
        if any(map(len, frame.history.values())) and table.used_width > width - 2 - _HISTORY_PREFERRED_CELLS:
            # Trade digits for a wider history.
            short = self._back_edge_table(
                state, frame.loop, width, min(cells, _SHORT_VALUE_CELLS), min(cells, _SHORT_SCALAR_CELLS)
            )
            table = short if short.used_width <= width - 2 - _HISTORY_MIN_CELLS else table
        lines = self._append_history(table.lines(_row_targets(state, frame.loop)), state, width, height)
        return _append_sequences(lines, state, width, height) if has_lazy_sequences(state.frame) else lines

    def _back_edge_table(self, state: ScreenState, loop: Loop, width: int, cells: int, scalar: int) -> TextTable:
        """A row for each back edge; ``cells`` bounds the width of its values, ``scalar`` that of scalars."""
        frame = state.frame
        is_initial, indices = frame.at_boundary and not frame.iteration, frame.index_values
        rows = [
            _edge_row(
                edge,
                (cells, scalar),
                is_initial,
                _param_text(port.param, state),
                display_name(port.result),
                port.param in indices,
            )
            for edge, port in zip(frame.back_edges, loop.back_edges, strict=True)
        ]
        key = (frame.path, width, cells, scalar)
        table = TextTable((*_COLUMNS, _RESULT_COLUMN), rows, width, sizes=self._column_widths.column_sizer(*key))
        if table.used_width <= width - 12:
            return table
        return TextTable(
            _COLUMNS, [row[:-1] for row in rows], width, sizes=self._column_widths.column_sizer(*key, "narrow")
        )

    def _append_history(self, lines: list[StyledLine], state: ScreenState, width: int, height: int) -> list[StyledLine]:
        """Append the history column where it fits; the title names the iterations."""
        cells = min(width - max(spans_width(row.spans) for row in lines) - 2, _HISTORY_MAX_CELLS)
        edges = state.frame.back_edges
        histories = [state.frame.history.get(edge.param) for edge in edges]
        available = [history for history in histories if history is not None and len(history) > 1]
        if cells < _HISTORY_MIN_CELLS or not available:
            self.set_title("Back edges", _iterations_text(state))
            return lines
        indices = _carried_index_names(state)
        pairs = list(zip(histories, edges, strict=True))
        ranges = [_range_text(history, _edge_dtype(edge), edge.param in indices) for history, edge in pairs]
        # Bars have no scale: their range is written next to them where enough bar cells remain.
        (range_cells,) = self._column_widths.column_sizer(state.frame.path, width, "ends")(
            [max(len(_RANGE_HEADER), *map(len, ranges))]
        )
        size = cells - range_cells - 1
        min_bar_cells = max(len("history"), min(_BARS_MIN_CELLS, max(map(len, available))))
        size = size if any(ranges) and size >= min_bar_cells else cells
        self.set_title(_history_title(available, state.frame.iteration, size, width), _iterations_text(state))
        header = "history" if cells >= len("history") else "hist"
        bars = [
            "" if history is None else _history_text(history, size, _edge_dtype(edge), edge.param in indices)
            for history, edge in pairs
        ]
        columns = [[(f"  {header:<{size}}", Role.DIM)], *(split_non_finite(f"  {bar:<{size}}") for bar in bars)]
        if size < cells:
            columns = [
                [*spans, (f" {ends}", Role.DIM)] for spans, ends in zip(columns, [_RANGE_HEADER, *ranges], strict=True)
            ]
        rows = zip(lines, columns, strict=False)
        result = [styled_line(*row.spans, *spans, target=row.target) for row, spans in rows]
        notes = _flat_history_notes(histories, edges)
        return [*result, styled_line((truncate(notes, width), Role.DIM))] if notes and len(result) < height else result


def _empty_reason(state: ScreenState) -> str:
    """Why there are no back edges."""
    if state.frame.loop is not None:
        return "none: nothing is carried from iteration to iteration"
    return "none: no loop runs here" if state.has_loops else "none: this model has no loop, n runs it node by node"


def _row_targets(state: ScreenState, loop: Loop) -> list[ValueTarget]:
    """The targets of the rows."""
    return [ValueTarget(port.param.name, state.depth, ValueKind.CARRIED, port.param) for port in loop.back_edges]


def _append_sequences(lines: list[StyledLine], state: ScreenState, width: int, height: int) -> list[StyledLine]:
    """Add the text of each recurrence: below its row where the height suffices, else below all rows."""
    frame = state.frame
    rows = lines[1 : 1 + len(frame.back_edges)]
    targets = [row.target for row in rows]
    if len(lines) + len(rows) <= height:
        texts = [recurrence_elements_text(frame, edge, width - 2) for edge in frame.back_edges]
        sequences = [styled_line(f"  {text}", target=target) for text, target in zip(texts, targets, strict=True)]
        pairs = [line for pair in zip(rows, sequences, strict=True) for line in pair]
        return [lines[0], *pairs, *lines[1 + len(rows) :]]
    names = [f"{quote(edge.param)} " for edge in frame.back_edges]
    return lines + [
        styled_line((name, Role.NAME), recurrence_elements_text(frame, edge, width - len(name)), target=target)
        for name, edge, target in zip(names, frame.back_edges, targets, strict=True)
    ]


def _param_text(param: Value, state: ScreenState) -> str:
    return f"{display_name(param)} {EDITED_SIGN}" if param.name in state.edited else display_name(param)


def _iterations_text(state: ScreenState) -> str:
    frame = state.frame
    if not frame.back_edges:
        return ""
    if state.depth is None or frame.stopped_by is not None:
        return f"iteration {frame.iteration - 1} → end" if frame.iteration else "initial values"
    if not frame.at_boundary:
        return f"iteration {frame.iteration} → {frame.iteration + 1}"
    return f"iteration {frame.iteration - 1} → {frame.iteration}" if frame.iteration else "initial values"


def _edge_row(
    edge: CarriedValue, max_cells: tuple[int, int], is_initial: bool, param: str, result: str, index: bool
) -> list[Span]:
    def cell(value: Any, ready: bool, role: Role) -> Span:
        if ready and isinstance(value, np.ndarray) and value.size == 1:
            return value_span(short_value_with_norm(value.reshape(()), max_cells[1]), role)
        # The size of an index carries no meaning, nor does the difference of two.
        write = _last_indices_text if index and not isinstance(value, LiveTensorSummary) else short_value_with_norm
        return value_span(write(value, max_cells[0]), role) if ready else (NOT_COMPUTED_SIGN, Role.DIM)

    newest = edge.value if edge.ready and edge.value is not None else edge.previous
    # During a long run the previous tensor is not kept.
    unknown = edge.previous is None and isinstance(edge.type, TensorType)
    has_delta = edge.ready and not is_initial and not isinstance(edge.value, LiveTensorSummary)
    delta = delta_text(edge.previous, edge.value) if has_delta else ""
    if index and delta[:1] in ("+", "-", "±"):
        delta = "another" if "[" not in delta else delta
    return [
        (param, Role.NAME),
        (value_type_text(newest, edge.type), Role.DIM),
        cell(edge.previous, not is_initial and not unknown, Role.DIM),
        ("→", Role.DIM),
        cell(edge.value, edge.ready, Role.VALUE),
        (delta, Role.PLAIN),
        (result, Role.DIM),
    ]


def _carried_index_names(state: ScreenState) -> set[str]:
    """The names of the carried indices."""
    return {value.name for value in state.frame.index_values}


def _history_text(history: ValueHistory, cells: int, dtype: str, index: bool) -> str:
    """A history in at most ``cells`` cells; indices are written out, newest last."""
    if not index:
        return draw_history(history, cells, dtype)
    if history.is_tensor or history.bucket > 1 or not is_exact(history.values, dtype):
        return ""
    text = " ".join(f"{number:.0f}" for number in history.values[-cells:].tolist() if math.isfinite(number))
    return text if len(text) <= cells else f"…{text[len(text) - cells + 1 :]}"


def _last_indices_text(value: Any, cells: int) -> str:
    """The last indices of a tensor."""
    tensor = as_tensor_ref(value)
    if tensor.size == 1 or tensor.dtype.kind not in "iu":
        return short_value(value, cells)
    indices = tensor.copy_range(max(0, tensor.size - _SHOWN_INDICES_MAX), tensor.size).tolist()
    text = " ".join(map(str, indices))
    return text if len(indices) == tensor.size and len(text) <= cells else truncate(f"… {text}", cells)


def _range_text(history: ValueHistory | None, dtype: str, index: bool) -> str:
    """The range of a history; empty where it is flat or not numeric."""
    bounds = None if history is None or index else history_band(history).bounds
    if history is None or bounds is None or is_flat(history, dtype):
        return ""
    return f"{number_text(bounds[0])}..{number_text(bounds[1])}"


def _history_title(histories: Sequence[ValueHistory], last: int, cells: int, width: int) -> str:
    """The title with the plotted iterations and the number of iterations per cell."""
    longest = max(histories, key=len)
    per_cell = iterations_per_cell(longest, cells)
    scale = f", 1 cell = {per_cell}" if per_cell > 1 else ""
    iterations = f"{longest.iterations[0]}–{last}"
    forms = [f"Back edges   every iteration {iterations}{scale}", f"Back edges   {iterations}{scale}", "Back edges"]
    return next((form for form in forms if len(form) <= width - 4), forms[-1])


def _flat_history_notes(histories: Sequence[ValueHistory | None], edges: Sequence[CarriedValue]) -> str:
    """Notes on histories that are drawn flat but change."""
    notes = []
    for history, edge in zip(histories, edges, strict=True):
        if history is not None and is_flat(history, _edge_dtype(edge)) and (note := flat_note(history)):
            notes.append(f"{quote(history.name)}: {note}")
    return "; ".join(notes)


def _edge_dtype(edge: CarriedValue) -> str:
    newest = edge.value if edge.value is not None else edge.previous
    return str(getattr(newest, "dtype", ""))
