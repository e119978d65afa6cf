"""Delta debugging on sets of numbers, without a model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from loopdbg.debugger.compare.proof.delta_debugging import smaller_sufficient_subsets


def minimal(items: Sequence[int], needed: set[int]) -> tuple[list[int], int]:
    """The last subset that has what is needed, and how many subsets were tested."""
    tested: list[Sequence[int]] = []

    def suffices(chosen: Sequence[int]) -> bool:
        tested.append(chosen)
        return needed <= set(chosen)

    return [list(items), *smaller_sufficient_subsets(items, suffices)][-1], len(tested)


@pytest.mark.parametrize("needed", [{0}, {7}, {2, 3}, {0, 7}, {1, 4, 6}, set(range(8))])
def test_minimal_subset_is_what_is_needed(needed: set[int]) -> None:
    assert minimal(range(8), needed)[0] == sorted(needed)


def test_one_item_of_many_takes_logarithmically_many_tests() -> None:
    assert minimal(range(64), {41})[1] <= 12


def test_earlier_items_are_preferred() -> None:
    subsets = list(smaller_sufficient_subsets([1, 2, 3, 4], lambda chosen: bool({1, 4} & set(chosen))))
    assert subsets[-1] == [1]


def test_no_subset_is_smaller_than_one_item() -> None:
    assert not list(smaller_sufficient_subsets([1], lambda chosen: True)) and not list(
        smaller_sufficient_subsets([], lambda chosen: True)
    )


def test_smallest_subset_so_far_is_there_if_a_test_ends_the_search() -> None:
    subsets: list[list[int]] = []

    def suffices(chosen: Sequence[int]) -> bool:
        if len(chosen) == 1:
            raise KeyboardInterrupt
        return 5 in chosen

    with pytest.raises(KeyboardInterrupt):
        for subset in smaller_sufficient_subsets(range(8), suffices):
            subsets.append(subset)
    assert subsets[-1] == [4, 5]
