"""Functions of float32: how near they are to the reals, and the same bits wherever an element is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cpu_features import AVX2, AVX512, available_levels, limit_to
from loopdbg.runtime.graph import Array
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.ops import ufunc_kernels
from loopdbg.runtime.ops.primitive_types import Elementwise, NativeLoop

FLOAT = np.dtype(np.float32)


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


#: The function, in float64, and how many units in the last place it may be off.
FUNCTIONS: dict[str, tuple[Elementwise, Callable[[Any], Any], float]] = {
    "exp": (np.exp, np.exp, 1.1),
    "expm1": (np.expm1, np.expm1, 1.6),
    "log": (np.log, np.log, 1),
    "tanh": (np.tanh, np.tanh, 2.5),
    "sigmoid": (NativeLoop("sigmoid"), _sigmoid, 2.5),
    "softplus": (NativeLoop("softplus"), lambda x: np.logaddexp(x, 0), 2),
    "erf": (NativeLoop("erf"), np.vectorize(math.erf, otypes=[np.float64]), 1.8),
}
SPECIAL = [
    0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-45,
    -1e-45,
    1e-38,
    -1e-38,
    1e-20,
    3e38,
    -3e38,
    1,
    -1,
    88.8,
    -104.5,
]
names = pytest.mark.parametrize("name", FUNCTIONS)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numbers() -> Array:
    """Floats of every magnitude, more of those around 1, and what is special."""
    rng = np.random.default_rng(3)
    every = rng.integers(0, 1 << 32, 40_000, np.uint32).view(np.float32)
    return np.concatenate([every, rng.uniform(-20, 20, 60_000), rng.uniform(-1, 1, 20_000), SPECIAL]).astype(np.float32)


def computed(function: Elementwise, *inputs: Array) -> Array:
    kernel = ufunc_kernels.elementwise_kernel(function, tuple(x.dtype for x in inputs))
    assert kernel is not None and kernel.exact
    result = ufunc_kernels.run_elementwise(kernel, *inputs)
    assert result is not None
    return result


def run_on(function: Elementwise, x: Array, out: Array) -> None:
    """As a call walks over views of any strides."""
    kernel = ufunc_kernels.elementwise_kernel(function, (FLOAT,))
    assert kernel is not None
    assert loop_nest.run_kernel(kernel, (x, out), (x.size,), (x.strides[0], out.strides[0]))


@names
def test_it_is_near_the_reals(name: str, width: int) -> None:
    function, of_reals, units = FUNCTIONS[name]
    x = numbers()
    actual = computed(function, x)
    with np.errstate(all="ignore"):
        wanted = of_reals(x.astype(np.float64))
        nearest = wanted.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(nearest))
    known = ~np.isnan(nearest)
    np.testing.assert_array_equal(np.isinf(actual)[known], np.isinf(nearest)[known])
    np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(nearest)[known])
    finite = np.isfinite(nearest)
    off = np.abs(actual[finite] - wanted[finite]) / np.spacing(np.abs(nearest[finite])).astype(np.float64)
    assert off.max() <= units


@names
def test_same_bits_at_every_position(name: str, width: int) -> None:
    function = FUNCTIONS[name][0]
    x = numbers()[-200:]
    wanted = computed(function, x)
    for count in range(1, 40):
        out = np.full(count + 16, 7, np.float32)
        run_on(function, x[-count:], out[:count])
        assert out[:count].tobytes() == wanted[-count:].tobytes()
        assert (out[count:] == 7).all()
    for step, far in ((2, 1), (1, 3), (-1, 1), (-2, -2)):
        inputs = np.zeros((200, abs(step)), np.float32)
        outputs = np.full((200, abs(far)), 7, np.float32)
        read, written = inputs.reshape(-1)[:: abs(step)], outputs.reshape(-1)[:: abs(far)]
        read, written = (read if step > 0 else read[::-1]), (written if far > 0 else written[::-1])
        read[:] = x
        run_on(function, read, written)
        assert written.tobytes() == wanted.tobytes()
        assert (outputs[:, 1:] == 7).all()
    in_place = x.copy()
    run_on(function, in_place, in_place)
    assert in_place.tobytes() == wanted.tobytes()


@names
def test_one_result_on_all_processors_that_fuse_products_and_sums(name: str) -> None:
    x, result = numbers(), set()
    for width in available_levels(AVX2, AVX512):
        with limit_to(width):
            result.add(computed(FUNCTIONS[name][0], x).tobytes())
    assert len(result) <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 1.7, 0])
def test_powers(dtype: Any, exponent: float) -> None:
    x = np.concatenate([np.random.default_rng(4).uniform(-5, 5, 1000), SPECIAL]).astype(dtype)
    item, many = np.array(exponent, dtype), np.full(x.size, exponent, dtype)
    actual = computed(np.power, x, item)
    assert actual.tobytes() == computed(np.power, x, many).tobytes()
    assert actual[::3].tobytes() == computed(np.power, x[::3], item).tobytes()
    assert b"".join(computed(np.power, v, item).tobytes() for v in x) == actual.tobytes()
    wanted = np.power(x, item)
    if exponent == 0.5:  # NumPy takes roots of these two; powers are what C says
        wanted[x == 0], wanted[x == -math.inf] = 0, math.inf
    np.testing.assert_allclose(actual, wanted, rtol=1e-6 if dtype == np.float32 else 1e-14)
    known = ~np.isnan(actual)
    np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(wanted)[known])


def power_cases() -> tuple[Array, Array]:
    """Bases and exponents of every magnitude, those around one another's inverse, and every pair of what is special."""
    rng = np.random.default_rng(6)
    every = rng.integers(0, 1 << 32, (2, 20_000), np.uint32).view(np.float32)
    bases = np.concatenate([rng.uniform(0, 5, 40_000), np.exp2(rng.uniform(-149, 128, 40_000)), np.abs(every[0])])
    exponents = np.concatenate([rng.uniform(-5, 5, 40_000), rng.uniform(-20, 20, 40_000), every[1]])
    odd = np.array([*SPECIAL, 2, 3, 0.5, -2, -3, -0.5, 4, 1e10], np.float32)
    pairs = np.meshgrid(odd, odd)
    x, y = np.concatenate([bases, pairs[0].ravel()]), np.concatenate([exponents, pairs[1].ravel()])
    return x.astype(np.float32), y.astype(np.float32)


