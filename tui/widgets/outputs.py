"""Pane of the model's outputs, after the run has ended."""

from __future__ import annotations

from collections.abc import Sequence

from ...debugger.describe.value_names import quote
from ..render.pane_layout import SpaceRequest
from ..render.stop_view import ScreenState
from ..render.styled_text import Role, Span, StyledLine, TableColumn, styled_line, table_lines
from ..render.targets import ValueKind, ValueTarget
from ..render.value_cells import short_value, value_type_text
from .pane import Pane

_COLUMNS = (TableColumn("name", 4, holds_names=True), TableColumn("type", 6), TableColumn("value", 8))


class OutputsPane(Pane):
    """One row for each output."""

    def __init__(self, id: str) -> None:
        super().__init__("Outputs", id)

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        outputs = state.view.stop_state.outputs
        return None if outputs is None else SpaceRequest(1, max(1, len(outputs)))

    def one_line_spans(self, state: ScreenState) -> Sequence[Span]:
        spans: list[Span] = []
        for name, value in state.view.stop_state.outputs or ():
            spans += [(quote(name), Role.NAME), (f" {short_value(value, 16)}   ", Role.VALUE)]
        return spans or [("none", Role.DIM)]

    def build(self, state: ScreenState, width: int, height: int) -> Sequence[StyledLine]:
        outputs = state.view.stop_state.outputs
        self.set_title("Outputs", "r restarts")
        if outputs is None:
            return [styled_line(("the model has not ended yet", Role.DIM))]
        if not outputs:
            return [styled_line(("none", Role.DIM))]
        names = max(len(quote(name)) + len(value_type_text(value)) for name, value in outputs) + 4
        rows: list[list[Span]] = [
            [
                (quote(name), Role.NAME),
                (value_type_text(value), Role.DIM),
                (short_value(value, max(12, width - names)), Role.VALUE),
            ]
            for name, value in outputs
        ]
        return table_lines(
            _COLUMNS, rows, width, header=False, targets=[ValueTarget(name, 0, ValueKind.OUTPUT) for name, _ in outputs]
        )
