"""What one constant is to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.compare.report.constant_relations import describe_constant_relation, describe_reordering

WEIGHT = np.arange(1, 25, dtype=np.float32).reshape(8, 3)
KERNEL = np.arange(2 * 3 * 2 * 2, dtype=np.float32).reshape(2, 3, 2, 2)


@pytest.mark.parametrize(
    ("right", "message"),
    [
        (WEIGHT.T, "the same, transposed"),
        (WEIGHT.reshape(4, 6), "the same in another shape"),
        (WEIGHT[::-1], "the same, reversed along axis 0"),
        (WEIGHT[:, ::-1], "the same, reversed along axis 1"),
        (WEIGHT[[0, 1, 4, 5, 2, 3, 6, 7]], "the same, its 4 blocks along axis 0 in the order 0, 2, 1, 3"),
        (-WEIGHT, "the same, negated"),
        (WEIGHT * np.float32(0.125), "the same, multiplied by 0.125"),
        (WEIGHT + 1, ""),
        (WEIGHT.astype(np.float64).T, ""),
        (np.zeros_like(WEIGHT), ""),
        (WEIGHT[:4], ""),
        (3.0, ""),
    ],
)
def test_matrices(right: Any, message: str) -> None:
    assert describe_constant_relation(WEIGHT, right) == message


def test_others() -> None:
    assert describe_constant_relation(KERNEL, KERNEL.transpose(1, 0, 2, 3)) == "the same, its first two axes exchanged"
    assert describe_constant_relation(np.float32(1), np.float32(2)) == ""
    assert describe_constant_relation(np.array(["a", "b"], object), np.array(["b", "a"], object)) == ""
    assert describe_constant_relation([WEIGHT], [WEIGHT.T]) == ""


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda a: a[::-1], "the same, reversed along axis 0"),
        (lambda a: np.concatenate([a[:, :2], a[::-1, 2:]], 1), "axis 1, from 2 to 3: the same, reversed along axis 0"),
        (lambda a: a.T, "the same, transposed"),
        (lambda a: a[[1, 3, 0, 2]], "the same numbers in another order"),
        (lambda a: a * np.float32(2), ""),
        (lambda a: a, ""),
    ],
)
def test_describe_reordering_of_results(change, text: str) -> None:
    left = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    right = np.ascontiguousarray(change(left))
    # Another order of summation changes the last bits.
    right = np.nextafter(right, np.float32(9))
    assert describe_reordering(left, right) == text


def test_describe_reordering_ignores_few_elements() -> None:
    left = np.arange(9, dtype=np.float32)
    assert not describe_reordering(left, left[[1, 0, 2, 3, 4, 5, 6, 7, 8]])
