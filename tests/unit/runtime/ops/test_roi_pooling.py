"""Regions of images: the routine gives what the formula in NumPy gives; bins are added up in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import Array
from loopdbg.runtime.kernels.bindings import image as routines
from loopdbg.runtime.ops import roi_pooling as subject

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _formula(
    values: Array, boxes: Array, images: Array, pooled: tuple[int, int], ratio: int, how: int, flag: bool
) -> Array:
    out = np.empty((len(boxes), values.shape[1], *pooled), values.dtype)
    parts = how == routines.ROI_MAX_WEIGHTED
    for k, image in enumerate(images):
        x1, y1, x2, y2 = boxes[k]
        extent = y2 - y1, x2 - x1
        if flag:
            extent = max(extent[0], values.dtype.type(1)), max(extent[1], values.dtype.type(1))
        reduce = np.maximum.reduce if parts else subject.sum_weighted_neighbours
        samples = subject.roi_align_samples(values[image], (y1, x1), extent, pooled, ratio, reduce)
        mode, least = ("avg", None) if how == routines.ROI_MEAN else ("max", None if parts else 0.0)
        out[k] = subject.pool_samples(samples, mode, least)
    return out


def _regions(rng: np.random.Generator, n: int, kind: Any) -> Array:
    """Some reach over the edges, some are empty or turned around, some are as large as several images."""
    boxes = rng.uniform(-3, 12, (n, 4))
    boxes[::3, 2:] = boxes[::3, :2] + rng.uniform(0, 3, (len(boxes[::3]), 2))
    boxes[1::5] = np.round(boxes[1::5])
    boxes[4::7, 2:] = boxes[4::7, :2] + rng.choice([0, 40], (len(boxes[4::7]), 2))
    return boxes.astype(kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("how", [routines.ROI_MEAN, routines.ROI_MAX_WEIGHTED, routines.ROI_MAX_POINTS])
@pytest.mark.parametrize("flag", [False, True])
def test_it_gives_what_the_formula_gives(kind: Any, how: int, flag: bool) -> None:
    rng = np.random.default_rng(21)
    for shape, pooled in (
        ((2, 3, 9, 8), (3, 2)),
        ((1, 1, 1, 1), (1, 1)),
        ((3, 2, 1, 6), (2, 5)),
        ((1, 0, 4, 4), (2, 2)),
    ):
        for ratio in (0, 1, 2, 9):
            values, boxes = rng.standard_normal(shape).astype(kind), _regions(rng, 30, kind)
            values[rng.random(shape) < 0.01] = np.nan
            images = rng.integers(0, shape[0], 30)
            actual = subject._roi_align(values, boxes, images, pooled, ratio, how, flag)
            wanted = _formula(values, boxes, images, pooled, ratio, how, flag)
            assert actual.dtype == kind
            if how == routines.ROI_MEAN:
                np.testing.assert_allclose(actual, wanted, rtol=0, atol=3e-6 if kind == np.float32 else 1e-14)
            else:
                np.testing.assert_array_equal(actual, wanted)


def test_no_regions() -> None:
    values, none = np.zeros((1, 2, 3, 3), np.float32), np.zeros(0, np.int64)
    assert subject._roi_align(values, np.zeros((0, 4), np.float32), none, (2, 2), 0, routines.ROI_MEAN, True).shape == (
        0,
        2,
        2,
        2,
    )


@pytest.mark.parametrize("end", [1e9, np.nan, np.inf])
def test_regions_without_end(end: float) -> None:
    values, boxes = np.zeros((1, 1, 3, 3), np.float32), np.array([[0, 0, end, 2]], np.float32)
    with raises_error(ModelError, name="image.roi_align"):
        subject._roi_align(values, boxes, np.zeros(1, np.int64), (2, 2), 0, routines.ROI_MEAN, False)
