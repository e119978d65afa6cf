"""What pictures of many elements take of them."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.debugger.statistics.sample import evenly, sampled, sampled_numbers


@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000, 1024, 1025, 1039, 5000, 10**6 + 1])
def test_single_numbers_are_taken_in_runs(count: int) -> None:
    found = sampled_numbers(np.arange(count, dtype=np.float32), 1024)
    assert len(found.places) <= 1024 and (np.diff(found.places) > 0).all()
    assert (found.places[0], found.places[-1]) == (0, count - 1)
    assert found.rows[:, 0].tolist() == found.places.tolist()
    assert found.is_whole == (count <= 1024)
    if not found.is_whole:
        # What alternates is seen to: both kinds are in each run.
        runs = found.places.reshape(-1, 16)
        assert (np.diff(runs, axis=1) == 1).all()


@pytest.mark.parametrize("count", [1, 2, 7, 64, 65, 1000])
@pytest.mark.parametrize("lines", [1, 3, 64])
def test_each_line_of_a_picture_has_elements(count: int, lines: int) -> None:
    places = evenly(count, lines, 8)
    assert (np.diff(places) > 0).all() and places[0] >= 0 and places[-1] == count - 1
    step = -(-count // lines)
    assert set((places // step).tolist()) == set(range(-(-count // step)))
    assert np.bincount(places // step).max() <= 8


def test_an_element_is_in_the_order_of_the_axis_it_grows_on() -> None:
    elements = np.arange(24).reshape(2, 3, 4)
    assert sampled(elements, 12, [1], 99).rows.tolist() == [list(range(12, 24))]
    assert sampled(elements, 12, [0, 1], 99, axis=1).rows[1].tolist() == elements[1].T.reshape(-1).tolist()
    some = sampled(elements, 12, [0, 1], 3)
    assert some.rows.tolist() == [[0, 5, 11], [12, 17, 23]] and not some.is_whole
    # It is a copy.
    elements[:] = 0
    assert some.rows[1, 2] == 23
