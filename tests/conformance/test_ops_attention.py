"""Attention and rotary embeddings next to onnxruntime, OpenVINO and formulas in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_features import AVX2, AVX512, available_levels, limit_to
from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System
from loopdbg.runtime.ops import attention
from loopdbg.runtime.ops.eager import EagerPrimitives

from .single_node import Array, assert_close, onnx_node, openvino_node, run_here

F32, F64 = np.float32, np.float64


def signed(*shape: int, seed: int = 0, dtype: Any = F32) -> Array:
    return np.random.default_rng([seed, *shape]).normal(0, 1, shape).astype(dtype)


def expected(
    q: Array, k: Array, v: Array, scale: float, bias: Any = 0.0, allowed: Any = True, softcap: float = 0.0
) -> Array:
    """Attention as it is written, heads first."""
    q, k, v = (x.astype(F64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    raw = scale * q @ k.swapaxes(2, 3)
    if softcap:
        raw = np.tanh(raw / softcap) * softcap
    raw = np.where(allowed, raw + bias, -np.inf)
    most = raw.max(-1, keepdims=True)
    powers = np.exp(raw - np.where(np.isinf(most), 0, most))
    total = powers.sum(-1, keepdims=True)
    return np.asarray((powers / np.where(total, total, 1)) @ v)


SIZES = [(1, 8, 8, 1, 33, 32, 32), (2, 6, 2, 3, 17, 20, 24), (1, 4, 1, 1, 1, 64, 64), (1, 2, 2, 5, 100, 7, 3)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("late", [(False, False, False), (True, True, True), (True, False, True)], ids=str)
def test_few_queries_one_by_one_and_as_products(size: tuple[int, ...], late: tuple[bool, bool, bool]) -> None:
    batch, heads, groups, queries, keys, width, value_width = size
    q, k = signed(batch, heads, queries, width), signed(batch, groups, keys, width, seed=1)
    v = signed(batch, groups, keys, value_width, seed=2)
    # The same values in memory with positions first, which is read by its strides.
    inputs = [
        x.swapaxes(1, 2).copy().swapaxes(1, 2) if swapped else x for x, swapped in zip((q, k, v), late, strict=True)
    ]
    bias = signed(batch, 1, queries, keys, seed=3)
    places = np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)
    for softcap, mask, window in (
        (0.0, None, attention.AttentionWindow()),
        (2.0, bias, attention.AttentionWindow()),
        (0.0, None, attention.AttentionWindow(keys_after=0, offset=keys - queries)),
        (0.0, bias[:, :, :1], attention.AttentionWindow(3, 2, offset=keys - queries)),
    ):
        allowed = np.ones(places.shape, bool)
        if window.keys_before >= 0:
            allowed &= places >= -window.keys_before
        if window.keys_after >= 0:
            allowed &= places <= window.keys_after
        wanted = expected(q, k, v, 0.25, 0.0 if mask is None else mask, allowed, softcap)
        how: Any = {"scale": 0.25, "bias": mask, "window": window, "softcap": softcap, "positions_first": late[0]}
        results = []
        for most in (attention.MAX_FUSED_QUERIES, 0):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(attention, "MAX_FUSED_QUERIES", most)
                y = attention.attend(EagerPrimitives(), *inputs, **how)
            results.append(y.swapaxes(1, 2) if late[0] else y)
        for y in results:
            np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-6)


def test_processors_with_fma_give_the_same_bits() -> None:
    results = []
    for kind in available_levels(AVX2, AVX512):
        each = b""
        for size in SIZES:
            batch, heads, groups, queries, keys, width, value_width = size
            q, k = signed(batch, heads, queries, width), signed(batch, groups, keys, width, seed=1)
            with limit_to(kind):
                y = attention.attend(
                    EagerPrimitives(), q, k, signed(batch, groups, keys, value_width, seed=2), scale=0.3
                )
            each += y.tobytes()
        results.append(each)
    assert len(set(results)) <= 1


def test_what_sees_nothing() -> None:
    q, k, v = signed(1, 2, 2, 16), signed(1, 2, 5, 16, seed=1), signed(1, 2, 5, 16, seed=2)
    bias = np.zeros((2, 5), F32)
    bias[1] = -np.inf
    for most in (0, 8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(attention, "MAX_FUSED_QUERIES", most)
            y = attention.attend(EagerPrimitives(), q, k, v, scale=1, bias=bias)
            assert np.isfinite(y).all() and not y[:, :, 1].any() and y[:, :, 0].all()
            assert np.isnan(
                attention.attend(EagerPrimitives(), q, k, v, scale=1, bias=bias, zeros=False)[:, :, 1]
            ).all()
            # Where a score is infinite as well, what is hidden is hidden.
            assert not attention.attend(EagerPrimitives(), q * F32(1e38), k * F32(9), v, scale=1, bias=bias)[
                :, :, 1
            ].any()


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (4, 1)], ids=str)
@pytest.mark.parametrize("queries", [1, 3, 12])
@pytest.mark.parametrize("causal", [0, 1])
def test_onnx_attention(heads: tuple[int, int], queries: int, causal: int) -> None:
    q, k = signed(2, queries, heads[0] * 16), signed(2, queries, heads[1] * 16, seed=1)
    v = signed(2, queries, heads[1] * 16, seed=2)
    past = [signed(2, heads[1], 9, 16, seed=n) for n in (3, 4)]
    counts: dict[str, Any] = {"q_num_heads": heads[0], "kv_num_heads": heads[1], "is_causal": causal}
    tolerance: dict[str, float] = {"rtol": 1e-4, "atol": 1e-5}
    assert_close(*onnx_node("Attention", [q, k, v], opset=23, **counts), **tolerance)
    mask = np.random.default_rng(9).random((queries, queries + 9)) < 0.7
    mask[:, :2] = True
    pair = onnx_node("Attention", [q, k, v, mask, *past], 3, opset=23, **counts, softcap=3.0)
    assert_close(*pair, **tolerance)
    pair = onnx_node("Attention", [q, k, v, None, *past], 3, opset=23, **counts, scale=0.7)
    assert_close(*pair, **tolerance)


@pytest.mark.parametrize("queries", [1, 3, 12])
@pytest.mark.parametrize("which", ["key", "value", "key behind all", "value, and nothing is seen"])
def test_what_is_not_a_number_shows_where_it_is_hidden(queries: int, which: str) -> None:
    """A mask is added to scores, and 0 times NaN is NaN, however many queries there are."""
    keys = queries + 2
    q, k, v = signed(1, 2, queries, 16), signed(1, 2, keys, 16, seed=1), signed(1, 2, keys, 16, seed=2)
    mask = np.zeros((queries, keys), F32)
    mask[:, slice(None) if "nothing" in which else 1] = -np.inf
    place = (0, 0, -1 if "behind" in which else 1, 3)
    (v if "value" in which else k)[place] = np.nan
    (y, *_), (expected, *_) = onnx_node("Attention", [q, k, v, mask], opset=23, is_causal=int("behind" in which))
    assert np.isnan(expected[:, 0]).any() and not np.isnan(expected[:, 1]).any()
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))


@pytest.mark.parametrize("queries", [1, 3, 12])
@pytest.mark.parametrize("causal", [False, True])
def test_openvino_attention(queries: int, causal: bool) -> None:
    q, k, v = signed(2, 4, queries, 16), signed(2, 4, 12, 16, seed=1), signed(2, 4, 12, 16, seed=2)
    mask = signed(queries, 12, seed=3)
    tolerance: dict[str, float] = {"rtol": 1e-4, "atol": 1e-5}
    for inputs in ([q, k, v], [q, k, v, mask], [q, k, v, mask.reshape(1, 1, queries, 12)]):
        assert_close(*openvino_node("ScaledDotProductAttention", list(inputs), opset=13, causal=causal), **tolerance)
    whole = signed(2, 4, queries, 12, seed=4)
    inputs = [q, k, v, whole, np.array(0.4, F32)]
    assert_close(*openvino_node("ScaledDotProductAttention", inputs, opset=13, causal=False), **tolerance)
    seen = np.random.default_rng(5).random((2, 1, queries, 12)) < 0.8
    seen[..., 0] = True
    assert_close(*openvino_node("ScaledDotProductAttention", [q, k, v, seen], opset=13, causal=False), **tolerance)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("turned", [0, 8])
def test_rotary_embedding(interleaved: int, turned: int) -> None:
    cos, sin = signed(20, (turned or 16) // 2), signed(20, (turned or 16) // 2, seed=1)
    places = np.array([[3, 4, 5], [0, 19, 7]])
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": turned}
    flat = signed(2, 3, 64, seed=2)
    assert_close(*onnx_node("RotaryEmbedding", [flat, cos, sin, places], opset=23, **attributes, num_heads=4))
    four = signed(2, 4, 3, 16, seed=2)
    assert_close(*onnx_node("RotaryEmbedding", [four, cos, sin, places], opset=23, **attributes))
    assert_close(*onnx_node("RotaryEmbedding", [four, cos[places], sin[places]], opset=23, **attributes))


def test_what_does_not_fit() -> None:
    q, k = signed(1, 4, 2, 16), signed(1, 3, 2, 16)
    version: Any = {"version": 23, "attributes": {}}
    with raises_error(ModelError, name="q_num_heads", got="4"):
        run_here(System.ONNX, "Attention", [q, k, k], **version)
    with raises_error(ModelError, name="query", got="(1, 4, 2, 16), (1, 4, 2, 16) and (1, 3, 2, 16)"):
        run_here(System.ONNX, "Attention", [q, q, k], **version)
    with raises_error(ModelError, name="mask", got="(3, 2)"):
        run_here(System.ONNX, "Attention", [q, q, q, signed(3, 2)], **version)
    with raises_error(ModelError, name="q_num_heads", got="0"):
        run_here(System.ONNX, "Attention", [signed(1, 2, 16)] * 3, **version)
    with raises_error(ModelError, name="past_value"):
        run_here(System.ONNX, "Attention", [q, q, q, None, q], **version)
    with raises_error(ModelError, name="softmax_precision", got="uint8"):
        run_here(System.ONNX, "Attention", [q, q, q], version=23, attributes={"softmax_precision": 2})
    with raises_error(ModelError, name="rotary_embedding_dim", got="5"):
        run_here(System.ONNX, "RotaryEmbedding", [signed(1, 2, 3, 5), k, k], **version)
