"""Whether a relation holds for any element, next to NumPy: each type, relation and vector width, on both sides of each
limit of any_lanes.h."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.runtime.ops.eager import EagerPrimitives
from loopdbg.runtime.ops.primitive_types import RoutineCall

TYPES = ("f4", "f8", "i4", "i8", "?")
RELATIONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
SIZES = (1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 64, 300, 2049)


def holds(kind: int, relation: int, *operands: np.ndarray) -> bool:
    is_scalar = len(operands) > 1 and not operands[1].ndim
    params = (kind, relation, int(is_scalar), operands[0].size)
    (result,) = EagerPrimitives().call(RoutineCall("data_movement.any", [((), np.dtype(np.bool_))], params), operands)
    return bool(result)


@pytest.mark.parametrize("relation", range(6), ids=[relation.__name__ for relation in RELATIONS])
@pytest.mark.parametrize("kind", range(4), ids=TYPES[:4])
def test_numbers(kind: int, relation: int, width: int) -> None:
    rng, dtype = np.random.default_rng(relation), np.dtype(TYPES[kind])
    small, large = np.array(-3, dtype), np.array(3, dtype)
    for size in SIZES:
        # All elements but one give the same answer.
        for a, b in ((small, small), (small, large), (large, small)):
            for odd in {0, size // 2, size - 1, int(rng.integers(size))}:
                x, y = np.full(size, a), np.full(size, b)
                x[odd] = rng.choice([-3, 0, 3])
                if dtype.kind == "f" and odd % 2:
                    x[odd] = np.nan
                expected = bool(RELATIONS[relation](x, y).any())
                assert holds(kind, relation, x, y) == holds(kind, relation, x, y[0, ...]) == expected


@pytest.mark.parametrize("size", SIZES)
def test_booleans(size: int, width: int) -> None:
    for value in (False, True):
        for odd in {0, size // 2, size - 1}:
            x = np.full(size, value)
            x[odd] = not value
            assert holds(4, 5, x) == x.any() and holds(4, 4, x) == (~x).any()
        assert (holds(4, 5, np.full(size, value)), holds(4, 4, np.full(size, value))) == (value, not value)
