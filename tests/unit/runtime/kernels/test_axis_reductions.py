"""Reductions whose results lie side by side: each is that of one number after the other, however many are under way."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.runtime.graph import Array, Graph, Operation, System, TensorType, Value
from loopdbg.runtime.kernels.loop_nest import run_kernel
from loopdbg.runtime.kernels.strided_iteration import plan_loops
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops import ufunc_kernels
from loopdbg.runtime.ops.eager import EagerPrimitives

FUNCTIONS = {"ReduceSum": np.add, "ReduceProd": np.multiply, "ReduceMax": np.maximum, "ReduceMin": np.minimum}
#: Of rows that results are made of, of rows into a row, and of short rows into one; some for each of the ways.
SHAPES = [
    *[((70, n), 1) for n in range(1, 8)],
    *[((3, 30, n), 2) for n in (2, 3, 5)],
    *[((n, m), 0) for n, m in itertools.product((1, 2, 7, 8, 40), (8, 16, 21, 64, 91, 300))],
    *[((37, n, m), 1) for n, m in itertools.product((2, 8, 16, 35), (2, 3, 4, 5, 7, 11, 64))],
]


def reduce_sequentially(function: np.ufunc, x: Array, axis: int, begin: Array | None = None) -> Array:
    """What comes of a reduction that takes one number after the other; of two NaNs, and of two zeros, the first one."""
    result = x.take([0], axis) if begin is None else begin.copy()
    if begin is None and function in ufunc_kernels.IDENTITY:
        result[...] = ufunc_kernels.IDENTITY[function](x.dtype)
    with np.errstate(all="ignore"):
        for k in range(x.shape[axis]):
            b = x.take([k], axis)
            kept = np.isnan(result)
            if function in ufunc_kernels.IDEMPOTENT:
                kept |= result >= b if function is np.maximum else result <= b
            result = np.where(kept, result, b if function in ufunc_kernels.IDEMPOTENT else function(result, b))
    return result


def numbers(shape: tuple[int, ...], dtype: Any, odd: bool, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    if odd:
        some = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, np.finfo(dtype).tiny / 8], dtype)
        x = np.where(rng.random(shape) < 0.3, rng.choice(some, shape), x)
    return x


def reduce_into(function: np.ufunc, x: Array, axis: int, out: Array) -> Array:
    """Into ``out``, which has any strides and holds what to begin with."""
    kernel = ufunc_kernels.reduction_kernel(function, x.dtype)
    spread = (x.shape, ufunc_kernels.reduction_strides(out, (axis,)))
    assert run_kernel(kernel, (out, x, out), *plan_loops(x.shape, (spread, (x.shape, x.strides), spread)))  # type: ignore[arg-type]
    return out


def same(actual: Array, expected: Array) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)
    assert actual.tobytes() == expected.tobytes()  # the same zeros and NaNs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op_type", FUNCTIONS)
@pytest.mark.parametrize("odd", [False, True])
def test_one_number_after_the_other(dtype: Any, op_type: str, odd: bool) -> None:
    for (shape, axis), seed in itertools.product(SHAPES, range(2)):
        x = numbers(shape, dtype, odd, seed)
        expected = reduce_sequentially(FUNCTIONS[op_type], x, axis)
        native = reduced(op_type, x, axis)
        eager = EagerPrimitives().reduce(FUNCTIONS[op_type], x, (axis,), True)
        same(native, expected)
        assert native.tobytes() == eager.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_any_strides_and_beginnings(dtype: Any, function: np.ufunc) -> None:
    for shape, axis in (((70, 3), 1), ((70, 6), 1), ((40, 70), 0), ((37, 20, 3), 1), ((37, 20, 16), 1)):
        width = numbers((*(2 * n + 3 for n in shape[:-1]), 2 * shape[-1] + 1), dtype, True)
        begin = numbers(tuple(1 if d == axis else 2 * n for d, n in enumerate(shape)), dtype, False, 1)
        for cut in (
            np.s_[..., : shape[-1]],
            np.s_[..., 1 : 1 + shape[-1]],
            np.s_[..., : 2 * shape[-1] : 2],
            np.s_[::-1, ..., : shape[-1]],
            np.s_[..., shape[-1] - 1 :: -1],
        ):
            x = width[cut][tuple([slice(n) for n in shape])] if shape else width
            kept = tuple([1 if d == axis else n for d, n in enumerate(shape)])
            for spaced in (1, 2):
                out = begin.copy()[tuple([slice(None, n * spaced if n > 1 else 1, spaced) for n in kept])]
                expected = reduce_sequentially(function, x, axis, out)
                same(reduce_into(function, x, axis, out), expected)


@pytest.mark.parametrize("function", FUNCTIONS.values())
def test_results_among_what_is_folded(function: np.ufunc) -> None:
    """Each number is read when its turn comes, after what was written before."""
    kernel = ufunc_kernels.reduction_kernel(function, np.dtype(np.float32))
    assert kernel is not None
    for shift, (m, along), (n, step) in itertools.product((0, 1, 5), ((16, 3), (70, 1)), ((3, 1), (3, 70), (20, 70))):
        memory = numbers((6000,), np.float32, False)
        expected = memory.copy()
        for i, r in itertools.product(range(n), range(m)):
            expected[r + shift] = function(expected[r + shift], expected[i * step + r * along])
        run_kernel(kernel, (memory[shift:], memory, memory[shift:]), (m,), (4, 4 * along, 4), ((n, 0, 4 * step, 0),))
        same(memory, expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
def test_extremes_of_rows(dtype: Any, op_type: str) -> None:
    """However long rows are, wherever they lie, and however many there are: of zeros it is the first one."""
    function = FUNCTIONS[op_type]
    for n in (*range(1, 40), 63, 64, 65, 127, 128, 129, 300, 1100):
        for odd, rows in ((0.0, 19), (0.02, 19), (0.3, 8), (0.02, 1)):
            x = numbers((rows, n + 3), np.float32, False, n)
            rng = np.random.default_rng(n)
            few = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
            x = np.where(rng.random(x.shape) < odd, rng.choice(few, x.shape), x)
            if n % 2:
                x = np.minimum(x, 0) if function is np.maximum else np.maximum(x, 0)
            x = x.astype(dtype)
            for part in (x[:, :n], x[:, 3:], x[:, : n - n % 2 : 2], np.asfortranarray(x)[:, :n]):
                if part.shape[1]:
                    result = EagerPrimitives().reduce(function, part, (1,), True).astype(np.float64)
                    width = reduce_sequentially(function, part.astype(np.float64), 1)
                    np.testing.assert_array_equal(result, width)
                    assert (np.signbit(result) == np.signbit(width))[~np.isnan(width)].all()


#: Where halves of halves come out unlike, or rest on numbers beyond whole vectors.
LENGTHS = (*range(1, 300), *range(500, 1200, 3), *range(1016, 1050), *range(2040, 2100), 4096, 18432, 40000, 70001)


sums_like_numpy = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="NumPy summed in another order before 2.3"
)


@sums_like_numpy
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("odd", [False, True])
def test_sums_are_those_of_numpy(dtype: Any, odd: bool) -> None:
    for n in LENGTHS:
        rows = 1 + n % 19 if n < 2000 else 2
        x = numbers((rows, n + 3), dtype, odd and n % 4 == 0, n)
        for part in (x[:, :n], x[:, 3:], x[0, 1 : n + 1], x[:, : n - n % 2 : 2]):
            with np.errstate(all="ignore"):
                expected = np.add.reduce(part, part.ndim - 1, keepdims=True)
            np.testing.assert_array_equal(EagerPrimitives().reduce(np.add, part, (part.ndim - 1,), True), expected)


@sums_like_numpy
@pytest.mark.parametrize("shape", [(12, 16), (200, 200), (3, 5, 700), (40000,), (1, 18432), (7, 1000), (2, 4, 129)])
def test_sums_without_python(shape: tuple[int, ...]) -> None:
    x = numbers(shape, np.float32, False)
    expected = np.add.reduce(x, x.ndim - 1, keepdims=True)
    assert reduced("ReduceSum", x, x.ndim - 1).tobytes() == expected.tobytes()
    everything = x.reshape(1, -1)
    assert reduced("ReduceSum", everything, 1).tobytes() == np.add.reduce(everything, 1, keepdims=True).tobytes()


@pytest.mark.parametrize("op_type", FUNCTIONS)
def test_nothing_to_fold(op_type: str) -> None:
    for shape, axis in (((0, 3), 1), ((40, 3, 0), 1), ((0, 64), 1)):
        x = np.zeros(shape, np.float32)
        assert reduced(op_type, x, axis).shape == tuple(1 if d == axis else n for d, n in enumerate(shape))
    if op_type in ("ReduceSum", "ReduceProd"):
        same(reduced(op_type, np.zeros((40, 0), np.float32), 1), np.full((40, 1), op_type == "ReduceProd", np.float32))


def reduced(op_type: str, x: Array, axis: int) -> Array:
    """As a node gives it that runs without Python."""
    values = [Value("x", TensorType(x.dtype, x.shape)), Value("axes", TensorType(np.dtype(np.int64), (1,)))]
    node = Operation("node", op_type, "", 21, list(values), [Value("out")], {"keepdims": 1})
    graph = Graph("one_node", inputs=values, outputs=[node.outputs[0]], nodes=[node], system=System.ONNX)
    (result,) = Model(graph).run({"x": x, "axes": np.array([axis])}).values()
    return np.asarray(result)
