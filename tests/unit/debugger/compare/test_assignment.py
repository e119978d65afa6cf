"""The linear assignment problem, against all permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loopdbg.debugger.compare.alignment.assignment import best_assignment


@pytest.mark.parametrize("seed", range(40))
def test_no_permutation_has_a_higher_total(seed: int) -> None:
    random = np.random.default_rng(seed)
    height, width = random.integers(1, 6, 2)
    scores = np.where(random.random((height, width)) < 0.3, np.nan, random.integers(-20, 40, (height, width)) / 10)
    padded = np.full((max(height, width),) * 2, -3.0)
    padded[:height, :width] = np.nan_to_num(scores, nan=-3.0)
    totals = (padded[range(len(padded)), order].sum() for order in itertools.permutations(range(len(padded))))
    pairs = best_assignment(scores)
    total = sum(scores[pair] for pair in pairs) - 3.0 * (len(padded) - len(pairs))
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert total == pytest.approx(max(totals), abs=1e-4)


def test_equal_scores_keep_the_order_and_what_cannot_be_paired_stays_alone() -> None:
    assert best_assignment(np.zeros((3, 3))) == [(0, 0), (1, 1), (2, 2)]
    assert best_assignment(np.array([[np.nan, 1.0], [np.nan, 2.0]])) == [(1, 1)]
    assert best_assignment(np.empty((0, 2))) == []
