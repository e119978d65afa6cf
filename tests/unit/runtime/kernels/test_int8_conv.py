"""Convolutions of 8-bit integers, by every way that this processor has, next to sums of NumPy's wide integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Array
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.int8_convolution import int8_window_sums, int32_window_sums
from loopdbg.runtime.ops.window_geometry import WindowGeometry, window_geometry

from .prepacked_primitives import PrepackedEager

BYTES = (np.int8, np.uint8)


def reference_conv(x: Array, w: Array, groups: int, geometry: WindowGeometry) -> Array:
    """Numbers less their zero points, one tap after the other."""
    x, w = x.astype(np.int64), w.astype(np.int64)
    icg, ocg = w.shape[1], w.shape[0] // groups
    behind = [after + stride for after, stride in zip(geometry.pads_after, geometry.strides, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *zip(geometry.pads_before, behind, strict=True)])
    out = np.zeros((len(x), len(w), *geometry.output_shape), np.int64)
    for tap in np.ndindex(*geometry.kernel):
        places = zip(tap, geometry.dilations, geometry.strides, geometry.output_shape, strict=True)
        part = x[:, :, *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in places)]
        for g in range(groups):
            own = slice(g * ocg, (g + 1) * ocg)
            out[:, own] += np.einsum("nc...,oc->no...", part[:, g * icg : (g + 1) * icg], w[:, :, *tap][own])
    return out.astype(np.int32)


def spread(zeros: Array, rank: int) -> Array:
    return zeros.astype(np.int32).reshape(-1, *(1,) * (rank - 1))


def cases(count: int, seed: int) -> Iterator[tuple[WindowGeometry, int, int, int, int]]:
    """Windows, images, groups, and channels a group: into it and out of it."""
    rng = np.random.default_rng(seed)
    while count:
        rank = int(rng.integers(1, 4))
        kernel, strides, dilations = (tuple(map(int, rng.integers(1, 4, rank))) for _ in range(3))
        size = tuple(map(int, rng.integers(1, (90, 30, 9)[rank - 1], rank)))
        pads = tuple(map(int, rng.integers(0, 3, 2 * rank)))
        try:
            result = window_geometry(size, kernel, strides, pads, dilations)
        except ModelError:
            continue
        if 0 not in result.output_shape:
            count -= 1
            yield (
                result,
                int(rng.integers(1, 3)),
                int(rng.integers(1, 3)),
                int(rng.integers(1, 9)),
                int(rng.integers(4, 40)),
            )


def between(rng: Any, low: int, high: int, shape: Any, dtype: Any) -> Array:
    x: Array = rng.integers(low, high, shape, dtype, endpoint=True)
    x.reshape(-1)[:2] = (low, high)[: x.size]
    return x


@pytest.mark.usefixtures("way")
def test_bytes() -> None:
    rng = np.random.default_rng(5)
    for result, n, groups, icg, ocg in cases(40, 1):
        for x_type, w_type in product(BYTES, repeat=2):
            ends = [(int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in (x_type, w_type)]
            x = between(rng, *ends[0], (n, groups * icg, *result.size), x_type)
            w = between(rng, *ends[1], (groups * ocg, icg, *result.kernel), w_type)
            x_zero, w_zero = between(rng, *ends[0], (), x_type), between(rng, *ends[1], groups * ocg, w_type)
            np.testing.assert_array_equal(
                int8_window_sums(EagerPrimitives(), x, w, None, None, groups, result),
                reference_conv(x, w, groups, result),
            )
            for zeros in (w_zero, w_zero[:1]):
                expected = reference_conv(
                    x.astype(np.int32) - x_zero.astype(np.int32),
                    w.astype(np.int32) - spread(zeros, w.ndim),
                    groups,
                    result,
                )
                np.testing.assert_array_equal(
                    int8_window_sums(EagerPrimitives(), x, w, x_zero, zeros, groups, result), expected
                )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("ends", [(-255, 0), (0, 255), (-100, 155), (5, 5), (-128, 127)])
@pytest.mark.parametrize("of_weights", [(-128, 127), (-255, 0), (0, 255), (-130, 125)])
def test_wide_integers_that_are_bytes(ends: tuple[int, int], of_weights: tuple[int, int]) -> None:
    rng = np.random.default_rng(6)
    for result, n, groups, icg, ocg in cases(6, 2):
        x = between(rng, *ends, (n, groups * icg, *result.size), np.int32)
        w = between(rng, *of_weights, (groups * ocg, icg, *result.kernel), np.int32)
        np.testing.assert_array_equal(
            int32_window_sums(PrepackedEager(), x, w, groups, result), reference_conv(x, w, groups, result)
        )


def test_what_is_done_in_another_way() -> None:
    result = window_geometry((9, 9), (3, 3))
    x, w = np.ones((1, 2, 9, 9), np.int32), np.ones((4, 2, 3, 3), np.int32)
    assert int32_window_sums(EagerPrimitives(), x, w, 1, result) is None
    assert int32_window_sums(PrepackedEager(), x, w * 256, 1, result) is None
    assert int32_window_sums(PrepackedEager(), x.astype(np.int64), w.astype(np.int64), 1, result) is None
    assert int8_window_sums(EagerPrimitives(), x, w, None, None, 1, result) is None
    few = np.ones((2, 1, 3, 3), np.int8)
    assert int8_window_sums(EagerPrimitives(), x.astype(np.int8), few, None, None, 2, result) is None
    with pytest.raises(ModelError):
        int32_window_sums(
            PrepackedEager(), x * 256, w, 1, result
        )  # the routine fails, and a plan then runs the node in Python
