"""No operator reads or writes outside of its tensors, whatever it takes their shapes to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.registry import ResolvedOperator
from loopdbg.runtime.plan.binding_result import InputDescriptor
from loopdbg.runtime.plan.operator_binder import bind

X = np.arange(20, dtype=np.float32).reshape(4, 5)


def both(function: Any) -> list[Any]:
    """What an operator gives as a kernel, a shape, and in Python, or what it is reported."""
    op = ResolvedOperator(function, {})
    results: list[Any] = []
    for run in (
        lambda: bind(op, [InputDescriptor(0, X.dtype, X.shape, None, lambda: X)]).outputs[0].shape,
        lambda: op.apply(EagerPrimitives(), [X])[0].shape,
    ):
        try:
            results.append(run())
        except (IndexError, ValueError) as error:
            results.append(type(error).__name__)
    return results


@pytest.mark.parametrize(
    ("starts", "steps", "extents", "expected"),
    [
        ((0, 0), (1, 1), (4, 5), (4, 5)),
        ((3, 4), (-1, -2), (4, 3), (4, 3)),
        ((3, 0), (1, 3), (1, 2), (1, 2)),
        ((9, 0), (1, 1), (0, 5), (0, 5)),
        ((0, 0), (1, 1), (4, 6), "IndexError"),
        ((0, 0), (2, 1), (3, 5), "IndexError"),
        ((-1, 0), (1, 1), (2, 2), "IndexError"),
        ((3, 0), (-1, 1), (5, 1), "IndexError"),
        ((4, 0), (1, 1), (1, 1), "IndexError"),
    ],
)
def test_slices(starts: Any, steps: Any, extents: Any, expected: Any) -> None:
    assert both(lambda p, x: p.slice(x, starts, steps, extents)) == [expected, expected]


@pytest.mark.parametrize("items", [(1, 0), (0, 1), (-1, 0), (9, 9)])
def test_pieces(items: tuple[int, int]) -> None:
    kinds = both(lambda p, x: p.assemble((4, 5), np.dtype(np.float32), [(x, items)], 0))
    assert all(kind in ("IndexError", "ValueError") for kind in kinds)
    assert both(lambda p, x: p.assemble((5, 6), np.dtype(np.float32), [(x, (1, 1))], 0)) == [(5, 6), (5, 6)]
