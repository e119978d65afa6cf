"""Products of 8-bit integers, by every way that this processor has, next to NumPy's on as_int64 integers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Array
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.int8_weight_packing import int32_product, pack_int32_weights, pack_weights
from loopdbg.runtime.ops.integer_matmul import integer_product

from .prepacked_primitives import PrepackedEager

BYTES = (np.int8, np.uint8)
#: Around what is done at once: 4, 16 and 64 products, 64 columns, 6, 16 and 32 rows.
SIZES = (
    (1, 1, 1), (1, 5, 70), (2, 64, 64), (3, 100, 65), (4, 63, 130), (7, 129, 64), (13, 33, 200), (16, 64, 64),
    (17, 66, 10), (32, 100, 64), (33, 65, 70), (65, 128, 129), (5, 0, 3), (0, 4, 4), (4, 4, 0),
)  # fmt: skip
STACKS = (
    ((3, 4, 5), (3, 5, 6)), ((1, 4, 5), (3, 5, 6)), ((2, 3, 4, 5), (5, 6)), ((2, 3, 4, 5), (3, 5, 6)), ((5,), (5, 6)),
    ((4, 5), (5,)), ((2, 4, 5), (2, 5, 70)), ((5,), (5,)), ((0, 4, 5), (1, 5, 6)), ((2, 1, 4, 5), (1, 3, 5, 6)),
)  # fmt: skip


def numbers(shape: Any, dtype: Any, seed: int = 0) -> Array:
    """Over the whole range, whose ends saturate what sums two products in 16 bits."""
    ends = np.iinfo(dtype)
    x = np.random.default_rng([seed, *np.atleast_1d(shape)]).integers(ends.min, ends.max, shape, dtype, endpoint=True)
    return np.asarray(np.where(np.arange(x.size).reshape(x.shape) % 3 == 0, ends.max, x)).astype(dtype)


def as_int64(x: Array | None) -> Any:
    return 0 if x is None else x.astype(np.int32)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_products(m: int, k: int, n: int) -> None:
    for a_type, b_type in product(BYTES, repeat=2):
        a, b = numbers((m, k), a_type), numbers((k, n), b_type, 1)
        zeros = [
            (None, None),
            (numbers((), a_type), numbers((), b_type)),
            (numbers((m, 1), a_type), numbers(n, b_type)),
        ]
        for a_zero, b_zero in zeros:
            expected = (as_int64(a) - as_int64(a_zero)) @ (as_int64(b) - as_int64(b_zero))
            for p in (EagerPrimitives(), PrepackedEager()):
                np.testing.assert_array_equal(integer_product(p, a, b, a_zero, b_zero), expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("a_shape", "b_shape"), STACKS)
def test_stacks(a_shape: tuple[int, ...], b_shape: tuple[int, ...]) -> None:
    a, b = numbers(a_shape, np.uint8), numbers(b_shape, np.int8)
    for p in (EagerPrimitives(), PrepackedEager()):
        result = integer_product(p, a, b)
        np.testing.assert_array_equal(result, as_int64(a) @ as_int64(b))
        if len(b_shape) > 1 and len(a_shape) > 1:
            a_zero, b_zero = numbers((*a_shape[:-1], 1), np.uint8), numbers((*b_shape[:-2], 1, b_shape[-1]), np.int8)
            expected = (as_int64(a) - as_int64(a_zero)) @ (as_int64(b) - as_int64(b_zero))
            np.testing.assert_array_equal(integer_product(p, a, b, a_zero, b_zero), expected)


@pytest.mark.usefixtures("way")
def test_sums_wrap_around() -> None:
    k = 2**18
    a, b = np.full((2, k), 255, np.uint8), np.full((k, 1), -128, np.int8)
    expected = np.full((2, 1), (-128 * 255 * k + 2**31) % 2**32 - 2**31, np.int64)
    np.testing.assert_array_equal(integer_product(EagerPrimitives(), a, b), expected)


def test_panels_lie_in_cache_lines() -> None:
    assert pack_weights(numbers((5, 70), np.int8)).__array_interface__["data"][0] % 64 == 0


#: Least and greatest number of rows and of weights: bytes less a zero point, signed and not; then what are no bytes.
ROWS = (
    (-255, 0),
    (0, 255),
    (-100, 155),
    (-127, 127),
    (5, 5),
    (-128, 128),
    (-256, -200),
    (0, 256),
    (-(2**31), 2**31 - 1),
)
WEIGHTS = ((-128, 127), (-255, 0), (0, 255), (-130, 125))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_wide_products_are_exact(m: int, k: int, n: int) -> None:
    for (low, high), ends in product(ROWS, WEIGHTS):
        a, b = between(low, high, (m, k)), between(*ends, (k, n))
        expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
        result = int32_product(PrepackedEager(), a, b)
        if not b.size:
            assert result is None
            continue
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(int32_product(PrepackedEager(), a.reshape(m, 1, k), b), expected.reshape(m, 1, n))


def between(low: int, high: int, shape: tuple[int, int]) -> Array:
    """Both ends are among them."""
    x = np.random.default_rng([high % 1000, *shape]).integers(low, high, shape, np.int32, endpoint=True)
    x.reshape(-1)[:2] = (low, high)[: x.size]
    return x


@pytest.mark.parametrize("ends", [(-129, 127), (-256, -1), (0, 256), (-(2**31), 2**31 - 1)])
def test_weights_that_are_no_bytes(ends: tuple[int, int]) -> None:
    weights = between(*ends, (4, 6))
    assert not pack_int32_weights(weights).size
    assert int32_product(PrepackedEager(), between(0, 9, (2, 4)), weights) is None


def test_products_that_are_not_wide() -> None:
    a, b = between(0, 9, (2, 4)), between(0, 9, (4, 6))
    assert int32_product(EagerPrimitives(), a, b) is None
    assert int32_product(PrepackedEager(), a.astype(np.int64), b.astype(np.int64)) is None
    assert int32_product(PrepackedEager(), a, b[None]) is None


@pytest.mark.parametrize(
    ("a", "b", "zeros", "name", "got"),
    [
        (np.zeros((2, 3), np.int16), np.zeros((3, 2), np.int8), (), "first", "int16"),
        (np.zeros((2, 3), np.int8), np.zeros((2, 2), np.int8), (), "B", "(2, 2)"),
        (np.zeros((2, 3), np.int8), np.zeros((3, 2), np.int8), (np.zeros((), np.uint8),), "first_zero_point", "uint8"),
        (np.zeros((2, 3), np.int8), np.zeros((3, 2), np.int8), (np.zeros(3, np.int8),), "zero points", "(3, 1)"),
    ],
)
def test_what_does_not_fit(a: Array, b: Array, zeros: tuple[Array, ...], name: str, got: str) -> None:
    with raises_error(ModelError, name=name, got=got):
        integer_product(EagerPrimitives(), a, b, *zeros)
