"""Places of extremes next to NumPy: rows that are turned, looked through twice, side by side, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.ops.eager import EagerPrimitives

#: Outer, the axis, inner: on both sides of each limit of argminmax.h.
SHAPES = [
    (1, 1, 1), (3, 1, 5), (33, 20, 1), (16, 32, 1), (17, 33, 1), (40, 7, 1), (2, 23, 1), (2, 24, 1), (1, 63, 1),
    (1, 65, 1), (1, 1000, 1), (16, 256, 1), (18, 257, 1), (3, 300, 1), (1, 20, 37), (2, 5, 16), (2, 40, 15),
    (2, 129, 33),
]  # fmt: skip
TYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def expected(which: str, x: Any, last: bool) -> Any:
    find = np.argmax if which == "max" else np.argmin
    if not last:
        return find(x, axis=1, keepdims=True)
    return x.shape[1] - 1 - find(x[:, ::-1], axis=1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", TYPES)
def test_as_numpy(shape: tuple[int, int, int], kind: str) -> None:
    rng = np.random.default_rng(sum(shape))
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        top = np.iinfo(dtype)
        width = rng.integers(top.min, top.max, shape, dtype, endpoint=True)
    else:
        width = (rng.standard_normal(shape) * 100).astype(dtype)
    few = rng.integers(0, 3, shape).astype(dtype)
    cases = [width, few, np.zeros(shape, dtype)]
    if dtype.kind == "f":
        signed = few * np.where(rng.random(shape) < 0.5, -1, 1).astype(dtype)  # zeros of both signs are equal
        some, all_odd = width.copy(), np.full(shape, np.nan, dtype)
        some[rng.random(shape) < 0.05] = np.nan
        first = width.copy()
        first[:, 0] = np.nan
        cases += [signed, some, all_odd, first, np.full(shape, np.inf, dtype), np.full(shape, -np.inf, dtype)]
    for x in cases:
        for which in ("max", "min"):
            for last in (False, True):
                result = EagerPrimitives().arg_extreme(which, x, 1, last)
                np.testing.assert_array_equal(result, expected(which, x, last), err_msg=f"{which} {last}")
