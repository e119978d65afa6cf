"""Products with panels: every width, any number of rows and columns."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from cpu_features import AVX2, AVX512, BASELINE, available_levels, limit_to
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.ops import ufunc_kernels, weight_packing
from loopdbg.runtime.ops.weight_packing import (
    FLOAT16_MIN_BYTES,
    INT8_MIN_BYTES,
    cached_layout,
    factor_int8,
    fits_packing_limit,
    is_float16_exact,
    pack_weights,
    packing_for_rows,
)
from text_models import text_with_initializers

F32 = np.dtype(np.float32)
RNG = np.random.default_rng(0)


def packed_product(x: Any, weights: Any, layout: Any = pack_weights) -> Any:
    (m, k), n = x.shape, weights.shape[1]
    out = np.full((m, n), np.nan, np.float32)
    kernel = ufunc_kernels.driver_kernel("panels", F32)
    packed = layout(weights)
    assert loop_nest.run_kernel(kernel, (x, packed, out), (m, k, n), extra=({4: 1, 2: 2, 1: 3}[packed.itemsize],))
    return out


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130, 192])
@pytest.mark.parametrize("m", [*range(1, 16), 23])
def test_rows_have_the_bits_that_they_have_alone(width: int, m: int, n: int) -> None:
    x, weights = (RNG.standard_normal(shape).astype(np.float32) for shape in ((m, 37), (37, n)))
    got = packed_product(x, weights)
    np.testing.assert_allclose(got, x.astype(float) @ weights, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(got, loop_nest.ordered_product(x, weights))
    for k in range(m):
        np.testing.assert_array_equal(got[k : k + 1], packed_product(x[k : k + 1], weights))


def test_fma_has_the_same_bits_in_vectors_of_either_width() -> None:
    x, weights = (RNG.standard_normal(shape).astype(np.float32) for shape in ((11, 300), (300, 100)))
    results = []
    for kind in available_levels(AVX2, AVX512):
        with limit_to(kind):
            results.append(packed_product(x, weights))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


@pytest.mark.parametrize("m", [*range(1, 16), 23])
def test_weights_of_float16_give_the_bits_that_they_give_as_float32(width: int, m: int) -> None:
    k, n = 300, FLOAT16_MIN_BYTES // 1200 + 70
    weights = RNG.standard_normal((k, n)).astype(np.float16).astype(np.float32)
    weights[:8, 5] = [0.0, -0.0, 65504, -65504, 2.0**-14, 2.0**-24, -(2.0**-24), 1023 * 2.0**-24]
    x = RNG.standard_normal((m, k)).astype(np.float32)
    assert pack_weights(weights).dtype == (np.float16 if width != BASELINE else np.float32)
    np.testing.assert_array_equal(packed_product(x, weights), loop_nest.ordered_product(x, weights))


@pytest.mark.parametrize("m", [1, 3, 8, 9, 40])
def test_large_weights_give_the_same_bits_unpacked(width: int, m: int) -> None:
    x, weights = (RNG.standard_normal(shape).astype(np.float32) for shape in ((m, 701), (701, 389)))
    np.testing.assert_array_equal(packed_product(x, weights), loop_nest.ordered_product(x, weights))
    start = RNG.standard_normal(389).astype(np.float32)
    expected = [loop_nest.ordered_product(row[None], weights, start)[0] for row in x]
    np.testing.assert_array_equal(loop_nest.ordered_product(x, weights, start), expected)
    np.testing.assert_allclose(expected, start + x.astype(float) @ weights, rtol=1e-3, atol=1e-4)


def test_no_more_weights_are_packed_than_the_limit_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [RNG.standard_normal((64, 64)).astype(np.float32) for _ in range(3)]
    packed = sum(layout.nbytes for layout in weight_packing._LAYOUT_CACHE.values())
    monkeypatch.setattr(weight_packing, "MAX_PACKED_BYTES", packed + 2 * weights[0].nbytes)
    for matrix in weights[:2]:
        assert fits_packing_limit(matrix, pack_weights)
        cached_layout(matrix, pack_weights)
    assert not fits_packing_limit(weights[2], pack_weights)
    assert fits_packing_limit(weights[0], pack_weights), "what is packed remains so"
    del weights[0], matrix
    gc.collect()
    assert fits_packing_limit(weights[1], pack_weights)


def test_models_beyond_the_limit_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
        beyond (int64 M, float[1,600] x) => (float[1,600] y) {
            always = Constant <value_int = 1> ()
            condition = Cast <to = 9> (always)
            y = Loop (M, condition, x) <body = step (int64 i, bool c, float[1,600] h)
                => (bool more, float[1,600] next) {
                product = MatMul (h, w)
                next = Tanh (product)
                more = Identity (c)
            }>
        }
    """
    weights = RNG.standard_normal((600, 600)).astype(np.float32)
    inputs = {"M": np.int64(5), "x": RNG.standard_normal((1, 600)).astype(np.float32)}
    models, results = [], []
    for limit in (weight_packing.MAX_PACKED_BYTES, 0):
        monkeypatch.setattr(weight_packing, "MAX_PACKED_BYTES", limit)
        before = len(weight_packing._LAYOUT_CACHE)
        models.append(text_with_initializers(text, w=weights))
        results.append(models[-1].run(inputs)["y"])
        assert len(weight_packing._LAYOUT_CACHE) == before + (limit > 0)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("rows", [1, 4, 16, 17])
