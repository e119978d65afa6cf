"""Values that grow along an axis with others before it: their memory has capacity for more, so that no row moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from fusion_checks import bits_equal, run_node_by_node
from loopdbg.runtime.engine.optimized.shape_ranges import range_bindings
from loopdbg.runtime.plan.binding_result import InputDescriptor, KernelBinding
from loopdbg.runtime.plan.copy_elision import bind_with_capacity
from optimizer_access import requires_optimizer
from text_models import model

from .growing_loops import CACHE, F, inputs_of, loop, numbers

# Whoever takes no strides reads a copy.
COPIED = loop(
    """y = Concat <axis = 1> (x, e)
    sums = CumSum (y, second)
    total = ReduceMax <keepdims = 0> (sums)
    flat = Reshape (y, minus)
    places = NonZero (flat)
    many = Size (places)""",
    "float[2,n] x",
    "float[2,m] y; float total; int64 many",
    "float[2,k] v0; float[2,3] e",
    "float[2,a] o0; float[b] o1; int64[c] o2",
    "<int64 second = {1}, int64[1] minus = {-1}>",
)


def capacities(m: loopdbg.Model) -> dict[str, tuple[int, int]]:
    """Names of the values that have capacity, and how much."""
    assert m._engine is not None
    results = {value.name: m._engine.memory.capacity(k) for k, value in enumerate(m.plan.slots)}
    return {name: capacity for name, capacity in results.items() if capacity is not None}


@requires_optimizer
def test_rows_stay_where_they_are() -> None:
    m = model(CACHE)
    for trips in (20, 80, 20, 300):
        inputs = inputs_of("cache", trips)
        bits_equal(m.run(inputs), run_node_by_node(m, inputs))
        assert set(capacities(m)) == {"k", "v", "keys", "values"}
        assert all(axis == 2 and extent > trips + 1 for axis, extent in capacities(m).values())


def test_an_append_writes_its_rows_alone() -> None:
    concat = next(i.op for i in model(CACHE).plan.code if i.node is not None and i.node.op_type == "Concat")
    shapes, f32 = ((1, 2, 5, 4), (1, 2, 1, 4)), np.dtype(F)

    def bound(capacity: tuple[int, int] | None) -> KernelBinding:
        inputs = [InputDescriptor(k, f32, shape, None, list) for k, shape in enumerate(shapes)]
        inputs[0].capacity = capacity
        return bind_with_capacity(concat, inputs, (0, (2, 64)))

    is_present, elsewhere = bound((2, 64)), bound((2, 32))
    assert is_present.in_place and [call.buffers[0].index for call in is_present.calls] == [1]
    assert not elsewhere.in_place and [call.buffers[0].index for call in elsewhere.calls] == [0, 1]


@requires_optimizer
def test_whoever_looks_sees_values_without_gaps() -> None:
    m = model(CACHE)
    inputs = inputs_of("cache", 30)
    expected = m.run(inputs)
    assert capacities(m)
    seen = []
    for _ in range(2):
        bits_equal(m.run(inputs, on_iteration=lambda frame: seen.append(frame.carried["k"].copy())), expected)
        assert not capacities(m)
        bits_equal(m.run(inputs), expected)
        assert capacities(m)
    first = model(CACHE)
    first.run(inputs, on_iteration=lambda frame: None)
    assert not capacities(first)
    bits_equal(first.run(inputs), expected)
    assert capacities(first)
    assert [k.shape[2] for k in seen[:31]] == list(range(1, 32))
    assert all(np.array_equal(k, expected["o0"][:, :, : k.shape[2]]) for k in seen)


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 17])
def test_full_buffer_gets_more_capacity(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(range_bindings, "min_growing_extent", 4)
    m = model(CACHE)
    for trips in (12, 50, 0, 1, 7, 50):
        inputs = inputs_of("cache", trips) | {v: numbers(1, 2, length, 4) for v in ("v0", "v1")}
        bits_equal(m.run(inputs), run_node_by_node(m, inputs))
        bits_equal(m.run(inputs), run_node_by_node(m, inputs, native=False))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        # Nothing is before the axis; what is appended to comes last.
        (CACHE.replace("1,2,", "1,1,"), (1, 1, 1, 4)),
        (CACHE.replace("Concat <axis = 2> (k, half)", "Concat <axis = 2> (half, k)"), (1, 2, 1, 4)),
    ],
)
def test_others_lie_as_ever(text: str, shape: tuple[int, ...]) -> None:
    m = model(text)
    inputs: dict[str, Any] = {"M": np.array(40)} | {name: numbers(*shape) for name in ("v0", "v1", "v2")}
    bits_equal(m.run(inputs), run_node_by_node(m, inputs))
    assert "keys" not in capacities(m)


@requires_optimizer
def test_readers_that_take_no_strides_get_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_bindings, "min_growing_extent", 8)
    m = model(COPIED)
    inputs: dict[str, Any] = {"v0": numbers(2, 1), "e": numbers(2, 3)}
    for trips in (30, 4, 30):
        expected = run_node_by_node(m, inputs | {"M": np.array(trips)})
        bits_equal(m.run(inputs | {"M": np.array(trips)}), expected)
        assert "y" in capacities(m)
