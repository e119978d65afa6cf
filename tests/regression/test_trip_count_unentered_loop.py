"""What is reported of a loop that a run never entered does not come from an earlier run."""

from __future__ import annotations

import numpy as np

from text_models import model

NESTED = """
g (int64 M, int64 K, float x0) => (float x) {
  x = Loop (M, , x0) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {
    c2 = Identity (c)
    a2 = Loop (K, , a) <body = b2 (int64 j, bool d, float y) => (bool d2, float y2) {
      d2 = Identity (d)
      y2 = Add (y, y)
    }>
  }>
}
"""


def test_an_inner_loop_of_an_outer_one_without_trips() -> None:
    m = model(NESTED)
    never = {"M": np.int64(0), "K": np.int64(3), "x0": np.float32(1)}
    first = m.execute(never).loops
    m.execute({**never, "M": np.int64(2)})
    for loops in (first, m.execute(never).loops):
        inner = loops[1]
        assert (inner.entries, inner.iterations, inner.trip_count, inner.stopped_by) == (0, 0, None, None)
