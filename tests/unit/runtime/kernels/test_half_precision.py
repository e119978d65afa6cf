"""float16 and bfloat16: all 65536 numbers through every function and conversion, in every way that this processor has,
next to NumPy's and ml_dtypes'. Which NaN it is follows the processor and is not compared, but for conversions."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cpu_features import FLOAT_LEVELS, available_levels, limit_to
from loopdbg.runtime.graph import Array
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.kernels.strided_iteration import plan_loops
from loopdbg.runtime.ops import ufunc_kernels
from loopdbg.runtime.ops.activations import GELU, SIGMOID, SOFTPLUS
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.elementwise import ERF
from loopdbg.runtime.ops.normalize import softmax_over

BRAIN = np.dtype(ml_dtypes.bfloat16)
HALF = np.dtype(np.float16)
ALL = np.arange(65536, dtype=np.uint16)
UNARY = (np.negative, np.absolute, np.sqrt, np.floor, np.ceil, np.rint, np.trunc, np.reciprocal, np.square,
         np.isnan, np.isinf, np.isfinite)  # fmt: skip
#: What rounds in float32 already: NumPy computes it of float16 number by number, and of many float32 in another way.
INEXACT = (np.exp, np.expm1, np.log, np.log1p, np.log2, np.tanh, np.sin, np.cos, np.tan, np.sinh, np.cosh,
           np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh)  # fmt: skip
BINARY = (np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum,
          np.less, np.less_equal, np.equal, np.not_equal)  # fmt: skip
types = pytest.mark.parametrize("dtype", [HALF, BRAIN], ids=["float16", "bfloat16"])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def bits(x: Any) -> Array:
    array = np.asarray(x)
    return array.view(f"u{array.itemsize}")


def numbers(x: Any) -> Array:
    """The bits of all but NaNs, which are one."""
    result = bits(x).copy()
    if np.asarray(x).dtype != np.bool_:
        result[np.isnan(np.asarray(x).astype(np.float64))] = 1
    return result


def computed(function: np.ufunc, *inputs: Array) -> Array:
    kernel = ufunc_kernels.elementwise_kernel(function, tuple(x.dtype for x in inputs))
    assert kernel is not None
    result = ufunc_kernels.run_elementwise(kernel, *inputs)
    assert result is not None
    return result


def expected(function: np.ufunc, *inputs: Array) -> Array:
    """float16: NumPy's own loop. bfloat16: what the definition says, computed in float32 and rounded."""
    if inputs[0].dtype == HALF:
        return np.asarray(function(*inputs))
    result = np.asarray(function(*[x.astype(np.float32) for x in inputs]))
    return result if result.dtype == np.bool_ else result.astype(BRAIN)


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_functions_of_every_number(function: np.ufunc, dtype: Any) -> None:
    x = ALL.view(dtype)
    np.testing.assert_array_equal(numbers(computed(function, x)), numbers(expected(function, x)))


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("function", INEXACT, ids=lambda f: f.__name__)
def test_functions_that_round(function: np.ufunc, dtype: Any) -> None:
    """As in float32, then rounded: at any position; at most one unit from NumPy's float16."""
    x = ALL.view(dtype)
    whole = computed(function, x)
    np.testing.assert_array_equal(numbers(whole), numbers(computed(function, x.astype(np.float32)).astype(dtype)))
    np.testing.assert_array_equal(bits(computed(function, x[::-3])), bits(whole[::-3]))
    for k in range(15000, 15020):
        assert bits(computed(function, x[k])) == bits(whole[k])
        assert set(bits(computed(function, np.broadcast_to(x[k], 300))).tolist()) == {int(bits(whole[k]))}
    if dtype == HALF:
        np.testing.assert_array_max_ulp(whole, np.asarray(function(x)), 1)


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("loop", [SIGMOID, SOFTPLUS, GELU, ERF], ids=lambda f: f.name)
def test_own_loops(loop: Any, dtype: Any) -> None:
    x = ALL.view(dtype)
    width = EagerPrimitives().map(loop, x.astype(np.float32))
    np.testing.assert_array_equal(numbers(EagerPrimitives().map(loop, x)), numbers(width.astype(dtype)))
    np.testing.assert_array_equal(numbers(EagerPrimitives().map(loop, x[::-3])), numbers(width.astype(dtype)[::-3]))


