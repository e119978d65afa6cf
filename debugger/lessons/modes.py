"""The modes of loops: the rows of the tables of ONNX's Loop, OpenVINO's Loop-5 and TensorRT's trip limits, which row a
loop is in, and how its limits stand in its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...runtime.graph import System, Value, walk
from ...runtime.graph.origins import Origins
from ...runtime.model import Model
from ..words.endings import LoopKind, carried_condition, ending
from ..words.names import named
from ..words.node_text import Phrases


@dataclass(frozen=True)
class Row:
    """A mode: its place in a system's table, what kind of loop that is, as the table has it, and what ends it."""

    system: System
    kind: LoopKind
    inputs: str
    ends: str

    @property
    def text(self) -> str:
        """``(M, ""), for``."""
        return f"{self.inputs}, {self.word}"

    @property
    def word(self) -> str:
        """What kind of loop it is, in a word or three."""
        return "no end" if self.kind is LoopKind.ENDLESS else self.kind.value


_FOR, _WHILE, _DO = LoopKind.FOR, LoopKind.WHILE, LoopKind.DO_WHILE
_BOTH, _ENDLESS = LoopKind.FOR_WHILE, LoopKind.ENDLESS
NAMES: Mapping[System, str] = {System.ONNX: "ONNX", System.OPENVINO: "OpenVINO", System.TENSORRT: "TensorRT"}
#: What each table is a table of.
TITLES: Mapping[System, str] = {
    System.ONNX: "ONNX's table for Loop, by (M, cond)",
    System.OPENVINO: "OpenVINO's table for Loop-5, by (trip_count, execution_condition)",
    System.TENSORRT: "TensorRT's trip limits",
}
#: Every mode of every table.
ROWS: Sequence[Row] = (
    Row(System.ONNX, _ENDLESS, '("", "")', "nothing ends it; the body's condition is ignored"),
    Row(System.ONNX, _WHILE, '("", cond)', "cond decides about iteration 0, and the body about the others"),
    Row(System.ONNX, _DO, '("", true)', "iteration 0 always runs, and the body decides about the others"),
    Row(System.ONNX, _FOR, '(M, "")', "it runs M iterations; the body's condition is ignored"),
    Row(System.ONNX, _BOTH, "(M, cond)", "it runs M iterations at most, as long as the condition is true"),
    Row(System.OPENVINO, _ENDLESS, "(-1, true), body true", "nothing ends it"),
    Row(System.OPENVINO, _WHILE, "(-1, cond)", "cond decides about iteration 0, and the body about the others"),
    Row(System.OPENVINO, _DO, "(-1, true)", "iteration 0 always runs, and the body decides about the others"),
    Row(System.OPENVINO, _FOR, "(N, true), body true", "it runs N iterations"),
    Row(System.OPENVINO, _BOTH, "(N, cond)", "it runs N iterations at most, as long as the condition is true"),
    Row(System.TENSORRT, _FOR, "kCOUNT", "it runs as many iterations as its number says"),
    Row(System.TENSORRT, _WHILE, "kWHILE", "the condition is tested before every iteration, iteration 0 too"),
    Row(
        System.TENSORRT,
        _DO,
        "kWHILE of a recurrence that begins with true",
        "iteration 0 always runs, and each one decides about the next",
    ),
    Row(System.TENSORRT, _BOTH, "kCOUNT and kWHILE", "the limit that is reached first ends it"),
)


def table(system: System) -> Sequence[Row]:
    """The rows of a system's table, in its order."""
    return [row for row in ROWS if row.system is system]


def row_of(model: Model) -> Row:
    """The row that the first loop of a model is in, as its graph has it.

    Raises:
        StopIteration: the table of its system has no such row, or the loop is counted by its slices.
    """
    loop, origins = model.loops[0].loop, Origins.of(model.graph)
    kind = ending(loop, origins).kind
    edge = carried_condition(loop)
    if kind is _WHILE and edge is not None and isinstance(edge.initial, Value) and origins.scalar(edge.initial):
        kind = _DO
    return next(row for row in table(loop.system) if row.kind is kind and not loop.counted_by_slices)


def limits(model: Model) -> list[str]:
    """What of the first loop of a model stands in its file about its end, in lines and in its system's own words."""
    return _Limits(model).lines()


class _Limits:
    """Reads what ends the first loop of a model off its graph."""

    def __init__(self, model: Model) -> None:
        self.loop = model.loops[0].loop
        self.phrases = Phrases(Origins.of(model.graph))
        self._makers = {value: node for node in walk(model.graph) for value in node.outputs}
        self._makers |= {value: node for node in walk(self.loop.body) for value in node.outputs}

    def lines(self) -> list[str]:
        """One a limit."""
        loop = self.loop
        if loop.system is System.TENSORRT:
            return self._in_tensorrt()
        counts, asks = ("M", "cond") if loop.system is System.ONNX else ("trip_count", "execution_condition")
        return [
            f"{counts}: {self._told(loop.trip_count)}",
            f"{asks}: {self._told(loop.initial_condition)}",
            f"the body yields as its condition: {self._told(loop.condition or loop.ignored_condition)}",
        ]

    def _in_tensorrt(self) -> list[str]:
        loop, edge = self.loop, carried_condition(self.loop)
        told = [] if loop.trip_count is None else [f"add_trip_limit({named(loop.trip_count)}, TripLimit.COUNT)"]
        if edge is not None and isinstance(edge.initial, Value):
            name = named(edge.param)
            told.append(f"{name} = add_recurrence({self._told(edge.initial)})")
            told.append(f"{name}.set_input(1, more), where {self._told(edge.result)}")
            return [*told, f"add_trip_limit({name}, TripLimit.WHILE)"]
        if loop.condition is not None:
            told.append(f"add_trip_limit({named(loop.condition)}, TripLimit.WHILE), where {self._told(loop.condition)}")
        return told

    def _told(self, value: Value | None) -> str:
        """A constant, a name, or a name and what computes it."""
        if value is None:
            return '"" (absent)'
        operand = self.phrases.operand(value, bare=True)
        if self.phrases.constant(value) is not None:
            return operand.lower()
        maker = self._makers.get(value)
        return operand if maker is None else f"{operand} = {self.phrases.expression(maker)}"
