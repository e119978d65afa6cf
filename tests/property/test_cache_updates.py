"""Random loops that write into tensors that they carry, as key and value caches are written.

All execution modes and onnxruntime agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import onnxruntime_peer
from differential_testing import check_all_modes
from engine_walks import WalkMove, check_stops_agree, use_python_nodes, walk_strategy
from hypothesis_settings import example_settings
from strategies.draws import ChoiceSource, SeededChoices
from strategies.onnx_graph_writer import F32, CarriedLoopWriter, value_info
from text_models import load_proto

#: Rows, heads and elements of a cache: large ones, one with many short rows, a small one.
SHAPES = ((6, 2, 32), (5, 3, 40), (4, 70, 4), (3, 2, 5))


class CacheLoopWriter(CarriedLoopWriter):
    """Builds loops over caches of one shape; all numbers are small integers."""

    def __init__(self, draw: ChoiceSource) -> None:
        super().__init__(draw)
        self.shape: tuple[int, int, int] = draw.pick(SHAPES)

    def declare_value(self, name: str) -> onnx.ValueInfoProto:
        return value_info(name, F32, self.shape)

    def index_name(self, i: str, *shape: int) -> str:
        """The index of a row, which depends on the iteration, as a tensor of indices."""
        times = self.add("Mul", i, self.constant(self.draw.integer(0, 2)))
        moved = self.add("Add", times, self.constant(self.draw.integer(0, 5)))
        row = self.add("Mod", moved, self.constant(self.shape[0]))
        return self.add("Expand", row, self.constant(np.array(shape, np.int64)))

    def numbers(self, *shape: int) -> Any:
        return self.rng.integers(-9, 10, shape).astype(np.float32)

    def update(self, i: str, *shape: int) -> str:
        return self.add("Add", self.constant(self.numbers(*shape)), self.add("Cast", i, to=F32))

    def emit_update(self, x: str, i: str) -> str:
        s, h, d = self.shape
        match self.draw.integer(0, 6):
            case 0 | 1:
                reduction = self.draw.pick(("none", "add", "max"))
                return self.add("ScatterND", x, self.index_name(i, 1, 1), self.update(i, 1, h, d), reduction=reduction)
            case 2:
                tuples = self.constant(np.array([[0, 1, 3], [s - 1, 0, 2], [0, 1, 3]]))
                return self.add("ScatterND", x, tuples, self.update(i, 3), reduction="add")
            case 3:
                return self.add("ScatterElements", x, self.index_name(i, 1, h, d), self.update(i, 1, h, d), axis=0)
            case 4:
                axis = self.draw.integer(1, 2)
                part = (s, 1, d) if axis == 1 else (s, h, 1)
                index = self.constant(np.full(part, self.draw.integer(0, 1)))
                return self.add("ScatterElements", x, index, self.update(i, *part), axis=axis)
            case 5:
                index = self.constant(self.rng.integers(0, h, s))
                return self.add("TensorScatter", x, self.update(i, s, 1, d), index, axis=1)
            case _:
                return self.add("Mul", x, self.constant(np.float32(self.draw.pick((-1, 1)))))

    def emit_summary(self, x: str, i: str) -> str:
        return self.add("ReduceMax", x, keepdims=0)


def draw_case(draw: ChoiceSource) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """A model, and two sets of inputs for it."""
    body = CacheLoopWriter(draw)
    proto, carried = body.model(24)
    feeds, other = (
        {"M": np.array(draw.integer(0, 12)), **{x: body.numbers(*body.shape) for x in carried}} for _ in range(2)
    )
    return proto, feeds, other


@example_settings(100, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_cache_updates_agree_in_all_modes(seed: int) -> None:
    draw = SeededChoices(seed)
    proto, feeds, other = draw_case(draw)
    check_all_modes(lambda: load_proto(proto), feeds, other, draw)


@example_settings(120, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30), walk_strategy())
def test_cache_updates_show_the_same_at_stops(seed: int, moves: list[WalkMove]) -> None:
    """The reference is a run in which each node makes a full copy."""
    proto, feeds, _ = draw_case(SeededChoices(seed))
    check_stops_agree(load_proto(proto), feeds, moves, use_python_nodes)


@pytest.mark.parametrize("seed", range(60))
def test_cache_updates_agree_with_onnxruntime(seed: int) -> None:
    proto, feeds, _ = draw_case(SeededChoices(f"peer {seed}"))
    theirs = onnxruntime_peer.run(proto, feeds)
    for name, ours in load_proto(proto).run(feeds).items():
        np.testing.assert_array_equal(ours, theirs[name])
