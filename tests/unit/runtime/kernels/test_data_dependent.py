"""Results that are as long as the numbers say: what NumPy finds, keeps and tells apart, with nothing written behind."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from loopdbg.runtime.graph import Array, System
from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import RoutineCall
from loopdbg.runtime.ops.registry import find_definition

WHOLE = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
FLOATS = (np.float16, np.float32, np.float64)
SIZES = (0, 1, 2, 31, 63, 64, 65, 128, 200, 1000)


class GuardedOutputs(EagerPrimitives):
    """What routines write behind their results and scratch memory shows."""

    def call(self, routine: RoutineCall, inputs: Any) -> Any:
        around = [np.full(int(np.prod(shape)) + 16, 7, dtype) for shape, dtype in routine.outputs]
        width, count = np.full(routine.scratch_bytes + 64, 77, np.uint8), np.empty((), np.int64)
        results = [x[:-16].reshape(shape) for x, (shape, _) in zip(around, routine.outputs, strict=True)]
        arrays = (*map(np.ascontiguousarray, inputs), *results, count, width[: routine.scratch_bytes])
        assert loop_nest.run_kernel(kernels.routine_kernel(routine.name), arrays, extra=tuple(routine.params))
        assert all((x[-16:] == x.dtype.type(7)).all() for x in around) and (width[routine.scratch_bytes :] == 77).all()
        outcomes = []
        for x, axis in zip(results, routine.growing_axes, strict=True):
            shape = x.shape if axis < 0 else (*x.shape[:axis], int(count), *x.shape[axis + 1 :])
            outcomes.append(x.reshape(-1)[: int(np.prod(shape))].reshape(shape))
        return tuple(outcomes)


def run(op_type: str, *inputs: Array, p: Any = None, **attributes: Any) -> Any:
    definition = find_definition(System.ONNX, "", op_type, 21)
    assert definition is not None
    return definition.function(p or GuardedOutputs(), *inputs, **attributes)


def sparse(rng: np.random.Generator, n: int, dtype: Any, share: float) -> Array:
    """Small numbers, many of them zeros of either sign and, where there are such, no numbers."""
    x = np.where(rng.random(n) < share, rng.integers(-3, 9, n), 0)
    if np.dtype(dtype).kind in "bu":
        return np.abs(x).astype(dtype)
    result = x.astype(dtype)
    if np.dtype(dtype).kind != "i":
        result[rng.random(n) < 0.2] *= np.array(-1).astype(dtype)
        result[rng.random(n) < share / 4] = np.array(np.nan).astype(dtype)
    return result


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS, ml_dtypes.bfloat16], ids=lambda dtype: np.dtype(dtype).name)
def test_places_of_what_is_not_zero(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    for n in SIZES:
        for share in (0.0, 0.02, 0.5, 1.0):
            x = sparse(rng, n, dtype, share)
            shapes = [(n,), (1, n), (n, 1), (1, n, 1)] + [(n // k, k) for k in (2, 5, 8) if n and n % k == 0]
            for shape in (*shapes, *([(5, 2, 1, 4, 25)] if n == 1000 else [])):
                places = run("NonZero", x.reshape(shape))
                wanted = np.array(np.nonzero(x.reshape(shape).astype(np.float64)), np.int64)
                assert places.dtype == np.int64
                np.testing.assert_array_equal(places, wanted, strict=True)


def test_places_where_a_quotient_is_hard_to_guess() -> None:
    """Extents and places at which a reciprocal of 32 bits is one too low."""
    for extent in (2, 3, 7, 641, 6_700_417, 8_388_607):
        x = np.zeros((9_000_000 // extent + 1, extent), bool)
        rng = np.random.default_rng(extent)
        for k in (*range(5), *rng.integers(0, len(x), 40).tolist(), len(x) - 1):
            x[k % len(x), [0, -1, int(rng.integers(extent))]] = True
        np.testing.assert_array_equal(run("NonZero", x), np.array(np.nonzero(x)), strict=True)
        definition = find_definition(System.OPENVINO, "", "NonZero", 3)
        assert definition is not None
        narrow = definition.function(GuardedOutputs(), x, output_type=np.dtype(np.int32))
        np.testing.assert_array_equal(narrow, np.array(np.nonzero(x), np.int32), strict=True)


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS], ids=lambda dtype: np.dtype(dtype).name)
def test_what_differs(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    for n in SIZES:
        spread = rng.standard_normal(n) * 1e4 if dtype in FLOATS else rng.integers(-(2**62), 2**62, n)
        for x in (sparse(rng, n, dtype, 0.1), sparse(rng, n, dtype, 1.0), spread.astype(dtype)):
            values, first, which, times = np.unique(x, True, True, True)
            for ours, wanted in zip(run("Unique", x, n_outputs=4), (values, first, which, times), strict=True):
                assert ours.tobytes() == wanted.tobytes() and ours.dtype == wanted.dtype
            order = np.argsort(first)
            mine = run("Unique", x, sorted=0, n_outputs=4)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            for ours, wanted in zip(mine, (x[first[order]], first[order], rank[which], times[order]), strict=True):
                assert ours.tobytes() == wanted.tobytes() and ours.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_what_a_condition_keeps(dtype: str) -> None:
    rng = np.random.default_rng(5)
    p = GuardedOutputs()
    for n in SIZES:
        for width in (1, 2, 3, 5, 17, 64):
            x = rng.integers(0, 99, (2, n, width)).astype(dtype)
            for share in (0.0, 0.3, 1.0):
                for more in (-1, 0, 70):
                    condition = np.concatenate([rng.random(n) < share, np.zeros(70, bool)])[: max(n + more, 0)]
                    m, most = len(condition), min(len(condition), n)
                    numbers = (2, n, width * x.itemsize, m, 1, 0)
                    output = ((2, most, width), x.dtype)
                    (kept,) = p.call(
                        RoutineCall("data_movement.compress", (output,), numbers, m + 8, growing_axes=(1,)),
                        (x, condition),
                    )
                    np.testing.assert_array_equal(kept, np.compress(condition, x, 1), strict=True)


def test_a_condition_for_what_is_not_there() -> None:
    kept, count, width = np.empty((3, 2), np.float32), np.empty((), np.int64), np.empty(80, np.uint8)
    x, condition = np.ones((3, 2), np.float32), np.zeros(70, bool)
    arrays, numbers = (x, condition, kept, count, width), (1, 3, 8, 70, 1, 0)
    assert loop_nest.run_kernel(kernels.routine_kernel("data_movement.compress"), arrays, extra=numbers)
    condition[66] = True
    assert not loop_nest.run_kernel(kernels.routine_kernel("data_movement.compress"), arrays, extra=numbers)
