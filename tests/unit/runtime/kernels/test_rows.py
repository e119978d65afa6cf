"""Softmax of short rows: every width reads and writes what is the row's, and gives NumPy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.kernels.routines import rows

ROWS, BEHIND = 3, 16


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("logarithm", [0, 1])
def test_rows_of_every_short_length(kind: int, logarithm: int) -> None:
    if not rows.use_lanes(kind):
        pytest.skip("this processor has no lanes so wide")
    rng = np.random.default_rng(5)
    try:
        for length in range(1, 50):
            size = ROWS * length
            # What lies behind is greater than all that counts: who reads it gives something else.
            x = np.concatenate([rng.standard_normal(size), np.full(BEHIND, 1e30)]).astype(np.float32)
            out = np.full(size + BEHIND, 7, np.float32)
            given = (x[:size].reshape(ROWS, length), out[:size].reshape(ROWS, length))
            assert kernels.run(kernels.routine_kernel("rows.softmax"), given, extra=(ROWS, length, logarithm))
            assert (out[size:] == 7).all(), f"it wrote behind rows of {length}"
            wide = given[0].astype(np.float64)
            powers = np.exp(wide - wide.max(1, keepdims=True))
            wanted = powers / powers.sum(1, keepdims=True)
            wanted = np.log(wanted) if logarithm else wanted
            np.testing.assert_allclose(given[1], wanted, rtol=2e-6, atol=2e-6)
    finally:
        rows.use_lanes(0)
