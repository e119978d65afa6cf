"""A run gives the same bits for the same input, whatever the Model ran before.

Also where products of rows are computed for a block of iterations, and a run with more rows came in between.
"""

from __future__ import annotations

import numpy as np
import pytest

from text_models import text_with_initializers

# The rows are computed in each entry, from a value that grows.
LAYERS = """
g (float[a,64] x0, float[64] h0) => (float[64] last) {{
  yes = Constant <value = bool {{1}}> ()
  six = Constant <value = int64 {{6}}> ()
  last, grown = Loop (six, yes, h0, x0)
    <body = b (int64 i, bool c, float[64] h, float[r,64] x) => (bool c2, float[64] h2, float[r2,64] x2) {{
      c2 = Identity (c)
      minus = Neg (x)
      trips = Constant <value = int64 {{{trips}}}> ()
      o = Loop (trips, c, h) <body = b2 (int64 j, bool d, float[64] g) => (bool d2, float[64] g2) {{
        row = Gather <axis = 0> (minus, j)
        p = MatMul (row, W)
        s = Add (p, g)
        g2 = Tanh (s)
        limit = Constant <value = int64 {{17}}> ()
        d2 = Less (j, limit)
      }}>
      k = Constant <value = float {{0.9}}> ()
      h2 = Mul (o, k)
      x2 = Concat <axis = 0> (x, one)
    }}>
}}
"""


@pytest.mark.parametrize("trips", [5, 7, 10])
@pytest.mark.parametrize("rows", [20, 33])
def test_larger_runs_in_between(trips: int, rows: int) -> None:
    rng = np.random.default_rng(1)
    weights = (rng.normal(size=(64, 64)) / 64).astype(np.float32)
    m = text_with_initializers(LAYERS.format(trips=trips), W=weights, one=np.ones((1, 64), np.float32))
    numbers = rng.normal(size=(rows + 41, 64)).astype(np.float32)
    small, large = ({"x0": numbers[:n], "h0": numbers[-1]} for n in (rows, rows + 40))
    first = m.run(small)["last"].tobytes()
    for _ in range(4):
        m.run(large)
        assert m.run(small)["last"].tobytes() == first
