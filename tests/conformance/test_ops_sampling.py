"""GridSample of images: the kernel against the primitives of the other forms, and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cpu_features import limit_to
from loopdbg.runtime.ops import grid_sample
from loopdbg.runtime.ops.eager import EagerPrimitives

from .single_node import Array, assert_close, onnx_node

F32 = np.float32


def places(rng: np.random.Generator, *shape: int) -> Array:
    """Inside, at edges and middles of pixels, outside, and far outside."""
    grid = rng.uniform(-1.7, 1.7, (*shape, 2)).astype(F32)
    chosen = rng.choice([-1, 1, 0, 0.5, -3, 1e9, -1e30, np.inf, -np.inf, np.nan], grid.shape)
    return np.where(rng.random(grid.shape) < 0.3, chosen, grid).astype(F32)


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("clamp_first", [False, True])
@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("padding", grid_sample.PADDINGS)
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (6, 1), (2, 2), (5, 7), (16, 16)], ids=str)
def test_the_same_bits_as_by_primitives(
    size: tuple[int, int], padding: str, aligned: bool, clamp_first: bool, kind: int
) -> None:
    with limit_to(kind):
        compare(size, (padding, aligned, clamp_first))


def compare(size: tuple[int, int], settings: tuple[str, bool, bool]) -> None:
    rng = np.random.default_rng([*size, len(settings[0]), settings[1]])
    for batch, channels, rows, columns in ((1, 1, 3, 3), (2, 3, 9, 15), (3, 1, 1, 64), (1, 2, 5, 13)):
        x, grid = rng.normal(size=(batch, channels, *size)).astype(F32), places(rng, batch, rows, columns)
        how: Any = ("linear", *settings)
        with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
            y = grid_sample.sample_grid(EagerPrimitives(), x, grid, *how)
            patch.setattr(grid_sample, "FLOAT32", None)
            expected = grid_sample.sample_grid(EagerPrimitives(), x, grid, *how)
        np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
        assert np.nan_to_num(y).tobytes() == np.nan_to_num(expected).tobytes()


@pytest.mark.parametrize(
    ("mode", "padding"),
    [(m, p) for m in ("linear", "cubic") for p in grid_sample.PADDINGS if (m, p) != ("cubic", "border")],
)
def test_a_place_that_is_no_number_gives_none(mode: str, padding: str) -> None:
    """And spoils no other; onnxruntime reads at -1."""
    rng = np.random.default_rng(4)
    x, grid = rng.normal(size=(1, 2, 4, 5)).astype(F32), rng.uniform(-1.2, 1.2, (1, 3, 3, 2)).astype(F32)
    grid[0, 1, 1, 0] = grid[0, 2, 0, 1] = np.nan
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": 0}
    (y,), (theirs,) = onnx_node("GridSample", [x, grid], opset=20, **attributes)
    expected = np.broadcast_to(np.isnan(grid).any(-1), y.shape)
    np.testing.assert_array_equal(np.isnan(y), expected)
    assert_close([np.where(expected, 0, y)], [np.where(expected, 0, theirs)], rtol=1e-4, atol=1e-5)
