"""Random loops that carry sequences: all ways of running, and onnxruntime, agree, and no sequence ever changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from onnx import helper

import in_onnxruntime
from agreement import runs
from examples import tried
from models import loaded
from plain import all_plain
from strategies.draws import Draw, FromSeed
from strategies.graphs import F32, Carrying, value
from walks import Move, in_python, stops_agree, walks


class Sequences(Carrying):
    """Sequences that each have an element at least; all elements are [n, 2], all of one n where ``alike``."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.alike = draw.chance(60)

    def declared(self, name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_sequence_value_info(name, F32, None)

    def rows(self) -> int:
        return 3 if self.alike else self.draw.integer(0, 3)

    def tensor(self, i: str) -> str:
        first = self.constant(np.full((self.rows(), 2), self.draw.integer(-9, 9), np.float32))
        return self.add("Add", first, self.as_float(i))

    def as_float(self, number: str) -> str:
        return self.add("Cast", number, to=F32)

    def position(self, s: str, i: str) -> str:
        """A place of an element, from either end."""
        length = self.add("SequenceLength", s)
        at = self.add("Mod", self.add("Add", i, self.constant(self.draw.integer(0, 3))), length)
        return self.add("Sub", at, length) if self.draw.chance(30) else at

    def change(self, x: str, i: str) -> str:
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

    def seen(self, x: str, i: str) -> str:
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


def made(draw: Draw) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """A model, and inputs for it twice."""
    body = Sequences(draw)
    proto, carried = body.model(21)
    proto.graph.node.append(helper.make_node("ConcatFromSequence", ["y0"], ["all"], axis=0))
    proto.graph.output.append(value("all", F32, None))
    feeds, other = ({"M": np.array(draw.integer(0, 12)), **{x: body.elements() for x in carried}} for _ in range(2))
    return proto, feeds, other


@tried(60, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds, other = made(draw)
    runs(lambda: loaded(proto), feeds, other, draw)


def changed(carried: Any, number: int) -> Any:
    """Another sequence than a carried one: other numbers, one more element, or one less."""
    other = [x + number for x in carried]
    return other + other[:1] if number == 1 else other[:-1] or other if number == 2 else other


@tried(100, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30), walks())
def test_stops_show_the_same(seed: int, moves: list[Move]) -> None:
    """As where each node runs in Python."""
    proto, feeds, _ = made(FromSeed(seed))
    stops_agree(loaded(proto), feeds, moves, in_python, changed)


@pytest.mark.parametrize("seed", range(60))
def test_onnxruntime_agrees(seed: int) -> None:
    proto, feeds, _ = made(FromSeed(f"peer {seed}"))
    ours, theirs = loaded(proto).run(feeds), in_onnxruntime.run(proto, feeds)
    assert all_plain(ours) == all_plain(theirs)
