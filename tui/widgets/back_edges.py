"""What every back edge carries: what the iteration got, what it yields, and how it went so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...debugger.words.names import named
from ...runtime.frame import CarriedValue
from ...runtime.graph import Value
from ..screen.cells import NOT_YET, SET, norm_value, type_of
from ..screen.layout import Need
from ..screen.lines import Column, Line, Role, Span, line, table
from ..screen.targets import Of, ValueTarget
from ..screen.text import delta_text, sparkline
from ..screen.view import Shown, numbers
from .pane import Pane

_COLUMNS = (
    Column("name", 4),
    Column("type", 6, rank=2),
    Column("previous", 7),
    Column("", 1, gap=1),
    Column("new", 7, gap=1),
    Column("Δ", 6, rank=1),
)
#: Shown where there is room for it and for a history.
_FROM = Column("from")
#: The history is shown where at least so many cells are left, and in at most so many.
_LEAST, _MOST = 4, 48


class BackEdges(Pane):
    """One row for each back edge."""

    def __init__(self, id: str) -> None:
        super().__init__("Back edges", id)

    def need(self, shown: Shown) -> Need | None:
        return Need(2, 1 + len(shown.frame.frame.back_edges))

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        self.set_title("Back edges", _whose(shown))
        if frame.loop is None:
            text = "no loop runs here" if shown.has_loops else "this model has no loop: n runs it node by node"
            return [line((text, Role.DIM))]
        if not frame.back_edges:
            return [line(("this loop carries nothing from iteration to iteration", Role.DIM))]
        room = max(8, min(36, (width - 28) // 2))
        first = frame.at_boundary and not frame.iteration
        rows = [
            _row(edge, room, first, _called(port.param, shown), named(port.result))
            for edge, port in zip(frame.back_edges, frame.loop.back_edges, strict=True)
        ]
        targets = [
            ValueTarget(edge.param, shown.depth, Of.CARRIED, port.param)
            for edge, port in zip(frame.back_edges, frame.loop.back_edges, strict=True)
        ]
        lines = table((*_COLUMNS, _FROM), rows, width, targets=targets)
        if max(len(x.text.rstrip()) for x in lines) > width - 12:
            lines = table(_COLUMNS, [row[:-1] for row in rows], width, targets=targets)
        return _with_history(lines, shown, width)


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


def _row(edge: CarriedValue, room: int, first: bool, param: str, result: str) -> list[Span]:
    def told(value: Any, there: bool, role: Role) -> Span:
        return (norm_value(value, room), role) if there else (NOT_YET, Role.DIM)

    newest = edge.value if edge.ready and edge.value is not None else edge.previous
    delta = delta_text(edge.previous, edge.value) if edge.ready and not first else ""
    return [
        (param, Role.NAME),
        (type_of(newest, edge.type), Role.DIM),
        told(edge.previous, not first, Role.PLAIN),
        ("→", Role.DIM),
        told(edge.value, edge.ready, Role.VALUE),
        (delta, Role.PLAIN),
        (result, Role.DIM),
    ]


def _with_history(lines: list[Line], shown: Shown, width: int) -> list[Line]:
    used = max(len(x.text) for x in lines) + 2
    room = min(width - used, _MOST)
    history = shown.frame.history
    if room < _LEAST or not history:
        return lines
    titled = [line(*lines[0].spans, ("  " + ("history" if room >= len("history") else "hist"), Role.DIM))]
    for k, row in enumerate(lines[1:]):
        spark = ("  " + sparkline(numbers(history, k), room), Role.PLOT)
        titled.append(line(*row.spans, spark, target=row.target))
    return titled