def test_steps_of_a_batch_read_floats_that_are_near_and_get_the_same_bits(rows: int) -> None:
    near, far = (RNG.standard_normal((k, 512)).astype(np.float16).astype(np.float32) for k in (256, 1024))
    halves = np.float16 if loop_nest.supports_float16_weights() else np.float32
    assert packing_for_rows(rows)(near).dtype == (np.float32 if 4 <= rows <= 16 else halves)
    assert packing_for_rows(rows)(far).dtype == halves
    x = RNG.standard_normal((rows, 256)).astype(np.float32)
    np.testing.assert_array_equal(packed_product(x, near, packing_for_rows(rows)), loop_nest.ordered_product(x, near))


def quantized(k: int, n: int, low: int, high: int, each: bool) -> Any:
    """Whole numbers times a scale, of each column or of all, rounded."""
    whole = RNG.integers(low, high + 1, (k, n)).astype(np.float32)
    scales = (RNG.random(n if each else 1) * 0.01 + 1e-4).astype(np.float32)
    return whole * scales


@pytest.mark.parametrize("m", [*range(1, 16), 23])
@pytest.mark.parametrize("each", [False, True])
def test_scaled_bytes_give_the_bits_of_the_floats_that_they_are(width: int, m: int, each: bool) -> None:
    k, n = 1000, INT8_MIN_BYTES // 4000 + 70
    weights = quantized(k, n, -100, 155, each)
    weights[:, 7] = 0
    weights[:, 8] = RNG.integers(-20, 40, k).astype(np.float32) * 4 * np.float32(0.00371)  # no 1
    x = RNG.standard_normal((m, k)).astype(np.float32)
    assert pack_weights(weights).dtype == (np.uint8 if width == AVX512 else np.float32)
    np.testing.assert_array_equal(packed_product(x, weights), loop_nest.ordered_product(x, weights))


@pytest.mark.parametrize(("low", "high"), [(-128, 127), (0, 255), (-255, 0), (-1, 1), (7, 7)])
def test_any_255_numbers_in_a_row_are_bytes(low: int, high: int) -> None:
    weights = quantized(300, 220, low, high, True)
    result = factor_int8(weights)
    assert result is not None
    numbers, scales, zeros = result
    assert numbers.dtype == np.uint8
    np.testing.assert_array_equal(((numbers + zeros) * scales).view(np.uint32), weights.view(np.uint32))


@pytest.mark.parametrize("odd", [np.nan, np.inf, -0.0, 0.0123456, 300])
def test_one_number_that_is_none_of_them_is_enough(odd: float) -> None:
    weights = quantized(300, 220, -100, 100, True)
    scale = np.abs(weights[:, 3][weights[:, 3] != 0]).min()
    weights[17, 3] = odd * scale
    assert factor_int8(weights) is None
    assert pack_weights(weights).dtype == np.float32


def test_only_what_float16_holds_is_kept_as_such() -> None:
    weights = np.ones((300, FLOAT16_MIN_BYTES // 1200 + 1), np.float32)
    assert is_float16_exact(weights)
    for other in (1 + 2.0**-11, 65520.0, 2.0**-25, np.float32(1e-38)):
        weights[299, 3] = other
        assert not is_float16_exact(weights)
        assert pack_weights(weights).dtype == np.float32 or factor_int8(weights) is not None
    payload = np.array([[0x7FC00001]], np.uint32).view(np.float32)
    assert not is_float16_exact(payload)
    assert is_float16_exact(np.array([[np.nan, np.inf, -np.inf]], np.float32))


def test_a_transposed_matrix_is_packed_as_it_is() -> None:
    weights = RNG.standard_normal((100, 40)).astype(np.float32)
    np.testing.assert_array_equal(pack_weights(weights.T), pack_weights(np.ascontiguousarray(weights.T)))
