"""Breakpoints, watchpoints and logpoints: where they stop, forwards and backwards."""

from __future__ import annotations

from typing import Any

import pytest

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.expression.errors import ExpressionError
from loopdbg.debugger.session.session import Reason
from text_models import BRANCHES, COUNT, NESTED, model


def start(text: str, **inputs: Any) -> loopdbg.Session:
    return loopdbg.debug(model(text), inputs)


def count(M: int = 50, bound: int = 99) -> loopdbg.Session:
    return start(COUNT, M=M, cond=True, v0=5, bound=bound)


def stops(session: loopdbg.Session) -> list[int]:
    """The iterations at which continuing stops, up to the end."""
    seen = []
    while session.continue_().reason is not Reason.DONE:
        seen.append(session.frame.iteration)
    return seen


def inner(session: loopdbg.Session) -> str:
    """The location of the inner loop by its path: both loops have one name."""
    return f"'{session.controller.symbols.loops[1].path}'"


def test_breakpoint_at_an_iteration() -> None:
    session = count()
    session.breakpoints.add("iter 7")
    session.breakpoints.add("iter 30")
    stop = session.continue_()
    assert (stop.reason, stop.breakpoints, session.frame.iteration) == ("breakpoint", (1,), 7)
    assert stop.text == f"breakpoint 1 (iter 7): before iteration 7 of loop '{session.frame.name}'"
    assert stops(session) == [30]
    assert [b.hits for b in session.breakpoints] == [1, 1]


def test_breakpoint_at_an_iteration_that_is_not_run_never_stops() -> None:
    session = count(M=10)
    session.breakpoints.add("iter 10")
    assert stops(session) == []


def test_breakpoint_at_an_iteration_of_every_entry_of_a_nested_loop() -> None:
    session = start(NESTED, M=4, K=9)
    session.breakpoints.add("iter 7 in " + inner(session))
    seen = []
    while session.continue_().reason is not Reason.DONE:
        seen.append((session.frame.entry, session.frame.iteration))
    assert seen == [((i,), 7) for i in range(4)]


def test_breakpoint_at_an_outer_and_an_inner_iteration() -> None:
    session = start(NESTED, M=9, K=9)
    session.breakpoints.add("iter 3,7")
    assert session.continue_().reason == "breakpoint"
    assert (session.frame.entry, session.frame.iteration) == ((3,), 7)
    assert session.frame.values["i"] == 3
    assert session.continue_().reason == "done"


def test_breakpoint_before_a_node_by_value_name_line_and_type() -> None:
    for place in ("v_out", "op Add", "Add"):
        session = count(M=3)
        session.breakpoints.add(place)
        stop = session.continue_()
        assert stop.reason == "breakpoint" and not session.frame.at_boundary
        assert session.frame.nodes[1].state == "next"
        assert session.frame.iteration == 0
        assert stops(session) == [1, 2]
    session = count(M=3)
    line = session.controller.symbols.pseudo_code.line_of(session.frame.nodes[1].node)
    assert line is not None
    session.breakpoints.add(f"line {line.number}")
    assert stops(session) == [0, 1, 2]


def test_breakpoint_at_a_node_in_an_inner_loop_and_in_a_branch() -> None:
    session = start(NESTED, M=2, K=2)
    session.breakpoints.add("product")
    seen = []
    while session.continue_().reason is not Reason.DONE:
        seen.append((session.frame.entry[0], session.frame.iteration))
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]
    session = start(BRANCHES, M=5, v0=1.0)
    session.breakpoints.add("x2")
    assert stops(session) == [1, 3]


def test_next_over_an_inner_loop_stops_at_its_breakpoint() -> None:
    session = start(NESTED, M=2, K=5)
    session.breakpoints.add("iter 3 in " + inner(session))
    session.next_node()
    stop = session.next_node()
    assert (stop.reason, session.frame.entry, session.frame.iteration) == ("breakpoint", (0,), 3)


def test_breakpoint_on_a_condition() -> None:
    session = count()
    session.breakpoints.add("if v_in > 20")
    stop = session.continue_()
    assert (stop.reason, session.frame.iteration) == ("breakpoint", 16)
    assert session.frame.carried["v_in"] == 21
    # A condition that stays true stops at every boundary.
    session.continue_()
    assert session.frame.iteration == 17


