"""Products of matrices as they lie: stacks, few columns, any strides, each width."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from cpu_features import AVX2, AVX512, BASELINE, available_levels, limit_to
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.kernels.symbolic_extents import ExtentVariable, SymbolicExtent
from loopdbg.runtime.ops import ufunc_kernels
from loopdbg.runtime.ops.eager import EagerPrimitives

RNG = np.random.default_rng(0)

#: Rows, terms of a sum, columns: around what tiles take, and what is turned at once.
SIZES = (
    *((m, 19, 7) for m in range(2, 20)),
    *((9, 5, n) for n in (2, 3, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 130)),
    *((3, k, 20) for k in (1, 2, 127, 128, 129, 300)),
    *((40, 130, 6), (50, 7, 8), (37, 66, 2), (32, 260, 5), (2, 3, 70), (33, 4, 16), (7, 300, 70), (2, 16, 1000)),
    *((1, k, n) for k in (7, 8, 9, 15, 16, 17, 33, 64) for n in (2, 15, 16, 17, 31, 32, 33, 100)),
    *((m, k, 50) for m in (1, 2, 3, 4, 5) for k in (16, 20, 64, 130)),
)
#: What BLAS does: dot products, and large ones.
OTHERS = ((5, 30, 1), (1, 30, 1), (1, 1000, 3000), (3, 1000, 3000), (9, 1000, 300))
#: What an attention over long caches multiplies, with few rows.
LONG = ((1, 64, 5000), (1, 5000, 64), (4, 40, 7000), (3, 9000, 33))


def numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def with_strides(x: Any, way: str) -> Any:
    """The same numbers in another place."""
    if way == "turned":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if way == "apart":
        widened = np.full((*x.shape[:-2], x.shape[-2] * 2, x.shape[-1] * 3), np.nan, np.float32)
        widened[..., ::2, ::3] = x
        return widened[..., ::2, ::3]
    if way == "backwards":
        return np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1]
    if way == "rows apart":
        widened = np.full((*x.shape[:-1], x.shape[-1] + 5), np.nan, np.float32)
        widened[..., : x.shape[-1]] = x
        return widened[..., : x.shape[-1]]
    return x


WAYS = ("plain", "turned", "apart", "backwards", "rows apart")


@pytest.mark.parametrize("way_b", WAYS)
@pytest.mark.parametrize("way_a", WAYS)
def test_every_element_is_summed_in_order_wherever_it_lies(width: int, way_a: str, way_b: str) -> None:
    for m, k, n in SIZES:
        a, b = numbers(m, k), numbers(k, n)
        got = EagerPrimitives().matmul(with_strides(a, way_a), with_strides(b, way_b))
        np.testing.assert_allclose(got, a.astype(float) @ b, rtol=1e-4, atol=1e-4)
        if width != BASELINE:
            for row in range(m):
                wanted = loop_nest.ordered_product(a[row : row + 1], b)
                assert got[row : row + 1].tobytes() == wanted.tobytes(), (m, k, n)


def test_extents_that_vary_are_judged_as_numbers_are(width: int) -> None:
    kernel = ufunc_kernels.product_kernel(np.dtype(np.float32), np.dtype(np.float32))
    sizes = (1, 2, 7, 63, 64, 65, 128, 129, 400, 3000, 40_000)
    results = set()
    for m, k, n in product((1, 2, 4, 5, 16, 17, 100), sizes, sizes):
        small = loop_nest.is_small_tile_product(kernel, m, k, n)
        results.add(small)
        assert loop_nest.is_small_tile_product(kernel, m, SymbolicExtent(ExtentVariable(k)), n) == small, (m, k, n)
        assert loop_nest.is_small_tile_product(kernel, m, k, SymbolicExtent(ExtentVariable(n))) == small, (m, k, n)
        assert loop_nest.is_small_tile_product(kernel, SymbolicExtent(ExtentVariable(m)), k, n) == small, (m, k, n)
    assert results == {False, True}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("m", "k", "n"), LONG)
def test_so_is_what_few_rows_meet_of_long_caches(width: int, way: str, m: int, k: int, n: int) -> None:
    a, b = numbers(m, k), numbers(k, n)
    got = EagerPrimitives().matmul(a, with_strides(b, way))
    np.testing.assert_allclose(got, a.astype(float) @ b, rtol=1e-3, atol=1e-3)
    if width != BASELINE:
        assert got.tobytes() == loop_nest.ordered_product(a, b).tobytes()


@pytest.mark.parametrize(("m", "k", "n"), OTHERS)
@pytest.mark.parametrize("way", WAYS)
def test_what_blas_does_is_right_as_well(width: int, way: str, m: int, k: int, n: int) -> None:
    a, b = numbers(m, k), numbers(k, n)
    got = EagerPrimitives().matmul(with_strides(a, way), with_strides(b, way))
    np.testing.assert_allclose(got, a.astype(float) @ b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        *(
            ((4, 5, 6), (6, 7)),
            ((5, 6), (4, 6, 7)),
            ((4, 5, 6), (4, 6, 7)),
            ((4, 1, 6), (4, 6, 7)),
            ((4, 5, 6), (4, 6, 1)),
        ),
        *(((2, 1, 5, 6), (3, 6, 7)), ((2, 3, 5, 6), (2, 1, 6, 7)), ((2, 3, 40, 6), (6, 7)), ((4, 5, 6), (1, 6, 7))),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_stacks_are_products_one_by_one(width: int, way: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = with_strides(numbers(*a), way), with_strides(numbers(*b), way)
    got = EagerPrimitives().matmul(x, y)
    shape = got.shape[:-2]
    xs, ys = np.broadcast_to(x, (*shape, *a[-2:])), np.broadcast_to(y, (*shape, *b[-2:]))
    for place in np.ndindex(*shape):
        assert got[place].tobytes() == EagerPrimitives().matmul(xs[place], ys[place]).tobytes()


@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (2, 0, 70)])
def test_nothing_to_multiply(width: int, m: int, k: int, n: int) -> None:
    for way in ("plain", "turned"):
        got = EagerPrimitives().matmul(with_strides(numbers(m, k), way), with_strides(numbers(k, n), way))
        assert got.shape == (m, n) and not got.any()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_row_and_column(width: int, way: str, odd: float) -> None:
    a, b = numbers(3, 9, 40), numbers(3, 40, 21)
    a[1, 4, 7], b[2, 30, 20], b[0, 3, 0] = odd, odd, odd
    a[0, 5, 3] = 0
    with np.errstate(all="ignore"):
        wanted = a.astype(float) @ b
    np.testing.assert_allclose(
        EagerPrimitives().matmul(with_strides(a, way), with_strides(b, way)), wanted, rtol=1e-4, atol=1e-4
    )


def test_fma_has_the_same_bits_in_vectors_of_either_width() -> None:
    a, b = numbers(5, 11, 300), numbers(5, 300, 23)
    results = []
    for kind in available_levels(AVX2, AVX512):
        with limit_to(kind):
            results.append(EagerPrimitives().matmul(a, b).tobytes())
    assert len(set(results)) <= 1