#: Of two inputs; what they give has the last axis inside.
ROWS = (((40, 1), (40, 16)), ((40, 16), (40, 1)), ((1, 5), (300, 1)), ((3, 40, 1), (40, 17)), ((40, 33), (1, 33)),
        ((2, 3, 24), (2, 1, 24)), ((64, 1), (1, 7)), ((17, 8), (17, 8)), ((100, 7), (1, 7)), ((50, 15), (50, 1)),
        ((30, 57), (30, 1)), ((30, 63), (30, 63)), ((1, 9), (70, 9)), ((3, 20, 11), (3, 1, 11)))  # fmt: skip


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("function", BINARY[:6], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shapes", ROWS, ids=str)
def test_short_rows(shapes: Any, function: np.ufunc, dtype: Any) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.choice(ALL, shape).view(dtype) for shape in shapes)
    np.testing.assert_array_equal(numbers(computed(function, a, b)), numbers(expected(function, a, b)))
    apart = np.repeat(b, 2, -1)[..., ::2]
    np.testing.assert_array_equal(numbers(computed(function, a, apart)), numbers(expected(function, a, b)))


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("n", [5, 16, 21])
@pytest.mark.parametrize("ahead", [0, 1, 4, 16, 20, 64])
@pytest.mark.parametrize("function", BINARY[:6], ids=lambda f: f.__name__)
def test_rows_that_share_memory(function: np.ufunc, ahead: int, n: int, dtype: Any) -> None:
    """Each element is written before the next one is read, as in NumPy's loops."""
    rng = np.random.default_rng(5)
    memory = (rng.standard_normal(500) + 2).astype(dtype)
    other = (rng.standard_normal((20, 1)) + 2).astype(dtype)
    wanted = memory.copy()
    for r in range(20):
        for i in range(n):
            index = r * n + i
            wanted[ahead + index] = np.asarray(function(np.float32(wanted[index]), np.float32(other[r, 0]))).astype(
                dtype
            )
    a, out = memory[: 20 * n].reshape(20, n), memory[ahead : ahead + 20 * n].reshape(20, n)
    kernel = ufunc_kernels.elementwise_kernel(function, (a.dtype, a.dtype))
    assert kernel is not None and kernel.short_row_itemsize == 2
    assert loop_nest.run_kernel(kernel, (a, other, out), (n,), (2, 0, 2), ((20, 2 * n, 2, 2 * n),))
    np.testing.assert_array_equal(numbers(memory), numbers(wanted))


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_functions_of_two(function: np.ufunc, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.choice(ALL, 50_000).view(dtype) for _ in range(2))
    whole = computed(function, a, b)
    np.testing.assert_array_equal(numbers(whole), numbers(expected(function, a, b)))
    np.testing.assert_array_equal(bits(computed(function, a[::-3], b[::-3])), bits(whole[::-3]))
    np.testing.assert_array_equal(bits(computed(function, a[7], b[:300])), bits(computed(function, a[7:8], b[:300])))


@pytest.mark.usefixtures("width")
@types
def test_conversions_of_every_number(dtype: Any) -> None:
    x = ALL.view(dtype)
    width = EagerPrimitives().cast(x, np.dtype(np.float32))
    np.testing.assert_array_equal(bits(width), bits(x.astype(np.float32)))  # NaNs as they are
    np.testing.assert_array_equal(bits(EagerPrimitives().cast(width, dtype)), bits(width.astype(dtype)))
    np.testing.assert_array_equal(bits(EagerPrimitives().cast(x[::-2], np.dtype(np.float32))), bits(width[::-2]))
    for target in ("float64", "int8", "uint8", "int32", "int64", "bool"):
        small = np.array([0, -0.0, 1, 1.5, 100, 63.5], np.float32).astype(dtype)
        same = EagerPrimitives().cast(small, np.dtype(target))
        np.testing.assert_array_equal(same, small.astype(np.float32).astype(target))
        np.testing.assert_array_equal(EagerPrimitives().cast(same, dtype), same.astype(np.float32).astype(dtype))


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("shape", [(4, 4), (7, 9), (8, 32), (33, 40), (70, 8), (2, 33, 17), (256, 255)], ids=str)
def test_conversions_of_what_is_turned(shape: Any, dtype: Any) -> None:
    x = np.random.default_rng(8).choice(ALL, shape).view(dtype).swapaxes(-1, -2)
    np.testing.assert_array_equal(bits(EagerPrimitives().cast(x, np.dtype(np.float32))), bits(x.astype(np.float32)))


