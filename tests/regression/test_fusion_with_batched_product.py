"""A product whose rows are computed for many iterations at once, within a group: its calls leave some out in most
iterations. That was taken for a failure, and the group was given up."""

from __future__ import annotations

import numpy as np

from fusion_checks import check_fused_run
from optimizer_access import optimizer_of
from text_models import text_with_initializers


def test_the_group_runs_in_each_iteration() -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((64, 4096), dtype=np.float32)
    m = text_with_initializers(
        """
        g (float[T,1,64] X, float[1,4096] start) => (float[1,4096] last) {
          last = Scan <num_scan_inputs = 1, body = body (float[1,4096] h, float[1,64] x) => (float[1,4096] y) {
            a = Abs (h)
            product = MatMul (x, W)
            sum = Add (a, product)
            b = Neg (sum)
            y = Max (b, a)
          }> (start, X)
        }""",
        W=weights,
    )
    inputs = {"X": rng.standard_normal((20, 1, 64), dtype=np.float32), "start": weights[:1]}
    assert check_fused_run(m, inputs) == [["a", "sum", "b", "y"]]
    engine = m._engine
    assert engine is not None
    ((group, runs),) = optimizer_of(engine).groups
    # The first run binds its nodes in iteration 0; the second has the group from there on.
    assert len(group.before) == 1 and runs == 39
