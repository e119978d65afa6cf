"""Where a limit stopped one side and the other ended by itself, they were stated to be the same."""

from __future__ import annotations

import numpy as np
import pytest

from diff_checks import compare_models, report_text
from loopdbg.debugger.compare.report.findings import Verdict
from loopdbg.runtime.graph import StoppedBy

COUNTED = """g (float x) => (float y) <int64 n = {3}, bool go = {1}, float zero = {0}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float h) => (bool c2, float h_next) {
    c2 = Identity (c)
    h_next = Add (h, zero)
  }>
}"""
LONG = COUNTED.replace("n = {3}", "n = {1000}")
ENDLESS = COUNTED.replace("(n, go, x)", "(, go, x)")


@pytest.mark.parametrize(("left", "right"), [(COUNTED, LONG), (COUNTED, ENDLESS), (ENDLESS, COUNTED)])
def test_one_side_at_its_limit_differs(left: str, right: str) -> None:
    result = compare_models(left, right, 10, x=np.float32(1))
    (loop,) = result.loops
    assert result.verdict is Verdict.DIFFER and loop.trips is not None
    assert {loop.trips.left, loop.trips.right} == {3, 10}
    assert StoppedBy.LIMIT in (loop.trips.left_ended, loop.trips.right_ended)


def test_both_at_their_limit_are_the_same_no_further() -> None:
    result = compare_models(LONG, LONG, 10, x=np.float32(1))
    assert result.verdict is Verdict.LIMITED and not result.same and result.loops[0].truncated_at_iteration == 10
    assert report_text(result).startswith("same up to a limit: ")


def test_a_limit_that_no_side_comes_to_changes_nothing() -> None:
    result = compare_models(COUNTED, COUNTED, 10, x=np.float32(1))
    assert result.same and result.loops[0].compared_values == 2 * (1 + 3)


def test_a_carried_value_that_one_side_lacks_is_not_the_same() -> None:
    more = COUNTED.replace("y = Loop (n, go, x)", "y, z = Loop (n, go, x, x)")
    more = more.replace("float h) =>", "float h, float k) =>").replace("float h_next)", "float h_next, float k_next)")
    more = more.replace("h_next = Add (h, zero)", "h_next = Add (h, zero)\n    k_next = Neg (k)")
    result = compare_models(COUNTED, more, x=np.float32(1))
    assert result.verdict is Verdict.PARTLY and result.loops[0].only_right == ["k"]
