"""Assignment targets in the expression language: what may be set, to what, and which lossy assignments are refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.expression.expression import ExpressionError, parse_target, replace_value

from .sample_scope import SAMPLE_SCOPE, value


@pytest.mark.parametrize(
    ("place", "new", "expected"),
    [
        ("h", "zeros_like(h)", np.zeros((2, 3))),
        ("h", "0.5", np.full((2, 3), 0.5)),
        ("h[0, 2]", "1.5", [[1, -2, 1.5], [0, 8, 2]]),
        ("h[0]", "[4, 5, 6]", [[4, 5, 6], [0, 8, 2]]),
        ("h[:, -1]", "0", [[1, -2, 0], [0, 8, 0]]),
        ("h[..., n - 5]", "h[..., 1]", [[-2, -2, 3.5], [8, 8, 2]]),
        ("h[0, 0]", f"{10**30}", [[1e30, -2, 3.5], [0, 8, 2]]),
        ("h[0, 0]", "nan", [[np.nan, -2, 3.5], [0, 8, 2]]),
        ("n", "3.0", 3),
        ("n", "n + 1", 6),
        ("k[1:]", "[7, -7]", [1, 7, -7]),
        ("flag", "false", [False]),
        ("flag", "0", [False]),
        ("s[0]", "'maybe'", ["maybe", "no"]),
        ("b", "[0.25, 3]", [0.25, 3]),
        ("q[0]", "-1", [-1, -8]),
        ("`/rnn/h:0`", "2", 2),
    ],
)
def test_assignments(place: str, new: str, expected: Any) -> None:
    target = parse_target(place)
    old = SAMPLE_SCOPE.values[target.name]
    before = old.copy()
    result = replace_value(old, target, value(new), SAMPLE_SCOPE)
    assert result.dtype == old.dtype and result.shape == old.shape
    np.testing.assert_array_equal(result, np.array(expected, old.dtype))
    assert old.tobytes() == before.tobytes()


@pytest.mark.parametrize(
    ("place", "new", "problem"),
    [
        ("n", "1.5", "1.5 does not fit into int64"),
        ("n", "nan", "nan does not fit into int64"),
        ("k", "200", "200 does not fit into int8"),
        ("u", "-1", "-1 does not fit into uint8"),
        ("n", "2 ** 63", "9223372036854775808 does not fit into int64"),
        ("n", "2.0 ** 63", "9.223372036854776e+18 does not fit into int64"),
        ("h", "1e300", "1e+300 does not fit into float32"),
        ("half", "70000", "70000 does not fit into float16"),
        ("flag", "2", "2 does not fit into bool"),
        ("q", "8", "8 does not fit into int4"),
        ("h", "z", "a value of type complex64 does not fit into float32"),
        ("h", "'a'", "a value of type string does not fit into float32"),
        ("s", "1", "1 does not fit into string"),
        ("n", f"{10**30}", f"{10**30} does not fit into"),
        ("h", "none", "none where a tensor is needed"),
        ("h", "seq", "a list of tensors where one tensor is needed"),
        ("h", "[[1], [1, 2]]", "not numbers of one shape, where float32 is needed"),
        ("h", "k", "a value of shape [2,3] cannot take [3]"),
        ("h[0]", "[1, 2]", "a place of shape [3] cannot take [2]"),
        ("h[0, 3]", "1", "index 3 is outside of axis 1, of length 3"),
        ("h[..., 3]", "1", "index 3 is outside of axis 1, of length 3"),
        ("h[0, 0, 0]", "1", "3 indices for a value of 2 axes"),
        ("seq", "1", "one value where a list is needed"),
        ("seq[5]", "1", "index 5 is outside of the list, of length 2"),
    ],
)
def test_lossy_assignments_are_refused(place: str, new: str, problem: str) -> None:
    target = parse_target(place)
    with pytest.raises(ExpressionError, match=re.escape(problem)) as caught:
        replace_value(SAMPLE_SCOPE.values[target.name], target, value(new), SAMPLE_SCOPE)
    assert caught.value.text == place


def test_number_beyond_every_float_does_not_fit() -> None:
    with pytest.raises(ExpressionError, match="does not fit into float32"):
        replace_value(SAMPLE_SCOPE.values["h"], parse_target("h"), 10**400, SAMPLE_SCOPE)


def test_assignments_to_sequences() -> None:
    seq = SAMPLE_SCOPE.values["seq"]
    result = replace_value(seq, parse_target("seq[0]"), np.float64(2), SAMPLE_SCOPE)
    np.testing.assert_array_equal(result[0], np.full(3, 2, np.float32))
    assert result[0].dtype == np.float32 and not seq[0].any()
    result = replace_value(seq, parse_target("seq[1, 0, 1]"), 9, SAMPLE_SCOPE)
    np.testing.assert_array_equal(result[1], [[1, 9], [1, 1]])
    assert len(replace_value(seq, parse_target("seq"), seq[:1], SAMPLE_SCOPE)) == 1
    assert replace_value(None, parse_target("nothing"), np.array(1), SAMPLE_SCOPE) == 1


def test_assignment_targets() -> None:
    assert (parse_target("h").name, parse_target("h").is_loop_state, parse_target("h").index) == ("h", False, ())
    assert (parse_target("cond").name, parse_target("cond").is_loop_state) == ("cond", True)
    assert (parse_target("`cond`").name, parse_target("`cond`").is_loop_state) == ("cond", False)
    assert parse_target("trip_count").is_loop_state
    assert parse_target("h[0, n - 4:]").entries(SAMPLE_SCOPE) == (0, slice(1, None, None))
    for text, problem in (
        ("iter", "cannot be set at column 1 of 'iter'; a value of that name is written `iter`"),
        ("h + 1", "only a name, or a name with an index, can be set"),
        ("prev(h)", "only a name"),
        ("h@3", "only a name"),
        ("3", "cannot be set"),
        ("h[0][1]", "only a name"),
        ("", "an empty expression"),
    ):
        with pytest.raises(ExpressionError, match=re.escape(problem)):
            parse_target(text)
