"""TensorRT loops with a trip count."""

from __future__ import annotations

import numpy as np

from networks import Net


def test_recurrence_and_both_kinds_of_output() -> None:
    net = Net()
    loop = net.counted(5)
    x, after = net.carry(loop, net.given("x", shape=(2,)), lambda r: net.ew(r, r))
    net.last(loop, x, "last")
    net.stack(loop, after, "after", 5)
    net.stack(loop, x, "before", 5)
    got = net.model().run({"x": np.array([1, 3], np.float32)})
    rows = np.array([[2.0**k, 3 * 2.0**k] for k in range(6)], np.float32)
    assert np.array_equal(got["last"], rows[5])
    assert np.array_equal(got["after"], rows[1:])
    # A recurrence's own sequence begins with its initial value.
    assert np.array_equal(got["before"], rows[:5])
