"""Pane of the body's inputs: slices, invariants, captures, constants; for the main graph the model's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...debugger.describe.value_names import display_name
from ...debugger.statistics.tensor_statistics import REFERENCE_MIN_BYTES
from ...runtime.graph import Graph, Value, walk
from ..render.pane_layout import ONE_LINE, SpaceRequest
from ..render.stop_view import ScreenState, graph_of_frame
from ..render.styled_text import Role, Span, StyledLine, TableColumn, WidestColumns, styled_line, table_lines
from ..render.targets import ValueTarget
from ..render.value_cells import EDITED_SIGN, NOT_COMPUTED_SIGN, short_value, value_type_text
from .pane import Pane

_COLUMNS = (
    TableColumn("name", 4, holds_names=True),
    TableColumn("type", 6, rank=1),
    TableColumn("value", 8),
    TableColumn("from", 6, rank=2, holds_names=True),
)
_InputRow = tuple[list[Span], ValueTarget]
#: Below this width the value column includes the type.
_FULL_TABLE_MIN_WIDTH = 34
#: Constants of at most this many elements are written inline in the body.
_INLINE_CONSTANT_MAX_ELEMENTS = 3


class InputsPane(Pane):
    """One row for each value; constants that the body shows inline are left out."""

    def __init__(self, id: str) -> None:
        super().__init__("Inputs", id)
        self._column_widths = WidestColumns()

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        loop = state.frame.loop
        ports = (*loop.sliced_inputs, *loop.invariants) if loop is not None else ()
        count = len(ports) + len(_captured_values(state))
        return SpaceRequest(1, count) if count else ONE_LINE

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        spans: list[Span] = []
        for (name, kind, value, _), _ in _input_rows(state, _FULL_TABLE_MIN_WIDTH):
            spans += [name, (" ", Role.PLAIN), value if value[0] != NOT_COMPUTED_SIGN else kind, ("   ", Role.PLAIN)]
        return spans or [("none", Role.DIM)]

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        frame = state.frame
        self.set_title("Inputs of the body" if frame.loop else "Inputs", state.inputs_note)
        rows = _input_rows(state, width)
        if not rows:
            return [styled_line(("none", Role.DIM))]
        cells, targets = [list(row) for row, _ in rows], [target for _, target in rows]
        for row, target in zip(cells, targets, strict=True):
            if target.name in state.edited:
                row[2] = (f"{EDITED_SIGN} {row[2][0]}", row[2][1])
        sizes = self._column_widths.column_sizer(frame.path, width)
        if width < _FULL_TABLE_MIN_WIDTH:
            return table_lines(
                (_COLUMNS[0], _COLUMNS[2]), [[row[0], row[2]] for row in cells], width, False, targets, sizes
            )
        return table_lines(_COLUMNS, cells, width, False, targets, sizes)


def _input_rows(state: ScreenState, width: int) -> list[_InputRow]:
    return [*_sliced_rows(state, width), *_invariant_rows(state, width), *_capture_rows(state, width)]


def _input_row(name: str, value: Any, origin: str, width: int, known: bool = True, dim: bool = False) -> list[Span]:
    role = Role.DIM if dim else Role.PLAIN
    return [
        (name, role if dim else Role.NAME),
        (value_type_text(value) if known else "", Role.DIM),
        (_value_cell(value, width) if known else NOT_COMPUTED_SIGN, role),
        (origin, Role.DIM),
    ]


def _value_cell(value: Any, width: int) -> str:
    if width < _FULL_TABLE_MIN_WIDTH:
        return short_value(value, max(10, width * 3 // 5))
    return short_value(value, max(12, width * 2 // 5), shape=False)


def _sliced_rows(state: ScreenState, width: int) -> Iterator[_InputRow]:
    """The outer tensors that the loop slices, and the slice index of this iteration, or at a boundary the next."""
    frame = state.frame
    outer_depth = state.depth - 1 if state.depth else len(state.view.frames) - 1
    outer_values = state.view.frames[outer_depth].values
    for sliced in frame.loop.sliced_inputs if frame.loop is not None else ():
        outer = outer_values.get(sliced.outer.name, sliced.outer.constant)
        part = "all parts read" if frame.stopped_by is not None else f"part {frame.iteration}"
        kind = value_type_text(outer, sliced.outer.type)
        row = [(display_name(sliced.outer), Role.NAME), (kind, Role.DIM), (part, Role.VALUE), ("sliced", Role.DIM)]
        yield row, ValueTarget(sliced.outer.name, outer_depth, graph_value=sliced.outer)


def _invariant_rows(state: ScreenState, width: int) -> Iterator[_InputRow]:
    loop = state.frame.loop
    values = state.frame.values
    for port in loop.invariants if loop is not None else ():
        name = port.inner.name
        row = _input_row(display_name(port.inner), values.get(name), display_name(port.outer), width, name in values)
        yield row, ValueTarget(name, state.depth, graph_value=port.inner)


@lru_cache(maxsize=16)
def _values_read_by_nodes(graph: Graph) -> Mapping[str, Value]:
    """The values that the nodes of a body read, by name."""
    return {value.name: value for node in walk(graph) for value in node.inputs if value}


def _captured_values(state: ScreenState) -> list[tuple[Value, Any]]:
    """The captured values: computed ones first, then constants too large to be inline."""
    frame = state.frame
    values = _values_read_by_nodes(graph_of_frame(frame, state.main_graph))
    captures = [(values[name], value) for name, value in frame.captures]
    computed = [(declared, value) for declared, value in captures if declared.constant is None]
    return computed + [
        (declared, value) for declared, value in captures if declared.constant is not None and _is_large(value)
    ]


def _is_large(value: Any) -> bool:
    return not hasattr(value, "size") or value.size > _INLINE_CONSTANT_MAX_ELEMENTS


def _capture_rows(state: ScreenState, width: int) -> Iterator[_InputRow]:
    origin = "captured" if state.frame.loop else ""
    for declared, value in _captured_values(state):
        constant = declared.constant is not None
        if (
            constant
            and isinstance(value, np.ndarray)
            and value.nbytes < REFERENCE_MIN_BYTES
            and not value.dtype.hasobject
        ):
            row = _constant_row(declared, width, value.dtype, value.shape, value.tobytes())
        else:
            row = _input_row(display_name(declared), value, "constant" if constant else origin, width, dim=constant)
        yield row, ValueTarget(declared.name, state.depth, graph_value=declared)


@lru_cache(maxsize=256)
def _constant_row(
    declared: Value, width: int, dtype: np.dtype[Any], shape: tuple[int, ...], content: bytes
) -> list[Span]:
    """The cached row of a small constant, keyed by its content."""
    return _input_row(display_name(declared), np.frombuffer(content, dtype).reshape(shape), "constant", width, dim=True)
