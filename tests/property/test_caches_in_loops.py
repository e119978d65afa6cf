"""Random loops that write into tensors that they carry, as caches of keys and values are written.

What is written in one iteration is all that is copied in the next one; all ways of running, and onnxruntime, agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import in_onnxruntime
from agreement import runs
from examples import tried
from models import loaded
from strategies.draws import Draw, FromSeed
from strategies.graphs import F32, Carrying, value
from walks import Move, in_python, stops_agree, walks

#: Rows, heads and elements of a cache: enough to be renewed; as many stretches as are remembered, and more; small.
SHAPES = ((6, 2, 32), (5, 3, 40), (4, 70, 4), (3, 2, 5))


class Caches(Carrying):
    """Caches of one shape; all numbers are small whole ones."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.shape: tuple[int, int, int] = draw.pick(SHAPES)

    def declared(self, name: str) -> onnx.ValueInfoProto:
        return value(name, F32, self.shape)

    def place(self, i: str, *shape: int) -> str:
        """A row, which moves with the iterations, as a tensor of indices."""
        times = self.add("Mul", i, self.constant(self.draw.integer(0, 2)))
        moved = self.add("Add", times, self.constant(self.draw.integer(0, 5)))
        row = self.add("Mod", moved, self.constant(self.shape[0]))
        return self.add("Expand", row, self.constant(np.array(shape, np.int64)))

    def numbers(self, *shape: int) -> Any:
        return self.rng.integers(-9, 10, shape).astype(np.float32)

    def update(self, i: str, *shape: int) -> str:
        return self.add("Add", self.constant(self.numbers(*shape)), self.add("Cast", i, to=F32))

    def change(self, x: str, i: str) -> str:
        s, h, d = self.shape
        match self.draw.integer(0, 6):
            case 0 | 1:
                reduction = self.draw.pick(("none", "add", "max"))
                return self.add("ScatterND", x, self.place(i, 1, 1), self.update(i, 1, h, d), reduction=reduction)
            case 2:
                tuples = self.constant(np.array([[0, 1, 3], [s - 1, 0, 2], [0, 1, 3]]))
                return self.add("ScatterND", x, tuples, self.update(i, 3), reduction="add")
            case 3:
                return self.add("ScatterElements", x, self.place(i, 1, h, d), self.update(i, 1, h, d), axis=0)
            case 4:
                axis = self.draw.integer(1, 2)
                part = (s, 1, d) if axis == 1 else (s, h, 1)
                at = self.constant(np.full(part, self.draw.integer(0, 1)))
                return self.add("ScatterElements", x, at, self.update(i, *part), axis=axis)
            case 5:
                at = self.constant(self.rng.integers(0, h, s))
                return self.add("TensorScatter", x, self.update(i, s, 1, d), at, axis=1)
            case _:
                return self.add("Mul", x, self.constant(np.float32(self.draw.pick((-1, 1)))))

    def seen(self, x: str, i: str) -> str:
        return self.add("ReduceMax", x, keepdims=0)


def made(draw: Draw) -> tuple[onnx.ModelProto, dict[str, Any], dict[str, Any]]:
    """A model, and inputs for it twice."""
    body = Caches(draw)
    proto, carried = body.model(24)
    feeds, other = (
        {"M": np.array(draw.integer(0, 12)), **{x: body.numbers(*body.shape) for x in carried}} for _ in range(2)
    )
    return proto, feeds, other


@tried(100, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30))
def test_all_ways_agree(seed: int) -> None:
    draw = FromSeed(seed)
    proto, feeds, other = made(draw)
    runs(lambda: loaded(proto), feeds, other, draw)


@tried(120, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 30), walks())
def test_stops_show_the_same(seed: int, moves: list[Move]) -> None:
    """As where each node makes a whole copy."""
    proto, feeds, _ = made(FromSeed(seed))
    stops_agree(loaded(proto), feeds, moves, in_python)


@pytest.mark.parametrize("seed", range(60))
def test_onnxruntime_agrees(seed: int) -> None:
    proto, feeds, _ = made(FromSeed(f"peer {seed}"))
    theirs = in_onnxruntime.run(proto, feeds)
    for name, ours in loaded(proto).run(feeds).items():
        np.testing.assert_array_equal(ours, theirs[name])
