"""Products with panels: every tiling, any number of rows and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.ops import arithmetic
from loopdbg.runtime.ops.weights import HALVED_BYTES, are_halves, panels

F32 = np.dtype(np.float32)
RNG = np.random.default_rng(0)
ANY, AVX2, AVX512 = 1, 2, 3


@pytest.fixture(params=[ANY, AVX2, AVX512], ids=["any", "AVX2", "AVX-512"])
def tiling(request: pytest.FixtureRequest) -> Iterator[int]:
    if not kernels.use_tiling(request.param):
        pytest.skip("this processor has no such instructions")
    yield request.param
    kernels.use_tiling(0)


def packed_product(x: Any, weights: Any) -> Any:
    (m, k), n = x.shape, weights.shape[1]
    out = np.full((m, n), np.nan, np.float32)
    kernel = arithmetic.special("panels", F32)
    packed = panels(weights)
    assert kernels.run(kernel, (x, packed, out), (m, k, n), extra=(2 if packed.dtype == np.float16 else 1,))
    return out


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130, 192])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 8, 23])
def test_rows_have_the_bits_that_they_have_alone(tiling: int, m: int, n: int) -> None:
    x, weights = (RNG.standard_normal(shape).astype(np.float32) for shape in ((m, 37), (37, n)))
    got = packed_product(x, weights)
    np.testing.assert_allclose(got, x.astype(float) @ weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(got, kernels.rows_product(x, weights))
    for k in range(m):
        np.testing.assert_array_equal(got[k : k + 1], packed_product(x[k : k + 1], weights))


def test_fma_has_the_same_bits_in_vectors_of_either_width() -> None:
    x, weights = (RNG.standard_normal(shape).astype(np.float32) for shape in ((11, 300), (300, 100)))
    found = [packed_product(x, weights) for kind in (AVX2, AVX512) if kernels.use_tiling(kind)]
    kernels.use_tiling(0)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 6, 7, 8, 23])
def test_weights_of_float16_give_the_bits_that_they_give_as_float32(tiling: int, m: int) -> None:
    k, n = 300, HALVED_BYTES // 1200 + 70
    weights = RNG.standard_normal((k, n)).astype(np.float16).astype(np.float32)
    weights[:8, 5] = [0.0, -0.0, 65504, -65504, 2.0**-14, 2.0**-24, -(2.0**-24), 1023 * 2.0**-24]
    x = RNG.standard_normal((m, k)).astype(np.float32)
    assert panels(weights).dtype == (np.float16 if tiling != ANY else np.float32)
    np.testing.assert_array_equal(packed_product(x, weights), kernels.rows_product(x, weights))


def test_only_what_float16_holds_is_kept_as_such() -> None:
    weights = np.ones((300, HALVED_BYTES // 1200 + 1), np.float32)
    assert are_halves(weights)
    for other in (1 + 2.0**-11, 65520.0, 2.0**-25, np.float32(1e-38)):
        weights[299, 3] = other
        assert not are_halves(weights)
        assert panels(weights).dtype == np.float32
    payload = np.array([[0x7FC00001]], np.uint32).view(np.float32)
    assert not are_halves(payload)
    assert are_halves(np.array([[np.nan, np.inf, -np.inf]], np.float32))


def test_a_transposed_matrix_is_packed_as_it_is() -> None:
    weights = RNG.standard_normal((100, 40)).astype(np.float32)
    np.testing.assert_array_equal(panels(weights.T), panels(np.ascontiguousarray(weights.T)))
