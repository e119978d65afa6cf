"""Boxes that stay: the routine gives what the formula in NumPy gives, box by box."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.graph import Array
from loopdbg.runtime.ops import non_max_suppression as subject
from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.non_max_suppression import NmsParameters, intersection_over_union

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64])


def _boxes(rng: np.random.Generator, n: int, kind: Any) -> Array:
    """Ordered corners on a coarse grid, so that many overlap by the same amount; some are empty, or nowhere."""
    low = rng.integers(0, 6, (n, 2)) / 2
    table = np.concatenate([low, low + rng.integers(-1, 6, (n, 2)) / 3], 1).astype(kind)
    odd = rng.random(table.shape) < 0.03
    table[odd] = rng.choice([np.nan, np.inf, -np.inf, 1e30, -0.0], odd.sum())
    return table


def _scores(rng: np.random.Generator, n: int, kind: Any) -> Array:
    """Many are equal; some are no numbers."""
    scores = (rng.integers(0, 9, n) / 8).astype(kind)
    odd = rng.random(n) < 0.05
    scores[odd] = rng.choice([np.nan, np.inf, -np.inf, -0.0], odd.sum())
    return scores


def _formula(table: Array, scores: Array, how: NmsParameters, more: float) -> list[int]:
    return how.select(scores, lambda k, others: intersection_over_union(table[k], table[others], more))[0]


@KINDS
@pytest.mark.parametrize("more", [0.0, 1.0])
@pytest.mark.parametrize("at_threshold", [False, True])
def test_selected_boxes_match_formula(kind: Any, more: float, at_threshold: bool) -> None:
    rng = np.random.default_rng(11)
    for n in (0, 1, 2, 15, 16, 17, 40, 120):
        for most in (0, 1, 5, n, 1 << 62, -1):
            for threshold in (0.0, 0.25, 1 / 3, 0.9, 1.0, -0.1):
                how = NmsParameters(most, threshold, float(rng.choice([-np.inf, 0, 0.3])), inclusive=at_threshold)
                table, scores = _boxes(rng, n, kind), _scores(rng, n, kind)
                kept = subject._select_boxes(EagerPrimitives(), table[None], scores[None, None], how, more)
                assert kept[:, 2].tolist() == _formula(table, scores, how, more)


@KINDS
def test_batches_and_classes_each_for_themselves(kind: Any) -> None:
    rng = np.random.default_rng(12)
    tables = np.stack([_boxes(rng, 30, kind) for _ in range(3)])
    scores = np.stack([[_scores(rng, 30, kind) for _ in range(4)] for _ in range(3)])
    how = NmsParameters(7, 0.3, 0.1)
    for ranked in (False, True):
        indices, best = subject._select_per_class(tables, scores, how, None, ranked)
        formula = partial(lambda table, k, others: intersection_over_union(table[k], table[others]))
        wanted, values = subject._select_per_class(tables, scores, how, formula, ranked)
        assert indices.tobytes() == wanted.tobytes() and indices.shape == wanted.shape and indices.dtype == np.int64
        assert best.tobytes() == values.tobytes() and best.dtype == kind


def test_sorted_boxes_and_their_pixels() -> None:
    rng = np.random.default_rng(13)
    for n in (0, 3, 64):
        table = _boxes(rng, n, np.float32)
        ranks = -np.arange(n, dtype=np.float64)
        for more in (0.0, 1.0):
            kept = subject.select_presorted(table, 0.4, 20, more)
            assert kept.tolist() == _formula(table, ranks, NmsParameters(20, 0.4, -np.inf), more)


def test_boxes_of_another_shape() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        subject._select_boxes(
            EagerPrimitives(),
            np.zeros((1, 3, 1), np.float32),
            np.zeros((1, 1, 3), np.float32),
            NmsParameters(1, 0.5, 0.0),
        )