@pytest.mark.usefixtures("width")
@types
def test_floats_round_to_the_nearest(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    exact = ALL.view(dtype).astype(np.float32)
    some = rng.integers(0, 2**32, 200_000, np.uint32).view(np.float32)
    middles = (exact[:-1].astype(np.float64) + exact[1:]) / 2
    for x in (some, middles.astype(np.float32), np.nextafter(middles.astype(np.float32), np.float32(np.inf))):
        np.testing.assert_array_equal(bits(EagerPrimitives().cast(x, dtype)), bits(x.astype(dtype)))
        np.testing.assert_array_equal(bits(EagerPrimitives().cast(x[::3], dtype)), bits(x[::3].astype(dtype)))


@pytest.mark.usefixtures("width")
@types
@pytest.mark.parametrize("function", BINARY[:6], ids=lambda f: f.__name__)
def test_the_first_of_two_nans_and_zeros(function: np.ufunc, dtype: Any) -> None:
    """However many stand next to them, and whichever loop gets to them."""
    few = np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, np.nan], np.float32).astype(dtype)
    few.view(np.uint16)[-1] ^= 0x8021
    a, b = np.repeat(few, len(few))[None].repeat(3, 0), np.tile(few, len(few))[None].repeat(3, 0)
    whole = bits(computed(function, a, b))
    np.testing.assert_array_equal(bits(computed(function, np.repeat(a, 2, 1)[:, ::2], b)), whole)
    column = np.ascontiguousarray(few.reshape(-1, 1))
    np.testing.assert_array_equal(bits(computed(function, column, few[None])).reshape(-1), whole[0])
    np.testing.assert_array_equal(bits(computed(function, few[None], column)).T.reshape(-1), whole[0])
    nans = np.isnan(a.astype(np.float32)) & np.isnan(b.astype(np.float32))
    quiet = bits(np.float32(0).astype(dtype)).dtype.type(0x200 if dtype == HALF else 0x40)
    if dtype == HALF:
        np.testing.assert_array_equal(whole[nans] | quiet, bits(a)[nans] | quiet)


@types
@pytest.mark.parametrize("count", [1, 7, 255, 256, 257, 1000])
def test_running_sums_round_each_time(count: int, dtype: Any) -> None:
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    result, total = EagerPrimitives().accumulate(np.add, x, 0), x[0]
    for k in range(1, count):
        total = (total.astype(np.float32) + x[k].astype(np.float32)).astype(dtype)
        assert bits(result[k]) == bits(total)


@types
@pytest.mark.parametrize("function", [np.add, np.multiply, np.maximum, np.minimum], ids=lambda f: f.__name__)
def test_reductions(function: np.ufunc, dtype: Any) -> None:
    x = (np.random.default_rng(3).standard_normal((5, 600)) / 8 + 1).astype(dtype)
    for axis in (0, 1):
        result = EagerPrimitives().reduce(function, x, (axis,), False)
        assert result.dtype == dtype
        width = function.reduce(x.astype(np.float64), axis)
        np.testing.assert_allclose(result.astype(np.float64), width, rtol=0.03)
    if dtype == HALF:
        np.testing.assert_array_equal(EagerPrimitives().reduce(function, x, (1,), False), function.reduce(x, 1))


