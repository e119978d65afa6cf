"""Static type checks of conditions, before they are evaluated."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from loopdbg.debugger.expression.expression import ExpressionError, parse
from loopdbg.runtime.graph import TensorType

from .sample_scope import SAMPLE_SCOPE

FLOAT, BOOL = np.dtype(np.float32), np.dtype(np.bool_)
TYPES = {
    "x": TensorType(FLOAT, ()),
    "h": TensorType(FLOAT, (2, 3)),
    "batch": TensorType(FLOAT, (None, 3)),
    "any_rank": TensorType(FLOAT),
    "n": TensorType(np.dtype(np.int64), ()),
    "flag": TensorType(BOOL, (1,)),
    "flags": TensorType(BOOL, (2,)),
    "masks": TensorType(BOOL, (None,)),
    "bf": TensorType(np.dtype(ml_dtypes.bfloat16), ()),
    "text": TensorType(np.dtype(object), ()),
    "untyped": TensorType(),
}


def refused(text: str) -> ExpressionError | None:
    try:
        parse(text).check_condition(TYPES.get)
    except ExpressionError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("x", 0, "float32 [] where true or false is needed"),
        ("h", 0, "float32 [2,3] where true or false is needed"),
        ("batch", 0, "float32 where true or false is needed"),
        ("any_rank", 0, "float32 where true or false is needed"),
        ("batch[0, 2]", 5, "float32 where true or false is needed"),
        ("h[0]", 1, "float32 [3] where true or false is needed"),
        ("h[n, n]", 1, "float32 [] where true or false is needed"),
        ("h[0, 0:2] > 1", 10, "2 truth values where one is needed"),
        ("bf", 0, "bfloat16 [] where true or false is needed"),
        ("text", 0, "string [] where true or false is needed"),
        ("-n", 0, "int64 [] where true or false is needed"),
        ("x * 2 + n", 6, "float64 [] where true or false is needed"),
        ("flag + 1", 5, "int64 [1] where true or false is needed"),
        ("max(h)", 0, "float32 [] where true or false is needed"),
        ("argmax(any_rank)", 0, "int64 [] where true or false is needed"),
        ("mean(n)", 0, "float64 [] where true or false is needed"),
        ("where(h > 1, h, 0)", 0, "float32 [2,3] where true or false is needed"),
        ("prev(x)", 0, "float32 [] where true or false is needed"),
        ("x@2", 1, "float32 [] where true or false is needed"),
        ("history(x)", 0, "float64 where true or false is needed"),
        ("iter", 0, "a number where true or false is needed"),
        ("iter % 2", 5, "a number where true or false is needed"),
        ("len(h)", 0, "a number where true or false is needed"),
        ("shape(h)", 0, "a list of 2 where true or false is needed"),
        ("dtype(x)", 0, "a string where true or false is needed"),
        ("'a'", 0, "a string where true or false is needed"),
        ("none", 0, "none where true or false is needed"),
        ("nan", 0, "a number where true or false is needed"),
        ("flags", 0, "2 truth values where one is needed"),
        ("h > 2", 2, "6 truth values where one is needed"),
        ("isnan(h)", 0, "6 truth values where one is needed"),
        ("not x", 4, "float32 [] where true or false is needed"),
        ("flag and x", 9, "float32 [] where true or false is needed"),
        ("true or x", 8, "float32 [] where true or false is needed"),
        ("untyped and x", 12, "float32 [] where true or false is needed"),
        ("cond and not (x > 1 or n)", 23, "int64 [] where true or false is needed"),
    ],
)
def test_non_boolean_conditions_are_detected(text: str, position: int, problem: str) -> None:
    error = refused(text)
    assert error is not None and (error.problem, error.position) == (problem, position)


@pytest.mark.parametrize(
    "text",
    [
        *("x > 1", "flag", "flags[0]", "flags[n]", "masks", "masks[0]", "not flag", "prev(flag)", "flag@3", "cond"),
        *(
            "untyped",
            "untyped > h",
            "unknown",
            "untyped[0]",
            "x + untyped",
            "any(h)",
            "all(h > 1)",
            "any(isnan(batch))",
        ),
        *("batch > 1", "max(batch) > 1", "h[0, 1] > 1", "h[n, n] > 1", "shape(h) == [2, 3]", "dtype(x) == 'float32'"),
        *(
            "allclose(h, batch)",
            "where(flag, flag, true)",
            "iter == 3 or prev(x) > 3",
            "iter % 2 == 0",
            "true",
            "1 < 2",
        ),
        *(
            "flag + flag",
            "abs(flag)",
            "shape(batch)",
            "text == 'a'",
            "trip_count > 5",
            "history(x)[0] > 1",
            "bf > 1",
            "x == none",
        ),
        # Other errors are asserted where the condition is evaluated.
        *("x[5] > 1", "h[9]", "x > 'a'", "1 / iter > 2", "h + [1, 2] > 1", "h[:n] > 1"),
    ],
)
def test_possible_conditions_are_accepted(text: str) -> None:
    assert refused(text) is None


@pytest.mark.parametrize(
    "text", ["h", "h[0]", "h > 2", "x", "n", "-x", "max(h)", "h[0, 0:2] > 1", "not n", "x * 2 + n"]
)
def test_type_error_matches_runtime_error(text: str) -> None:
    """The message and its position are the same."""
    with pytest.raises(ExpressionError) as tested:
        parse(text).truth(SAMPLE_SCOPE)
    assert str(refused(text)) == str(tested.value)


@pytest.mark.parametrize("text", [f"{'abs(' * 25}x{')' * 25}", f"{'[' * 25}x{']' * 25}{'[0]' * 25}"])
def test_each_subexpression_is_checked_once(text: str) -> None:
    """Checking twice at each level would take exponential time."""
    error = refused(text)
    assert error is not None and error.problem == "float32 [] where true or false is needed"