def test_powers_are_near_the_reals(width: int) -> None:
    x, y = power_cases()
    actual = computed(np.power, x, y)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64))
        wanted = np.where((y == 0.5) & (x == 0), 0, np.where((y == 0.5) & (x == -math.inf), math.inf, wanted))
        nearest = wanted.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(nearest))
    known = ~np.isnan(nearest)
    np.testing.assert_array_equal(np.isinf(actual)[known], np.isinf(nearest)[known])
    np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(nearest)[known])
    finite = np.isfinite(nearest) & (y != 3)  # cubes are two products
    off = np.abs(actual[finite] - wanted[finite]) / np.spacing(np.abs(nearest[finite])).astype(np.float64)
    assert off.max() <= 0.55


def test_powers_have_same_bits_at_every_position(width: int) -> None:
    x, y = (part[-700:] for part in power_cases())
    wanted = computed(np.power, x, y)
    assert b"".join(computed(np.power, a, b).tobytes() for a, b in zip(x, y, strict=True)) == wanted.tobytes()
    for step in (2, 3, -1):
        assert computed(np.power, x[::step], y[::step]).tobytes() == wanted[::step].tobytes()
        assert computed(np.power, x[::step].copy(), y[::step]).tobytes() == wanted[::step].tobytes()
    for first in range(1, 20):
        assert computed(np.power, x[first:], y[first:]).tobytes() == wanted[first:].tobytes()
    for item in (1.7, -1, 0, 2, math.nan, math.inf):
        same = np.full(x.size, item, np.float32)
        assert computed(np.power, x, same[0]).tobytes() == computed(np.power, x, same).tobytes()
        assert computed(np.power, same[0], y).tobytes() == computed(np.power, same, y).tobytes()


def test_powers_are_the_same_on_all_processors_that_fuse_products_and_sums() -> None:
    x, y = power_cases()
    results = set()
    for width in available_levels(AVX2, AVX512):
        with limit_to(width):
            results.add(computed(np.power, x, y).tobytes())
    assert len(results) <= 1
