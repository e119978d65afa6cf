"""Back edges that take a copy carry tensors without elements like any others."""

from __future__ import annotations

import numpy as np

import loopdbg
from text_models import model

COPIES = """
g (float[n] x, float[k] a0, float[k] b0) => (float[k] a, float[k] b) {
  a, b = Scan <num_scan_inputs = 1, body = body (float[k] p, float[k] q, float part) => (float[k] q2, float[k] p) {
    q2 = Neg (q)
  }> (a0, b0, x)
}
"""


def test_empty_values_are_values() -> None:
    m = model(COPIES)
    for size in (0, 2, 0):
        feed = {"x": np.ones(3, np.float32), "a0": np.ones(size, np.float32), "b0": np.ones(size, np.float32)}
        session = loopdbg.debug(m, feed)
        for iteration in range(3):
            assert {name: value.shape for name, value in session.frame.carried.items()} == {"p": (size,), "q": (size,)}
            assert [edge.previous is None for edge in session.frame.back_edges] == [iteration == 0] * 2
            assert {"p", "q"} <= set(session.frame.values)
            session.step()
