"""The modes of loops: the rows of the specifications' tables (ONNX Loop, OpenVINO Loop-5, TensorRT trip limits), the
row of a given loop, and the text of its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...runtime.graph import System, Value
from ...runtime.graph.producers import ProducerMap
from ...runtime.model import Model
from ..describe.node_text import NodeFormatter
from ..describe.termination import LoopKind, carried_condition, termination_rule
from ..describe.value_names import display_name


@dataclass(frozen=True)
class LoopMode:
    """A row of a system's table: the kind of loop, the inputs that select it, and what ends it."""

    system: System
    kind: LoopKind
    inputs: str
    ending_text: str

    @property
    def text(self) -> str:
        """``(M, ""), for``."""
        return f"{self.inputs}, {self.kind_text}"

    @property
    def kind_text(self) -> str:
        """The displayed kind of loop."""
        return "no end" if self.kind is LoopKind.ENDLESS else self.kind.value


_FOR, _WHILE, _DO = LoopKind.FOR, LoopKind.WHILE, LoopKind.DO_WHILE
_FOR_WHILE, _ENDLESS = LoopKind.FOR_WHILE, LoopKind.ENDLESS
SYSTEM_NAMES: Mapping[System, str] = {System.ONNX: "ONNX", System.OPENVINO: "OpenVINO", System.TENSORRT: "TensorRT"}
#: The titles of the tables.
TABLE_TITLES: Mapping[System, str] = {
    System.ONNX: "ONNX's table for Loop, by (M, cond)",
    System.OPENVINO: "OpenVINO's table for Loop-5, by (trip_count, execution_condition)",
    System.TENSORRT: "TensorRT's trip limits",
}
#: All rows of all tables.
LOOP_MODES: Sequence[LoopMode] = (
    LoopMode(System.ONNX, _ENDLESS, '("", "")', "nothing ends it; the body's condition is ignored"),
    LoopMode(System.ONNX, _WHILE, '("", cond)', "cond decides about iteration 0, and the body about the others"),
    LoopMode(System.ONNX, _DO, '("", true)', "iteration 0 always runs, and the body decides about the others"),
    LoopMode(System.ONNX, _FOR, '(M, "")', "it runs M iterations; the body's condition is ignored"),
    LoopMode(System.ONNX, _FOR_WHILE, "(M, cond)", "it runs M iterations at most, as long as the condition is true"),
    LoopMode(System.OPENVINO, _ENDLESS, "(-1, true), body true", "nothing ends it"),
    LoopMode(System.OPENVINO, _WHILE, "(-1, cond)", "cond decides about iteration 0, and the body about the others"),
    LoopMode(System.OPENVINO, _DO, "(-1, true)", "iteration 0 always runs, and the body decides about the others"),
    LoopMode(System.OPENVINO, _FOR, "(N, true), body true", "it runs N iterations"),
    LoopMode(
        System.OPENVINO, _FOR_WHILE, "(N, cond)", "it runs N iterations at most, as long as the condition is true"
    ),
    LoopMode(System.TENSORRT, _FOR, "kCOUNT", "it runs as many iterations as its number says"),
    LoopMode(System.TENSORRT, _WHILE, "kWHILE", "the condition is tested before every iteration, iteration 0 too"),
    LoopMode(
        System.TENSORRT,
        _DO,
        "kWHILE of a recurrence that begins with true",
        "iteration 0 always runs, and each one decides about the next",
    ),
    LoopMode(System.TENSORRT, _FOR_WHILE, "kCOUNT and kWHILE", "the limit that is reached first ends it"),
)


def modes_of_system(system: System) -> Sequence[LoopMode]:
    """The rows of a system's table, in order."""
    return [row for row in LOOP_MODES if row.system is system]


def find_loop_mode(model: Model) -> LoopMode:
    """Classify the first loop of a model from its graph.

    Raises:
        StopIteration: no row matches, or the loop is counted by its slices.
    """
    loop, origins = model.loops[0].loop, ProducerMap.for_graph(model.graph)
    kind = termination_rule(loop, origins).kind
    edge = carried_condition(loop)
    if (
        kind is _WHILE
        and edge is not None
        and isinstance(edge.initial, Value)
        and origins.constant_scalar(edge.initial)
    ):
        kind = _DO
    return next(row for row in modes_of_system(loop.system) if row.kind is kind and not loop.counted_by_slices)


def limit_lines(model: Model) -> list[str]:
    """The limits of the first loop of a model, in its system's notation."""
    return _LimitReader(model).lines()


class _LimitReader:
    """Reads the limits of a model's first loop from the graph."""

    def __init__(self, model: Model) -> None:
        self.loop = model.loops[0].loop
        self.phrases = NodeFormatter(ProducerMap.for_graph(model.graph))

    def lines(self) -> list[str]:
        """One line for each limit."""
        loop = self.loop
        if loop.system is System.TENSORRT:
            return self._tensorrt_lines()
        counts, condition = ("M", "cond") if loop.system is System.ONNX else ("trip_count", "execution_condition")
        return [
            f"{counts}: {self._value_text(loop.trip_count)}",
            f"{condition}: {self._value_text(loop.initial_condition)}",
            f"the body yields as its condition: {self._value_text(loop.condition or loop.ignored_condition)}",
        ]

    def _tensorrt_lines(self) -> list[str]:
        loop, edge = self.loop, carried_condition(self.loop)
        calls = [] if loop.trip_count is None else [f"add_trip_limit({display_name(loop.trip_count)}, TripLimit.COUNT)"]
        if edge is not None and isinstance(edge.initial, Value):
            name = display_name(edge.param)
            calls.append(f"{name} = add_recurrence({self._value_text(edge.initial)})")
            calls.append(f"{name}.set_input(1, more), where {self._value_text(edge.result)}")
            return [*calls, f"add_trip_limit({name}, TripLimit.WHILE)"]
        if loop.condition is not None:
            calls.append(
                f"add_trip_limit({display_name(loop.condition)}, TripLimit.WHILE), where"
                f" {self._value_text(loop.condition)}"
            )
        return calls

    def _value_text(self, value: Value | None) -> str:
        """A constant, a name, or a name with its defining expression."""
        if value is None:
            return '"" (absent)'
        operand = self.phrases.operand(value, bare=True)
        if self.phrases.constant(value) is not None:
            return operand.lower()
        producer = self.phrases.origins.get(value)
        return operand if producer is None else f"{operand} = {self.phrases.expression(producer)}"