def test_condition_on_a_future_iteration_does_not_hit() -> None:
    session = count(M=6)
    condition = session.breakpoints.add("if v_in@(iter - 2) + 2 == v_in")
    assert stops(session) == [2, 3, 4, 5, 6]
    session.restart()
    session.breakpoints.delete(condition.number)
    node = session.breakpoints.add("v_out if v_in@(iter - 4) == 5")
    assert (stops(session), node.failure) == ([4], "")
    session.breakpoints.delete(node.number)
    session.restart()
    session.watch("v_in@(iter - 2)")
    assert stops(session) == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("v_in@(-2) == 5", "there is no iteration -2 at column 7"),
        ("v_in@(iter / 2) == 5", "a number where a whole number is needed"),
    ],
)
def test_impossible_iteration_number_is_an_error(text: str, problem: str) -> None:
    session = count(M=6)
    session.breakpoints.add(f"if {text}")
    stop = session.continue_()
    assert stop.reason is not Reason.DONE
    assert problem in stop.text
    with pytest.raises(loopdbg.UsageError, match="there is no iteration -1 at column 12"):
        session.frame["v_in@(iter - 2)"]
    assert session.frame.iteration == 1


def test_extra_condition_ignore_count_and_disabling() -> None:
    session = count(M=20)
    breakpoint_ = session.breakpoints.add("v_out if v_in % 3 == 0")
    assert [5 + i for i in stops(session)] == [6, 9, 12, 15, 18, 21, 24]
    session.restart()
    breakpoint_.ignore = 5
    assert [5 + i for i in stops(session)] == [21, 24]
    session.restart()
    breakpoint_.enabled = False
    assert stops(session) == []
    session.restart()
    breakpoint_.enabled = True
    session.breakpoints.set_condition(breakpoint_, "v_in == 8")
    assert [5 + i for i in stops(session)] == [8]
    session.breakpoints.delete(breakpoint_.number)
    session.restart()
    assert stops(session) == []
    with raises_error(loopdbg.UsageError, name="breakpoint", got="1"):
        session.breakpoints.delete(1)


def test_temporary_breakpoint_is_deleted_by_its_hit() -> None:
    session = count(M=20)
    session.breakpoints.add("v_out", temporary=True)
    assert stops(session) == [0]
    assert len(session.breakpoints) == 0


def test_breakpoint_at_the_end_of_a_loop() -> None:
    session = start(NESTED, M=2, K=3)
    session.breakpoints.add("end in " + inner(session))
    seen = []
    while session.continue_().reason is not Reason.DONE:
        seen.append((session.frame.entry, session.frame.iteration, session.frame.stopped_by))
    assert seen == [((0,), 3, "trip_count"), ((1,), 3, "trip_count")]


DIVIDE = """
divide (int64 M, float v0) => (float v, float[N] s) {
  v, s = Loop <body = body (int64 i, bool c, float x) => (bool c, float y, float z) {
    one = Constant <value = float {1}> ()
    seven = Constant <value = int64 {7}> ()
    rest_i = Sub (i, seven)
    rest = Cast <to = 1> (rest_i)
    z = Div (one, rest)
    y = Add (x, z)
  }> (M, , v0)
}
"""


def test_nan_breakpoint_stops_after_the_node_that_made_it() -> None:
    session = start(DIVIDE, M=20, v0=1.0)
    session.breakpoints.add("nan")
    stop = session.continue_()
    assert (stop.reason, stop.breakpoints, stop.iteration) == ("breakpoint", (1,), 7)
    assert stop.node is not None and stop.node.startswith("Div")
    assert f"Div '{stop.node}' gave NaN or Inf in iteration 7" in stop.text
    assert session.frame.iteration == 7 and not session.frame.at_boundary
    assert session.frame["isinf(z)"]
    # From now on x contains it: no new stop.
    assert session.continue_().reason == "done"


def test_nan_breakpoint_on_one_value() -> None:
    session = start(DIVIDE, M=20, v0=1.0)
    session.breakpoints.add("nan y")
    stop = session.continue_()
    assert stop.node is not None and stop.node.startswith("Add") and session.frame.iteration in (7, 8)