@types
@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("function", [np.add, np.multiply, np.maximum, np.minimum], ids=lambda f: f.__name__)
@pytest.mark.parametrize("m", [5, 15, 16, 17, 31, 64, 90, 600])
def test_rows_folded_into_one(m: int, function: np.ufunc, dtype: Any) -> None:
    rng, kernel = np.random.default_rng(m), ufunc_kernels.reduction_kernel(function, dtype)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8], dtype)
    for n, spaced, down in ((1, 1, 1), (2, 1, 1), (9, 1, -1), (40, 1, 1), (9, 2, 1)):
        x = (rng.standard_normal((n, 2 * m)) * 2).astype(dtype)
        x[rng.random(x.shape) < 0.05] = rng.choice(odd)
        x = x[::down, : spaced * m : spaced]
        begin = rng.standard_normal((1, 2 * m)).astype(dtype)
        out, result = begin[:, :m].copy(), begin[:, :m]
        spread = (x.shape, ufunc_kernels.reduction_strides(out, (0,)))
        layouts = (spread, (x.shape, x.strides), spread)
        assert loop_nest.run_kernel(kernel, (out, x, out), *plan_loops(x.shape, layouts))  # type: ignore[arg-type]
        for row in x:
            result = computed(function, result, np.ascontiguousarray(row[None]))
        np.testing.assert_array_equal(numbers(out), numbers(result))


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("function", [np.add, np.maximum], ids=lambda f: f.__name__)
def test_results_among_what_is_folded(function: np.ufunc) -> None:
    kernel = ufunc_kernels.reduction_kernel(function, HALF)
    for shift in (0, 1, 16, 70):
        memory = np.random.default_rng(shift).standard_normal(2000).astype(HALF)
        expected = memory.copy()
        for i in range(9):
            for r in range(70):
                expected[r + shift] = function(expected[r + shift], expected[i * 70 + r])
        loop_nest.run_kernel(kernel, (memory[shift:], memory, memory[shift:]), (70,), (2, 2, 2), ((9, 0, 140, 0),))  # type: ignore[arg-type]
        np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("function", [np.maximum, np.minimum], ids=lambda f: f.__name__)
@pytest.mark.parametrize("n", [1, 2, 31, 255, 256, 257, 600])
def test_extremes_are_the_first_of_their_equals(n: int, function: np.ufunc) -> None:
    """Of several zeros and NaNs as well, as in NumPy, which goes from one to the next."""
    rng = np.random.default_rng(n)
    few = np.array([0x8000, 0, 0x8000, 0, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7E01, 0xFE00, 0x7E03], np.uint16)
    for among in (2, 4, 6, 8, 12, 65536):
        x = (rng.choice(few[:among], (40, n)) if among <= len(few) else rng.integers(0, among, (40, n))).astype(
            np.uint16
        )
        x[x & 0x7FFF > 0x7C00] |= 0x200  # quiet ones
        x[::4] = np.where(x[::4] & 0x7FFF > 0x7C00, 0xBC00, x[::4])
        x = x.view(HALF)
        np.testing.assert_array_equal(
            bits(EagerPrimitives().reduce(function, x, (1,), False)), bits(function.reduce(x, 1))
        )
        columns = np.asfortranarray(x)
        np.testing.assert_array_equal(
            bits(EagerPrimitives().reduce(function, columns, (1,), False)), bits(function.reduce(x, 1))
        )


@types
@pytest.mark.parametrize("logarithm", [False, True])
@pytest.mark.parametrize("n", [5, 7, 8, 9, 16, 50, 257])
def test_softmax_rounds_each_step(n: int, logarithm: bool, dtype: Any) -> None:
    x = (np.random.default_rng(n).standard_normal((21, n)) * 4).astype(dtype)
    x[1, 3], x[2, 4], x[3], x[4, 2] = -np.inf, np.nan, -np.inf, np.inf

    def step(value: Array) -> Array:
        return value.astype(dtype).astype(np.float32)

    shifted = step(x.astype(np.float32) - x.astype(np.float32).max(1, keepdims=True))
    powers = step(np.exp(shifted))
    total = step(powers.sum(1, keepdims=True))
    if n <= 8 and dtype == BRAIN:  # each sum, as onnx.reference has it
        total = step(powers[:, :1])
        for k in range(1, n):
            total = step(total + powers[:, k : k + 1])
    wanted = (shifted - step(np.log(total)) if logarithm else powers / total).astype(dtype)
    results = []
    for kind in available_levels(*FLOAT_LEVELS):
        with limit_to(kind):
            results.append(softmax_over(EagerPrimitives(), x, (1,), logarithm))
            for r in range(len(x)):
                np.testing.assert_array_equal(
                    bits(softmax_over(EagerPrimitives(), x[r], (0,), logarithm)), bits(results[-1][r])
                )
    for other in results[1:]:
        np.testing.assert_array_equal(numbers(other), numbers(results[0]))
    np.testing.assert_array_equal(np.isnan(results[0]), np.isnan(wanted))
    unit = 2.0 ** (-10 if dtype == HALF else -7)
    finite = np.isfinite(wanted.astype(np.float32))
    np.testing.assert_allclose(results[0][finite].astype(float), wanted[finite].astype(float), rtol=2 * unit, atol=1e-6)
