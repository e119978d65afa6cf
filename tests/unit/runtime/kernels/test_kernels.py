"""Native kernels with paths of their own for some sizes and strides: to the bit what NumPy gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.graph import Array, Graph, Operation, System, TensorType, Value
from loopdbg.runtime.kernels.kernel import Kernel, cast_kernel, copy_kernel, where_kernel
from loopdbg.runtime.kernels.loop_nest import run_kernel
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops import ufunc_kernels
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import Elementwise
from loopdbg.runtime.ops.registry import resolve


class NumpyReference(EagerPrimitives):
    """What NumPy's own functions make of arrays."""

    def map(self, function: Elementwise, *inputs: Array) -> Array:
        return np.asarray(function(*inputs)) if isinstance(function, np.ufunc) else super().map(function, *inputs)

    def reduce(self, ufunc: np.ufunc, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
        return np.asarray(ufunc.reduce(x, axis=tuple(axes), keepdims=keepdims, dtype=x.dtype))

    def matmul(self, a: Array, b: Array) -> Array:
        return np.asarray(np.matmul(a, b))

    def cast(self, x: Array, dtype: np.dtype[Any]) -> Array:
        return x.astype(dtype)


def check(op_type: str, *inputs: Array, **attributes: Any) -> None:
    """One ONNX node through native kernels and through NumPy."""
    values = [Value(f"in{k}", TensorType(x.dtype, x.shape)) for k, x in enumerate(inputs)]
    node = Operation(
        name="node",
        op_type=op_type,
        domain="",
        version=21,
        inputs=list(values),
        outputs=[Value("out")],
        attributes=attributes,
    )
    model = Model(Graph("one_node", inputs=values, outputs=[node.outputs[0]], nodes=[node], system=System.ONNX))
    actual = next(iter(model.run({f"in{k}": x for k, x in enumerate(inputs)}).values()))
    with np.errstate(all="ignore"):
        (expected,) = resolve(node, System.ONNX).apply(NumpyReference(), inputs)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    assert actual.tobytes() == expected.tobytes()


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((20, 16), (20, 1)),
        ((20, 1), (20, 16)),
        ((20, 16), (16,)),
        ((1, 16), (20, 1)),
        ((3, 20, 7), (20, 7)),
        ((3, 1, 16), (1, 20, 16)),
        ((5, 3, 64), (5, 1, 64)),
        ((5, 3, 65), (5, 1, 65)),
        ((40, 3), (40, 1)),
    ],
)
def test_broadcast_over_short_rows(dtype: Any, op_type: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(op_type, numbers(*a, dtype=dtype), numbers(*b, dtype=dtype, seed=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("function", [np.maximum, np.minimum, np.add, np.subtract, np.multiply, np.divide])
def test_rows_of_a_few_elements(dtype: Any, n: int, function: np.ufunc) -> None:
    kernel = ufunc_kernels.elementwise_kernel(function, (np.dtype(dtype), np.dtype(dtype)))
    assert kernel is not None
    x, y = numbers(300, 9, dtype=dtype), numbers(40, 9, dtype=dtype, seed=1)
    x[::7, 0], y[::5, 1], x[3, 1], y[3, 0] = np.nan, np.nan, 0.0, -0.0
    sliced, other = x[:, :n], y[:, 1 : 1 + n]
    for a, b in (
        (sliced[:, None], other),
        (other, sliced[:, None].copy()),
        (sliced, x[:, 8:]),
        (x[:, 8:], sliced),
        (sliced, other[3]),
        (sliced[::-1], sliced),
        (sliced[:15], sliced[15:30]),
    ):
        with np.errstate(all="ignore"):
            expected = function(a, b)
        result = ufunc_kernels.run_elementwise(kernel, a, b)
        np.testing.assert_array_equal(result, expected)


def test_rows_of_a_few_elements_into_what_is_read() -> None:
    kernel = ufunc_kernels.elementwise_kernel(np.add, (np.dtype(np.float32), np.dtype(np.float32)))
    x = np.arange(80, dtype=np.float32)
    for shift in (0, 1, 2):  # each row takes what came of the one before it, unless it is its own
        for n in (1, 2, 3):
            memory, expected = x.copy(), x.copy()
            ahead = memory[shift:]
            for i in range(20 * n):
                expected[shift + i] = expected[i] + x[i]
            run_kernel(kernel, (memory, x, ahead), (n,), (4, 4, 4), ((20, 4 * n, 4 * n, 4 * n),))
            np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 200])
def test_sums_of_short_rows(dtype: Any, n: int) -> None:
    # As pairwise as NumPy's; several rows, so that two axes are done at once.
    x = numbers(12, n, dtype=dtype)
    x[2, -1] = np.inf
    check("ReduceSum", x, np.array([1]))
    check("ReduceSum", np.stack([x, -x]), np.array([2]), keepdims=0)


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceProd"])
def test_other_reductions_of_short_rows(op_type: str) -> None:
    # Products of a few numbers: NumPy multiplies longer rows in another order.
    check(op_type, numbers(12, 5), np.array([1]))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(9,), (9, 3), (2, 9), (2, 9, 2), (2, 9, 5)])