def test_watchpoint_stops_where_a_value_changes() -> None:
    session = start(BRANCHES, M=6, v0=1.0)
    session.watch("x > 3")
    stop = session.continue_()
    assert stop.reason == "watchpoint"
    assert "x > 3: false → true" in stop.text
    assert stops(session) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_in", list(range(1, 11))),
        ("v_in crosses 9.5", [5]),
        ("v_in crosses 9", [4]),
        ("v_in // 4", [3, 7]),
        ("v_in - 10 sign", [5, 6]),
        ("v_out", list(range(2, 11))),
        ("s shape", list(range(1, 11))),
    ],
)
def test_watchpoint_conditions(text: str, expected: list[int]) -> None:
    session = count(M=10)
    session.watch(text)
    assert stops(session) == expected


def test_watchpoint_on_a_converging_value() -> None:
    model_ = loopdbg.load("sample_models/newton_sqrt.onnx")
    session = loopdbg.debug(model_, {"a": 2.0, "tol": 1e-6})
    session.watch("x settles 1e-4")
    stop = session.continue_()
    assert stop.reason == "watchpoint"
    settled = session.frame.iteration
    assert abs(session.frame["delta(x)"]) < 1e-4
    assert abs(session.frame[f"x@{settled - 1} - x@{settled - 2}"]) >= 1e-4


def test_logpoint_prints_and_continues() -> None:
    session = count(M=4)
    session.breakpoints.add("v_out", log="{iter}: v is {v_in}, {{so}} {v_in * 2}")
    assert stops(session) == []
    assert session.logged == [f"{i}: v is {5 + i}, {{so}} {10 + 2 * i}" for i in range(4)]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("v_outt", {"name": "v_outt", "expected": "a place"}),
        ("iter x", {"name": "iter", "expected": "iteration numbers", "got": "x"}),
        ("iter -3", {"name": "iter", "expected": "iteration numbers", "got": "-3"}),
        ("op Conv", {"op_type": "Conv", "expected": "Add, Constant, Identity, Less, Loop"}),
        ("if v_im > 3", {"name": "v_im", "loop": "Loop_0"}),
        ("line 9999", {"name": "line 9999"}),
        ("end in nowhere", {"loop": "nowhere"}),
        ("iter 3,4,5", {"name": "iter", "got": "3 numbers"}),
    ],
)
def test_invalid_breakpoints_are_refused(text: str, fields: dict[str, str]) -> None:
    session = count()
    with raises_error(loopdbg.UsageError, **fields):
        session.breakpoints.add(text)
    with raises_error(ExpressionError, position=6):
        session.breakpoints.add("if v_in >")
    assert len(session.breakpoints) == 0


@pytest.mark.parametrize(
    "place", ["iter 7", "v_out if v_in == 12", "if v_in == 12", "if v_in >= 40", "end", "v_out", "nan"]
)
def test_going_back_stops_where_going_on_stopped(place: str) -> None:
    session = count(M=40)
    session.breakpoints.add(place)
    ahead = []
    while session.continue_().reason is not Reason.DONE:
        ahead.append(session.controller.position)
    behind = []
    while session.reverse_continue().reason is not Reason.START:
        behind.append(session.controller.position)
    assert behind == ahead[::-1]
    assert session.frame.iteration == 0 and session.frame.at_boundary


def test_watchpoint_finds_changes_backwards() -> None:
    session = start(BRANCHES, M=12, v0=1.0)
    session.watch("i // 4")
    ahead = []
    while session.continue_().reason is not Reason.DONE:
        ahead.append(session.controller.position)
    behind = []
    while session.reverse_continue().reason is not Reason.START:
        behind.append(session.controller.position)
    assert behind == ahead[::-1] and len(ahead) == 3


def test_failing_node_is_a_stop_with_all_values() -> None:
    session = start(
        """
        fail (int64 M, float[5] x) => (float v) {
          zero = Constant <value = float {0}> ()
          v = Loop <body = body (int64 i, bool c, float t) => (bool c, float u) {
            e = Gather (x, i)
            u = Add (t, e)
          }> (M, , zero)
        }
        """,
        M=9,
        x=[1.0, 2.0, 3.0, 4.0, 5.0],
    )
    stop = session.continue_()
    assert (stop.reason, stop.loop, stop.iteration, stop.node) == ("error", "Loop_1", 5, "Gather_0")
    assert session.frame.iteration == 5 and session.frame["t"] == 15
    assert session.frame.nodes[0].state == "next"
    assert session.back().reason == "step"
    assert session.frame.iteration == 5 and session.frame.at_boundary
    session.back()
    assert session.frame["t"] == 10
    assert session.continue_().reason == "error"
