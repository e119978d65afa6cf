"""TensorRT loops with a trip count."""

from __future__ import annotations

import numpy as np

from tensorrt_networks import NetworkBuilder


def test_recurrence_and_both_kinds_of_output() -> None:
    net = NetworkBuilder()
    loop = net.counted_loop(5)
    x, after = net.add_carried(loop, net.input_tensor("x", shape=(2,)), lambda r: net.elementwise(r, r))
    net.last(loop, x, "last")
    net.stack(loop, after, "after", 5)
    net.stack(loop, x, "before", 5)
    got = net.model().run({"x": np.array([1, 3], np.float32)})
    rows = np.array([[2.0**k, 3 * 2.0**k] for k in range(6)], np.float32)
    assert np.array_equal(got["last"], rows[5])
    assert np.array_equal(got["after"], rows[1:])
    # A recurrence's own sequence begins with its initial value.
    assert np.array_equal(got["before"], rows[:5])