def test_gather_of_blocks_of_any_size(index: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    check("Gather", x, np.array([[3, -1, 0], [8, -9, 3]], index), axis=shape.index(9))


@pytest.mark.parametrize("n", [1, 63, 64, 2047, 2048, 2049, 2113, 5000])
@pytest.mark.parametrize("offset", [0, 1, 4, 16, 31, 32, 4095])
def test_copies_at_any_alignment(n: int, offset: int) -> None:
    # Joined at an odd place, which sets how source and target lie to one another.
    x = np.random.default_rng(n).integers(0, 255, n).astype(np.uint8)
    for before in range(offset, offset + 64, 16):
        check("Concat", np.zeros(before, np.uint8), x, np.ones(3, np.uint8), axis=0)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("pads", [(1, 1, 1, 1), (0, 2, 0, 0), (0, 0, 3, 0), (2, -1, -1, 3), (-7, 1, 8, 0)])
def test_padding_fills_all_around(dtype: Any, pads: tuple[int, ...]) -> None:
    check("Pad", np.arange(42).reshape(6, 7).astype(dtype), np.array(pads), np.array(5).astype(dtype))


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize(
    ("shape", "pads"),
    [
        ((6, 7), (1, 1, 1, 1)),
        ((6, 7), (2, 0, 0, 3)),
        ((3, 4, 5), (1, 2, 3, 2, 0, 1)),
        ((2, 3, 6, 7), (0, 0, 1, 2, 0, 0, 2, 1)),
        ((6, 7), (2, -1, -1, 3)),
        ((2, 1), (1, 0, 1, 0)),
    ],
)
def test_padding_by_slices(mode: str, shape: tuple[int, ...], pads: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    inputs = np.array(pads)
    check("Pad", x, inputs, mode=mode)
    half = len(shape)
    if inputs.min() >= 0:
        (result,) = Model(_pad(x, inputs, mode)).run({"x": x, "pads": inputs}).values()
        np.testing.assert_array_equal(result, np.pad(x, list(zip(pads[:half], pads[half:], strict=True)), mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("pads", [(2, 2, 2, 2), (50, 0, 0, 50)])
def test_padding_by_many_times_the_size_gathers(pads: tuple[int, ...]) -> None:
    check("Pad", np.arange(6, dtype=np.float32).reshape(2, 3), np.array(pads), mode="wrap")


def _pad(x: Array, pads: Array, mode: str) -> Graph:
    inputs = [Value("x", TensorType(x.dtype, x.shape)), Value("pads", TensorType(pads.dtype, pads.shape))]
    node = Operation("pad", "Pad", "", 21, list(inputs), [Value("out")], {"mode": mode})
    return Graph("one_node", inputs=inputs, outputs=[node.outputs[0]], nodes=[node], system=System.ONNX)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "int16"])
@pytest.mark.parametrize("shape", [(4, 4), (3, 9), (17, 5), (2, 8, 13), (3, 4, 5, 6), (64, 100)])
def test_copies_that_turn(dtype: str, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for order in itertools.permutations(range(len(shape))):
        for view in (x.transpose(order), x[..., 1:].transpose(order), x[::-1, ::2].transpose(order)):
            np.testing.assert_array_equal(
                ufunc_kernels.run_elementwise(ufunc_kernels.copy_kernel(view.dtype), view), view
            )


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("chance", [0, 0.1, 0.5, 1])
def test_where_takes_whole_rows(dtype: str, chance: float) -> None:
    rng = np.random.default_rng(8)
    for shape in ((7, 2), (5, 32), (64, 32), (3, 9, 8), (2, 40, 300), (4, 3, 2, 33)):
        a, b = (rng.integers(0, 99, shape).astype(dtype) for _ in range(2))
        which = rng.random((*shape[:-1], 1)) < chance
        for x, y in (
            (a, b),
            (a[..., :1, :], b),
            (a, b[..., ::-1, :]),
            (a[..., 1:2, :], b[..., :1, :]),
            (b[..., 1:], a[..., 1:]),
        ):
            condition = np.broadcast_to(which, np.broadcast_shapes(which.shape, x.shape, y.shape))
            got = ufunc_kernels.run_elementwise(
                ufunc_kernels.where_kernel(a.dtype), condition, *np.broadcast_arrays(x, y)
            )
            np.testing.assert_array_equal(got, np.where(condition, x, y))


@pytest.mark.parametrize("source", [*"?bBhHiIlLfd"])
@pytest.mark.parametrize("target", [*"bBif"])
def test_casts_of_neighbours_are_those_of_single_numbers(source: str, target: str) -> None:
    """Whatever its length and where it begins; numbers that do not fit, too."""
    odd = [0, 1, -1, 2.5, -2.5, 127, 128, -129, 255, 256, 2**31, -(2**31) - 1, 2**33 + 7, -(2.0**40), 1e30]
    numbers = np.array([*odd, np.nan, np.inf, -np.inf, -0.0, 16777217, 0.99999] * 9)
    with np.errstate(invalid="ignore"):
        x = numbers.astype(source) if source in "fd" else np.nan_to_num(numbers, posinf=9, neginf=-9).astype(source)
    if source == target:
        return
    kernel = ufunc_kernels.cast_kernel(x.dtype, np.dtype(target))
    assert kernel is not None
    steps = x.itemsize, np.dtype(target).itemsize
    singly = np.empty(x.shape, target)
    for k in range(len(x)):
        assert run_kernel(kernel, (x[k : k + 1], singly[k : k + 1]), (1,), (3 * steps[0], 3 * steps[1]))
    for first, count in ((0, len(x)), (1, 64), (3, 7), (5, 100)):
        together = np.zeros(count, target)
        assert run_kernel(kernel, (x[first : first + count], together), (count,), steps)
        assert together.tobytes() == singly[first : first + count].tobytes()


UFUNCS = [f for f in map(np.__dict__.get, dir(np)) if isinstance(f, np.ufunc) and f.signature is None and f.nout == 1]
LOOPS = [
    pytest.param(function, kernel, np.dtype(char), id=f"{function.__name__}-{char}")
    for function in dict.fromkeys(UFUNCS)
    for char in "?bBhHiIlLefd"
    if (kernel := ufunc_kernels.elementwise_kernel(function, (np.dtype(char),) * function.nin)) is not None
    and kernel.exact  # others get neighbours alone
]


@pytest.mark.parametrize(("function", "kernel", "dtype"), LOOPS)
def test_elements_lie_any_steps_apart(function: np.ufunc, kernel: Kernel, dtype: np.dtype[Any]) -> None:
    """Loops of NumPy's have been wrong for some."""
    n, rng, sizes = 37, np.random.default_rng(0), (dtype.itemsize,) * function.nin + (kernel.out.itemsize,)
    x = [rng.uniform(1, 5, 8 * n).astype(dtype) for _ in range(function.nin)]
    for near, far in itertools.product(range(1, 7), range(1, 7)):
        inputs = tuple(a[: n * near : near].copy() for a in x)
        expected, out = np.zeros(n, kernel.out), np.zeros(n * far, kernel.out)
        assert run_kernel(kernel, (*inputs, expected), (n,), sizes)
        apart = (near,) * function.nin + (far,)
        assert run_kernel(kernel, (*x, out), (n,), tuple(step * size for step, size in zip(apart, sizes, strict=True)))
        assert out[::far].tobytes() == expected.tobytes(), apart
        assert not np.delete(out, np.s_[::far]).any(), apart


@pytest.mark.parametrize("char", "lqLQ")
def test_equal_dtypes_of_several_names_are_one(char: str) -> None:
    """Kernels are kept by dtype: who asks first must not decide under which name others find what comes of them."""
    dtype = np.dtype(char)
    kernels = (cast_kernel(np.dtype(np.float32), dtype), copy_kernel(dtype), where_kernel(dtype))
    assert {kernel.out.char for kernel in kernels} == {np.dtype(f"{dtype.kind}8").char}
