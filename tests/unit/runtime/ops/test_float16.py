"""float16 in native nodes: conversions equal NumPy's to the bit, and formulas that go through float32 are bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from comparable_values import exact_bits
from loopdbg.runtime.kernels.kernel import cast_kernel
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import start_engine
from text_models import model

HALF = np.dtype(np.float16)
NAMES = {"float16": 10, "float32": 1, "float64": 11, "int8": 3, "int32": 6, "int64": 7, "uint8": 2, "bool": 9}


def converted(x: Any, dtype: Any) -> Any:
    """By a native Cast node; the loop makes it an engine's business."""
    source, target = NAMES[x.dtype.name], NAMES[np.dtype(dtype).name]
    words = {1: "float", 11: "double", 10: "float16", 3: "int8", 6: "int32", 7: "int64", 2: "uint8", 9: "bool"}
    m = model(f"g ({words[source]}[n] x) => ({words[target]}[n] y) {{ y = Cast <to = {target}> (x) }}")
    result = m.run({"x": x})["y"]
    engine = m._engine
    assert engine is not None
    assert all(engine.binder.is_native(pc) for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE)
    return result


ALL = np.arange(65536, dtype=np.uint16).view(np.float16)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_float16_becomes_what_numpy_makes_of_it(dtype: str) -> None:
    x = ALL[~np.isnan(ALL)]
    assert exact_bits(converted(x, dtype)) == exact_bits(x.astype(dtype))
    nan = converted(ALL[np.isnan(ALL)], dtype)
    assert np.isnan(nan).all()
    assert exact_bits(converted(converted(x, dtype), HALF)) == exact_bits(x)


@pytest.mark.parametrize(("dtype", "unsigned"), [("float32", np.uint32), ("float64", np.uint64)])
def test_floats_round_to_float16_as_numpy_rounds(dtype: str, unsigned: Any) -> None:
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        # All bit patterns, and what lies at and next to every boundary between two float16 numbers.
        some = rng.integers(0, np.iinfo(unsigned).max, 300_000, unsigned, endpoint=True).view(dtype)
        exact = ALL[np.isfinite(ALL)].astype(dtype)
        middles = (exact + np.nextafter(ALL[np.isfinite(ALL)], HALF.type(np.inf)).astype(dtype)) / 2
        around = [np.nextafter(middles, np.array(to, dtype)) for to in (np.inf, -np.inf)]
        edges = np.array([65504, 65519.99, 65520, 65536, 1e9, 2**-24, 2**-25, 2**-26, 6e-8, 0.0, -0.0, np.inf], dtype)
        x = np.concatenate([some, exact, middles, *around, edges, -edges])
        x = x[~np.isnan(x)]
        assert exact_bits(converted(x, HALF)) == exact_bits(x.astype(HALF))
    assert np.isnan(converted(np.array([np.nan, -np.nan], dtype), HALF)).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "bool"])
def test_integers_and_booleans(dtype: str) -> None:
    x = np.random.default_rng(4).integers(0, 120, 500).astype(dtype)
    assert exact_bits(converted(x, HALF)) == exact_bits(x.astype(HALF))
    assert exact_bits(converted(x.astype(HALF), dtype)) == exact_bits(x.astype(HALF).astype(dtype))
    if dtype in ("int32", "int64"):
        large = np.random.default_rng(5).integers(-(2**31), 2**31, 5000).astype(dtype)
        with np.errstate(all="ignore"):
            assert exact_bits(converted(large, HALF)) == exact_bits(large.astype(HALF))


def test_every_pair_with_float16_has_a_kernel() -> None:
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
    ):
        assert cast_kernel(HALF, np.dtype(name)) is not None
        assert cast_kernel(np.dtype(name), HALF) is not None


def test_formulas_of_several_steps_are_native() -> None:
    m = model("""
    g (int64 M, float16[2,5] v0) => (float16[2,5] v, float16[n,2] s) <int64[1] last = {1}> {
      v, s = Loop <body = b (int64 i, bool c, float16[2,5] x) => (bool keep, float16[2,5] y, float16[2] t) {
        keep = Identity (c)
        p = Softmax <axis = -1> (x)
        n = Tanh (p)
        y = Add (x, n)
        t = ReduceMean <keepdims = 0> (y, last)
      }> (M, , v0)
    }""")
    inputs = {"M": 6, "v0": np.random.default_rng(6).standard_normal((2, 5)).astype(HALF)}
    native = m.run(inputs)
    engine = m._engine
    assert engine is not None
    assert all(engine.binder.is_native(pc) for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE)
    plain = start_engine(m, inputs, native=False)
    plain.resume()
    for name, value in plain.results().items():
        assert exact_bits(native[name]) == exact_bits(value)


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_places_of_extremes(op: str, last: int) -> None:
    m = model(f"g (float16[7,300] x) => (int64[7] y) {{"
              f" y = {op} <axis = 1, keepdims = 0, select_last_index = {last}> (x) }}")  # fmt: skip
    x = np.random.default_rng(5).choice(ALL[np.isfinite(ALL)], (7, 300))
    x[1, 40:50] = x[2, 60:] = np.nan
    x[3] = -0.0
    x[3, ::7] = 0.0
    x[4, ::50], x[5, ::50] = np.inf, -np.inf
    find = np.argmax if op == "ArgMax" else np.argmin
    expected = 299 - find(x[:, ::-1], 1) if last else find(x, 1)
    np.testing.assert_array_equal(m.run({"x": x})["y"], expected)
    engine = m._engine
    assert engine is not None
    assert all(engine.binder.is_native(pc) for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE)
