"""Random loops that carry sequences: all execution modes and onnxruntime agree, and no sequence is ever modified in
place."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from onnx import helper

import onnxruntime_peer
from comparable_values import canonical_values
from differential_testing import check_all_modes
from engine_walks import WalkMove, check_stops_agree, use_python_nodes, walk_strategy
from hypothesis_settings import example_settings
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_graph_writer import F32, CarriedLoopWriter, value_info
from text_models import load_proto


class SequenceLoopWriter(CarriedLoopWriter):
    """Builds loops over sequences with at least one element; elements are [n, 2], with one n if ``alike``."""

    def __init__(self, draw: ChoiceSource) -> None:
        super().__init__(draw)
        self.alike = draw.chance(60)

    def declare_value(self, name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, F32, None)

    def rows(self) -> int:
        return 3 if self.alike else self.draw.integer(0, 3)

    def tensor(self, i: str) -> str:
        first = self.constant(np.full((self.rows(), 2), self.draw.integer(-9, 9), np.float32))
        return self.add("Add", first, self.as_float(i))

    def as_float(self, number: str) -> str:
        return self.add("Cast", number, to=F32)

    def position(self, s: str, i: str) -> str:
        """The position of an element, counted from either end."""
        length = self.add("SequenceLength", s)
        index = self.add("Mod", self.add("Add", i, self.constant(self.draw.integer(0, 3))), length)
        return self.add("Sub", index, length) if self.draw.chance(30) else index

    def emit_update(self, x: str, i: str) -> str:
        match self.draw.integer(0, 7):
            case 0 | 1 | 2:
                return self.add("SequenceInsert", x, self.tensor(i))
            case 3:
                return self.add("SequenceInsert", x, self.tensor(i), self.position(x, i))
            case 4:
                return self.add("SequenceInsert", x, self.add("SequenceAt", x, self.position(x, i)))
            case 5:
                longer = self.add("SequenceInsert", x, self.tensor(i))
                return self.add("SequenceErase", longer, *([self.position(x, i)] if self.draw.chance(50) else []))
            case 6:
                return self.add("SequenceConstruct", *(self.tensor(i) for _ in range(self.draw.integer(1, 3))))
            case _:
                if self.alike:
                    both = self.add("Concat", self.tensor(i), self.tensor(i), axis=0)
                    return self.add("SplitToSequence", both, self.constant(3), axis=0)
                return self.add("Identity", x)

    def emit_summary(self, x: str, i: str) -> str:
        match self.draw.integer(0, 2):
            case 0:
                return self.as_float(self.add("SequenceLength", x))
            case 1:
                return self.add("ReduceSum", self.add("SequenceAt", x, self.position(x, i)), keepdims=0)
            case _:
                stack = int(self.alike and self.draw.chance(50))
                joined = self.add("ConcatFromSequence", x, axis=self.draw.integer(0, 2) if stack else 0, new_axis=stack)
                return self.add("ReduceSum", joined, keepdims=0)

    def elements(self) -> list[Any]:
        count = self.draw.integer(1, 3)
        return [self.rng.integers(-9, 10, (self.rows(), 2)).astype(np.float32) for _ in range(count)]


def draw_case(draw: ChoiceSource) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """A model, and two sets of inputs for it."""
    body = SequenceLoopWriter(draw)
    proto, carried = body.model(21)
    proto.graph.node.append(helper.make_node("ConcatFromSequence", ["y0"], ["all"], axis=0))
    proto.graph.output.append(value_info("all", F32, None))
    feeds, other = ({"M": np.array(draw.integer(0, 12)), **{x: body.elements() for x in carried}} for _ in range(2))
    return proto, feeds, other


@example_settings(60, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_sequence_loops_agree_in_all_modes(seed: int) -> None:
    draw = SeededChoices(seed)
    proto, feeds, other = draw_case(draw)
    check_all_modes(lambda: load_proto(proto), feeds, other, draw)


def changed(carried: Any, number: int) -> Any:
    """A different sequence than the carried one: other numbers, one element more, or one less."""
    other = [x + number for x in carried]
    return other + other[:1] if number == 1 else other[:-1] or other if number == 2 else other


@example_settings(100, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30), walk_strategy())
def test_sequence_loops_show_the_same_at_stops(seed: int, moves: list[WalkMove]) -> None:
    """The reference is a run with each node in Python."""
    proto, feeds, _ = draw_case(SeededChoices(seed))
    check_stops_agree(load_proto(proto), feeds, moves, use_python_nodes, changed)


@pytest.mark.parametrize("seed", range(60))
def test_sequence_loops_agree_with_onnxruntime(seed: int) -> None:
    proto, feeds, _ = draw_case(SeededChoices(f"peer {seed}"))
    ours, theirs = load_proto(proto).run(feeds), onnxruntime_peer.run(proto, feeds)
    assert canonical_values(ours) == canonical_values(theirs)
