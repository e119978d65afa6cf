"""Groups in the main graph: where values are large and no one looks, from the second run on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import slot_index
from fusion_checks import bits_equal, group_members, run_node_by_node
from text_models import model

SIDE = 300


def distances(dtype: str = "float") -> loopdbg.Model:
    """All pairs of points in the main graph, of which a loop takes one row after the other."""
    return model(f"""
    g (int64 M, {dtype}[{SIDE},1] a, {dtype}[1,{SIDE}] b, {dtype} sizes)
      => ({dtype}[{SIDE}] total, {dtype}[n,{SIDE}] rows) {{
      apart = Sub (a, b)
      square = Mul (apart, apart)
      near = Add (square, sizes)
      far = Div (near, sizes)
      zeros = Sub (b, b)
      shape = Constant <value = int64[1] {{{SIDE}}}> ()
      start = Reshape (zeros, shape)
      total, rows = Loop <body = body (int64 i, bool c, {dtype}[{SIDE}] x)
          => (bool d, {dtype}[{SIDE}] y, {dtype}[{SIDE}] row) {{
        row = Gather (far, i)
        y = Add (x, row)
        d = Identity (c)
      }}> (M, , start)
    }}""")


def points(sizes: float = 2, dtype: Any = np.float32, seed: int = 3) -> dict[str, Any]:
    values = (np.random.default_rng(seed).uniform(-9, 9, 2 * SIDE)).astype(dtype)
    return {"M": np.int64(7), "a": values[:SIDE, None], "b": values[None, SIDE:], "sizes": np.asarray(sizes, dtype)}


def test_large_values_of_the_main_graph_are_computed_in_blocks() -> None:
    m = distances()
    expected = run_node_by_node(m, points())
    for _ in range(3):
        bits_equal(m.run(points()), expected)
    assert group_members(m)[0][:4] == ["apart", "square", "near", "far"]
    bits_equal(m.run(points(seed=5)), run_node_by_node(m, points(seed=5)))


def test_what_a_group_kept_to_itself_is_there_for_who_looks() -> None:
    m = distances()
    for _ in range(2):
        m.run(points())
    assert group_members(m)
    inputs = points(seed=8)
    seen: list[np.ndarray] = []
    m.run(inputs, on_iteration=lambda frame: seen.append(engine_value(m, "apart")))
    assert len(seen) == 8  # before each of seven iterations, and at the end
    for apart in seen:
        np.testing.assert_array_equal(apart, inputs["a"] - inputs["b"])


def engine_value(m: loopdbg.Model, name: str) -> np.ndarray:
    """A value of the main graph as the model's own engine has it now."""
    engine = m._engine
    assert engine is not None
    slot = slot_index(m, name)
    return np.array(engine.value(slot))


def test_an_error_in_it_is_that_of_the_node() -> None:
    m = distances("int64")
    for _ in range(2):
        bits_equal(m.run(points(dtype=np.int64)), run_node_by_node(m, points(dtype=np.int64)))
    assert group_members(m)[0][:4] == ["apart", "square", "near", "far"]
    with pytest.raises(loopdbg.ExecutionError) as together:
        m.run(points(0, np.int64))
    with pytest.raises(loopdbg.ExecutionError) as alone:
        run_node_by_node(m, points(0, np.int64))
    assert str(together.value) == str(alone.value)
    bits_equal(m.run(points(3, np.int64)), run_node_by_node(m, points(3, np.int64)))


def test_small_values_are_left_alone() -> None:
    m = model("""
    g (int64 M, float[9,1] a, float[1,9] b) => (float[9,9] last) {
      apart = Sub (a, b)
      square = Mul (apart, apart)
      start = Abs (square)
      last = Loop <body = body (int64 i, bool c, float[9,9] x) => (bool d, float[9,9] y) {
        y = Identity (x)
        d = Identity (c)
      }> (M, , start)
    }""")
    inputs = {"M": np.int64(2), "a": np.ones((9, 1), np.float32), "b": np.ones((1, 9), np.float32)}
    for _ in range(3):
        m.run(inputs)
    assert not group_members(m)
