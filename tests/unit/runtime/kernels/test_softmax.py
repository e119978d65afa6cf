"""Softmax of short rows: every width reads and writes what is the row's, and gives NumPy's numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cpu_features import AVX2, FLOAT_LEVELS, available_levels, limit_to
from loopdbg.runtime.kernels import kernel as kernels
from loopdbg.runtime.kernels import loop_nest

ROWS, BEHIND = 19, 16
BRAIN = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("logarithm", [0, 1])
@pytest.mark.parametrize(
    "dtype, routine, extra, digits",
    [
        ("f4", "softmax_normalize.softmax", (), 23),
        ("f2", "softmax_normalize.softmax_rounded", (0,), 10),
        (BRAIN, "softmax_normalize.softmax_rounded", (1,), 7),
    ],
    ids=["float32", "float16", "bfloat16"],
)
def test_rows_of_every_short_length(
    width: int, logarithm: int, dtype: Any, routine: str, extra: tuple[int, ...], digits: int
) -> None:
    rng = np.random.default_rng(5)
    near = {"rtol": 16 * 2.0**-digits, "atol": 16 * 2.0**-digits}
    for length in range(1, 50):
        size = ROWS * length
        # What lies behind is greater than all that counts: who reads it gives something else.
        x = np.concatenate([rng.standard_normal(size), np.full(BEHIND, 3e4)]).astype(dtype)
        out = np.full(size + BEHIND, 7, dtype)
        inputs = (x[:size].reshape(ROWS, length), out[:size].reshape(ROWS, length))
        assert loop_nest.run_kernel(kernels.routine_kernel(routine), inputs, extra=(ROWS, length, logarithm, *extra))
        assert (out[size:] == 7).all(), f"it wrote behind rows of {length}"
        width_value = inputs[0].astype(np.float64)
        powers = np.exp(width_value - width_value.max(1, keepdims=True))
        wanted = powers / powers.sum(1, keepdims=True)
        wanted = np.log(wanted) if logarithm else wanted
        np.testing.assert_allclose(inputs[1].astype(np.float64), wanted, **near)


@pytest.mark.parametrize("inner", [1, 3, 16, 21, 64, 150])
def test_log_sum_exp(inner: int) -> None:
    rng = np.random.default_rng(6)
    results = []
    for n in (1, 2, 15, 40):
        x = (rng.standard_normal((ROWS, n, inner)) * 30).astype(np.float32)
        x[0, :, 0], x[1, 0, 0], x[2, -1, -1] = -np.inf, np.inf, np.nan
        for kind in available_levels(*FLOAT_LEVELS):
            behind = np.full(ROWS * inner + BEHIND, 7, np.float32)
            out = behind[: ROWS * inner].reshape(ROWS, inner)
            with limit_to(kind):
                assert loop_nest.run_kernel(
                    kernels.routine_kernel("softmax_normalize.log_sum_exp"), (x, out), extra=(ROWS, n, inner)
                )
            assert (behind[ROWS * inner :] == 7).all()
            results.append((n, kind >= AVX2, out.tobytes()))
            width = x.astype(np.float64)
            with np.errstate(all="ignore"):
                wanted = np.logaddexp.reduce(width, 1)
            np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)
    # AVX2 and AVX-512 round alike, others have no FMA.
    assert len(set(results)) == len({(n, fused) for n, fused, _ in results})


def test_powers_of_all_sizes(width: int) -> None:
    # Rows of two: the first is the greatest, the second far below it; the sum is 1 as soon as that is below 2 ** -24.
    x = np.stack([np.zeros(200_001), np.linspace(-110, -17, 200_001)], 1).astype(np.float32)
    x = np.concatenate([x, [[0, -np.inf]]], dtype=np.float32)
    out = np.empty_like(x)
    assert loop_nest.run_kernel(kernels.routine_kernel("softmax_normalize.softmax"), (x, out), extra=(*x.shape, 0))
    wanted = np.exp(x.astype(np.float64))[:, 1]
    normal = wanted > np.finfo(np.float32).tiny
    error = abs(out[:, 1] - wanted)
    assert normal.any() and (error[normal] / wanted[normal]).max() < 1.5e-7
    assert error[~normal].max() <= 2.0**-149 and out[-1, 1] == 0
