"""The values that expressions read at a frame, including those of other iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.expression.expression import ExpressionError, NoValueError, parse
from loopdbg.debugger.scope.frame_scope import FrameScope, ScopeError
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.errors import UsageError
from loopdbg.runtime.frame import Frame
from text_models import BRANCHES, COUNT, NESTED, model

SCAN = """
sums (float[N] x, float a0) => (float a, float[N] y) {
  a, y = Scan <num_scan_inputs = 1, body = body (float a_in, float x_i) => (float a_out, float y_i) {
    a_out = Add (a_in, x_i)
    y_i = Mul (a_out, a_out)
  }> (a0, x)
}
"""


def at_each_boundary(text: str, look: Callable[[FrameScope], Any], **inputs: Any) -> list[Any]:
    """The results of ``look`` at every boundary, with errors as text."""
    results: list[Any] = []

    def hook(frame: Frame) -> None:
        try:
            results.append(look(FrameScope(frame)))
        except UsageError as error:
            results.append(str(error).split(" at column")[0])

    model(text).run(inputs, on_iteration=hook)
    return results


def each_value(text: str, expression: str, **inputs: Any) -> list[Any]:
    return at_each_boundary(text, parse(expression).evaluate, **inputs)


def count(expression: str) -> list[Any]:
    return each_value(COUNT, expression, M=3, cond=True, v0=5, bound=99)


def test_loop_state() -> None:
    assert count("iter") == [0, 1, 2, 3]
    assert count("trip_count - iter") == [3, 2, 1, 0]
    assert count("cond") == [True] * 4
    assert count("M + bound") == [102] * 4
    assert each_value(SCAN, "trip_count", x=np.zeros(2, np.float32), a0=np.float32(0)) == [2] * 3
    assert each_value(SCAN, "cond == none", x=np.zeros(2, np.float32), a0=np.float32(0)) == [True] * 3


def test_parameter_is_of_this_iteration_and_body_value_of_the_previous_one() -> None:
    assert count("v_in") == [5, 6, 7, 8]
    assert count("v_out") == ["'v_out' is not computed yet in iteration 0", 6, 7, 8]


def test_previous_values_of_carried_values() -> None:
    assert count("prev(v_in)") == ["'v_in' has no previous value: no iteration came before", 5, 6, 7]
    assert count("delta(v_in)")[1:] == [1, 1, 1]
    assert count("prev(v_out)")[1:] == ["'v_out' has no previous value: no iteration came before", 6, 7]
    assert count("v_in@(iter - 1)")[1:] == [5, 6, 7]
    assert count("v_out@(iter - 2)")[2:] == [6, 7]
    assert count("v_out@(iter - 1)")[1:] == [6, 7, 8]


def test_iteration_number_is_known_in_every_iteration() -> None:
    assert count("prev(i)")[1:] == [0, 1, 2]
    assert count("i@0") == [0, 0, 0, 0]
    assert each_value(COUNT, "dtype(i@0)", M=1, cond=True, v0=5, bound=99) == ["int64"] * 2


def test_captures_are_the_same_in_every_iteration() -> None:
    assert count("init(bound)") == [99] * 4
    assert count("prev(bound)") == ["there is no iteration before iteration 0", 99, 99, 99]


def test_other_values_are_unavailable_without_a_history() -> None:
    assert count("keep@0")[2] == "what 'keep' was in iteration 0 is not kept here"
    assert count("v_in@7")[1] == "what 'v_in' was in iteration 7 is not kept here"


def test_sliced_inputs_stay_at_the_last_slice() -> None:
    x = np.array([1, 2, 4], np.float32)
    inputs = {"x": x, "a0": np.float32(0)}
    assert each_value(SCAN, "x_i", **inputs) == [1, 2, 4, 4]
    assert each_value(SCAN, "x_i@2", **inputs)[2:] == [4, 4]
    assert each_value(SCAN, "prev(a_out)", **inputs)[2:] == [1, 3]


def test_scan_outputs_grow() -> None:
    assert count("len(s)") == [0, 1, 2, 3]
    assert count("sum(s@(iter))") == [0, 5, 11, 18]
    assert count("sum(prev(s))")[1:] == [0, 5, 11]
    assert count("sum(s@2)")[2:] == [11, 11]


def test_reversed_scan_output_grows_at_its_front() -> None:
    text = SCAN.replace("<num_scan_inputs = 1,", "<num_scan_inputs = 1, scan_output_directions = [1],")
    inputs = {"x": np.array([1, 2, 4], np.float32), "a0": np.float32(0)}
    assert [list(y) for y in each_value(text, "y", **inputs)] == [[], [1], [9, 1], [49, 9, 1]]
    assert [list(y) for y in each_value(text, "y@1", **inputs)[1:]] == [[1], [1], [1]]


def test_history_provides_other_values() -> None:
    asked = []

    class History:
        def value(self, name: str, iteration: int) -> Any:
            asked.append((name, iteration))
            if iteration > 9:
                raise UsageError("iteration 10 has not run yet")
            return np.array(100 + iteration)

    results = []

    def hook(frame: Frame) -> None:
        if frame.iteration == 3:
            scope = FrameScope(frame, History())
            for text in ("v_in@3", "v_in@2", "v_in@1", "init(v_in)", "prev(keep)", "s_out@9"):
                results.append(parse(text).evaluate(scope))
            with pytest.raises(NoValueError, match="iteration 10 has not run yet at column 1 of 'v_in@10'"):
                parse("v_in@10").evaluate(scope)

    model(COUNT).run({"M": 3, "cond": True, "v0": 5, "bound": 99}, on_iteration=hook)
    assert results == [8, 7, 101, 100, 101, 109]
    assert asked == [("v_in", 1), ("v_in", 0), ("keep", 1), ("s_out", 9), ("v_in", 10)]


def test_values_within_an_iteration() -> None:
    loaded = model(COUNT)
    engine = Engine(loaded.plan)
    engine.start(loaded.check({"M": 3, "cond": True, "v0": 5, "bound": 99}))
    engine.stop_at(0, 1)
    assert engine.resume()[0] == "boundary"
    seen = []
    for _ in range(4):
        engine.clear_stops()
        engine.stop_at_node()
        assert engine.resume()[0] == "node"
        scope = FrameScope(Frame(engine, 0))
        row = []
        for text in ("v_in", "prev(v_in)", "v_out", "prev(v_out)"):
            try:
                row.append(parse(text).evaluate(scope))
            except ScopeError:
                row.append(None)
        seen.append(row)
    # In iteration 1, before each of its nodes: v_out is that of iteration 0 until its node has run.
    assert seen[0] == [6, None, 6, None]
    assert seen[-1] == [6, None, 7, 6]


def test_nested_loops_see_enclosing_values() -> None:
    results = []

    def hook(frame: Frame) -> None:
        if not frame.entry:
            return
        scope = FrameScope(frame)
        results.append(tuple(parse(text).evaluate(scope) for text in ("i", "iter", "j", "u", "t", "init(i)")))

    model(NESTED).run({"M": 2, "K": 2}, on_iteration=hook)
    assert results == [
        (0, 0, 0, 0, 0, 0),
        (0, 1, 1, 0, 0, 0),
        (0, 2, 2, 0, 0, 0),
        (1, 0, 0, 0, 0, 1),
        (1, 1, 1, 0, 0, 1),
        (1, 2, 2, 1, 0, 1),
    ]


def test_values_in_branches() -> None:
    assert each_value(BRANCHES, "y", M=2, v0=np.float32(2))[1:] == [3, 9]
    assert each_value(BRANCHES, "up@0", M=1, v0=np.float32(2))[1] == 3


def test_main_graph_has_no_iterations() -> None:
    loaded = model(COUNT)
    engine = Engine(loaded.plan)
    engine.start(loaded.check({"M": 3, "cond": True, "v0": 5, "bound": 99}))
    engine.stop_anywhere()
    engine.resume()
    scope = FrameScope(Frame(engine, -1))
    assert parse("bound + v0").evaluate(scope) == 104
    for text in ("iter", "trip_count", "cond", "prev(bound)", "bound@0"):
        with pytest.raises(NoValueError, match="has no meaning in 'main', which is no loop"):
            parse(text).evaluate(scope)


def test_unknown_names_differ_from_missing_values() -> None:
    scopes: list[FrameScope] = []

    def hook(frame: Frame) -> None:
        scope = FrameScope(frame)
        if frame.iteration:
            with pytest.raises(ExpressionError, match=r"unknown name 'v_inn' .*; did you mean 'v_in'\?") as caught:
                parse("v_inn > 3").evaluate(scope)
            assert not isinstance(caught.value, ScopeError)
            scopes.append(scope)

    model(COUNT).run({"M": 1, "cond": True, "v0": 5, "bound": 99}, on_iteration=hook)
    assert len(scopes) == 1


@pytest.mark.parametrize(("M", "last"), [(4, 9), (0, 5)])
def test_ended_loop_shows_its_outputs(M: int, last: int) -> None:
    """They have their outer names, before the outer graph has the values."""
    result = at_each_boundary(COUNT, lambda scope: scope.value("v").item(), M=M, cond=True, v0=5, bound=99)
    assert result[-1] == last
    assert all("'v' is not computed yet" in text for text in result[:-1])
