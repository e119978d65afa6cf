"""Products with weights of a few bits, by every way that this processor has, next to what the numbers represent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.microsoft_quantized import matmul_nbits, unpack_bits


@pytest.mark.usefixtures("width")
@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize(
    ("m", "k", "n", "block"), [(1, 16, 1, 16), (2, 40, 64, 16), (3, 64, 65, 64), (7, 100, 130, 32), (0, 32, 3, 32)]
)
@pytest.mark.parametrize("points", ["none", "packed", "floats"])
def test_products(bits: int, m: int, k: int, n: int, block: int, points: str) -> None:
    rng = np.random.default_rng([bits, m, k, n])
    blocks = -(-k // block)
    a = rng.standard_normal((m, k)).astype(np.float32)
    b = rng.integers(0, 256, (n, blocks, block * bits // 8), np.uint8)
    scales = rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
    middle: Any = None
    zero: Any = 1 << (bits - 1)
    if points == "packed":
        middle = rng.integers(0, 256, (n, -(-blocks * bits // 8)), np.uint8)
        zero = unpack_bits(middle, bits)[:, :blocks, None].astype(float)
    elif points == "floats":
        middle = rng.uniform(0, 1 << bits, (n, blocks)).astype(np.float32)
        zero = middle[..., None].astype(float)
    weights = ((unpack_bits(b, bits).astype(float) - zero) * scales[..., None].astype(float)).reshape(n, -1)[:, :k]
    result = matmul_nbits(EagerPrimitives(), a, b, scales, middle, K=k, N=n, bits=bits, block_size=block)
    most = np.abs(a).astype(float) @ np.full((k, n), 0.1 * (1 << bits))
    assert result.shape == (m, n)
    assert (np.abs(result - a.astype(float) @ weights.T) <= 2e-6 * most).all()


def test_an_omitted_projection_is_zeros_and_the_bias() -> None:
    a, bias = np.ones((2, 32), np.float32), np.arange(3, dtype=np.float32)
    nothing = np.zeros((3, 0, 16), np.uint8), np.zeros((3, 0), np.float32)
    result = matmul_nbits(EagerPrimitives(), a, *nothing, bias=bias, K=32, N=3, block_size=32)
    np.testing.assert_array_equal(result, np.tile(bias, (2, 1)))


@pytest.mark.parametrize(
    ("block", "columns", "name", "got"),
    [(24, 32, "block_size", "24"), (32, 31, "A", "31"), (16, 32, "weights", "(3, 1, 9)")],
)
def test_what_does_not_fit(block: int, columns: int, name: str, got: str) -> None:
    a, b, scales = np.ones((2, columns), np.float32), np.zeros((3, 1, 16), np.uint8), np.ones((3, 2), np.float32)
    if name != "weights":
        scales = scales[:, :1]
    else:
        b = b[:, :, :9]
    with raises_error(ModelError, name=name, got=got):
        matmul_nbits(EagerPrimitives(), a, b, scales, K=32, N=3, block_size=block)
