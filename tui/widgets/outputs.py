"""The model's outputs, once it ran to its end."""

from __future__ import annotations

from collections.abc import Sequence

from ...debugger.words.names import quote
from ..screen.cells import short_value, type_of
from ..screen.layout import Need
from ..screen.lines import Column, Line, Role, Span, line, table
from ..screen.targets import Of, ValueTarget
from ..screen.view import Shown
from .pane import Pane

_COLUMNS = (Column("name", 4, names=True), Column("type", 6), Column("value", 8))


class Outputs(Pane):
    """One row for each output."""

    def __init__(self, id: str) -> None:
        super().__init__("Outputs", id)

    def need(self, shown: Shown) -> Need | None:
        outputs = shown.view.snapshot.outputs
        return None if outputs is None else Need(1, max(1, len(outputs)))

    def brief(self, shown: Shown) -> Sequence[Span]:
        told: list[Span] = []
        for name, value in shown.view.snapshot.outputs or ():
            told += [(quote(name), Role.NAME), (f" {short_value(value, 16)}   ", Role.VALUE)]
        return told or [("none", Role.DIM)]

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        outputs = shown.view.snapshot.outputs
        self.set_title("Outputs", "r restarts")
        if outputs is None:
            return [line(("the model has not ended yet", Role.DIM))]
        if not outputs:
            return [line(("none", Role.DIM))]
        names = max(len(quote(name)) + len(type_of(value)) for name, value in outputs) + 4
        rows: list[list[Span]] = [
            [
                (quote(name), Role.NAME),
                (type_of(value), Role.DIM),
                (short_value(value, max(12, width - names)), Role.VALUE),
            ]
            for name, value in outputs
        ]
        return table(_COLUMNS, rows, width, header=False, targets=[ValueTarget(n, 0, Of.OUTPUT) for n, _ in outputs])
