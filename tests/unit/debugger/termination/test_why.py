"""Why a loop ended or continues: decisions with values, conditions that cannot change, estimates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.describe.condition_analysis import condition_slice
from loopdbg.debugger.session.boundary import read_boundary
from loopdbg.debugger.session.session import Session, debug
from loopdbg.debugger.termination.explanation import NeverEndsCause, Why, explain_termination
from loopdbg.debugger.termination.trend import Trend, estimate_turning
from loopdbg.runtime.graph import Loop, StoppedBy, loops
from loopdbg.runtime.infinite_loop_detection import bitwise_equal
from recordings import read_computed
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, model


def walked(session: Session, iterations: int, computed: bool = True) -> list[Mapping[str, Any]]:
    """Step to a boundary of the running loop; returns the boundaries on the way."""
    recent: list[Mapping[str, Any]] = []
    while True:
        boundary = read_computed(session.frame) if computed else read_boundary(session.frame)
        recent.append({**boundary.carried, **boundary.computed})
        if boundary.iteration >= iterations or boundary.ended is not None:
            return recent
        session.step()


def why_at_boundary(text: str, iterations: int, computed: bool = True, **inputs: Any) -> Why:
    """``why`` at a boundary of the first loop of a model in ONNX text form."""
    session = debug(model(text), inputs)
    recent = walked(session, iterations, computed)
    return explain_termination(session, recent)


def sample(name: str) -> Session:
    """A session on a sample model with its inputs."""
    path = SAMPLES / name
    with np.load(path.with_suffix(".inputs.npz")) as inputs:
        return debug(path, dict(inputs))


def while_loop(body: str, carried: str = "float x", results: str = "y", inputs: str = "float x0") -> str:
    """A while loop whose body yields ``keep``; its initial condition is true."""
    initial = ", ".join(word.split()[-1] for word in inputs.split(", ") if word.endswith("0"))
    outer = ", ".join(f"{word.split()[0]} out{k}" for k, word in enumerate(carried.split(", ")))
    feeds = ", ".join(f"out{k}" for k in range(len(carried.split(", "))))
    typed = ", ".join(
        f"{word.split()[0]} {name}" for word, name in zip(carried.split(", "), results.split(", "), strict=True)
    )
    return f"""
    g ({inputs}) => ({outer}) <bool yes = {{1}}> {{
      {feeds} = Loop <body = b (int64 i, bool c, {carried}) => (bool keep, {typed}) {{
        {body}
      }}> ("", yes, {initial})
    }}"""


def f32(value: float) -> np.float32:
    return np.float32(value)


HALVING = while_loop(
    "half = Constant <value = float {0.5}> ()\n y = Mul (x, half)\n keep = Greater (y, tol)",
    inputs="float x0, float tol",
)
COUNTING = while_loop("y = Sub (x, step)\n keep = Greater (y, tol)", inputs="float x0, float step, float tol")


def test_loop_ended_by_its_condition() -> None:
    session = sample("newton_sqrt.onnx")
    recent = walked(session, 99)
    result = explain_termination(session, recent)
    assert (result.ended, result.loop, result.iteration) == (StoppedBy.CONDITION, "sqrt", 5)
    assert (result.condition_name, result.condition) == ("keep", False)
    assert result.headline == "loop 'sqrt' ended after 5 iterations: keep = err_new > tol is false: 0.0 > 1e-06"
    assert result.steps[-1].text == "keep = err_new > tol"
    assert result.steps[0].text == "half = x * 0.5"
    assert result.steps[-1].known and not result.steps[-1].value
    assert result.about is None and not result.never and result.sides[0].estimate is None
    text = "\n".join(result.lines())
    assert "carried     x = 2.0 → 1.5 → " in text
    assert "unchanged   a = 2.0" in text


def test_loop_ended_by_its_trip_count() -> None:
    result = why_at_boundary(COUNT, 99, M=3, cond=True, v0=0, bound=100)
    assert (result.ended, result.iteration, result.trip_count) == (StoppedBy.TRIP_COUNT, 3, 3)
    assert "ended after 3 iterations: the trip count is 3" in result.headline
    assert result.headline.endswith("keep = v_out < bound is true: 3 < 100, so it would have gone on")
    both = why_at_boundary(COUNT, 99, M=3, cond=True, v0=0, bound=3)
    assert (both.ended, both.iteration, both.trip_count) == (StoppedBy.CONDITION, 3, 3)
    assert both.headline.endswith("keep = v_out < bound is false: 3 < 3, and the trip count is reached as well")


def test_loop_ended_by_its_sliced_inputs() -> None:
    session = sample("reverse_sum.xml")
    session.finish()
    result = explain_termination(session)
    assert result.ended is StoppedBy.INPUT_EXHAUSTED
    assert result.headline == "loop 'sum_backwards' ended after 6 iterations: x has no more part"


def test_loops_without_iterations() -> None:
    count = why_at_boundary(COUNT, 0, M=0, cond=True, v0=0, bound=3)
    assert count.headline.endswith("runs no iteration: the trip count is 0")
    path = SAMPLES / "newton_sqrt.onnx"
    session = debug(path, {"a": f32(1), "tol": f32(1e-6)})
    result = explain_termination(session)
    assert (result.loop, result.iteration, result.condition_name) == ("sqrt", 0, "keep0")
    assert result.condition is False and result.steps == ()
    assert [(side.text, side.values) for side in result.sides] == [("err0 > tol", "0.0 > 1e-06 is false")]


def test_before_the_first_iteration() -> None:
    result = explain_termination(sample("newton_sqrt.onnx"))
    assert result.headline == "loop 'sqrt' begins: keep0 = err0 > tol is true: 2.0 > 1e-06"
    assert result.about is None and not result.never


def test_model_that_ran_to_its_end() -> None:
    session = sample("counter.onnx")
    session.continue_()
    result = explain_termination(session)
    assert (result.ended, result.iteration, result.condition_name) == (StoppedBy.CONDITION, 7, "below")
    assert [(side.text, side.values) for side in result.sides] == [("count_next < limit", "21 < 20 is false")]


def test_outside_loops() -> None:
    session = debug(model("g (float[N] x) => (float[N] y) { y = Add (x, x) }"), {"x": np.ones(2, np.float32)})
    result = explain_termination(session)
    assert result.loop is None and result.headline.startswith("no loop runs here")


def test_geometric_decrease_is_extrapolated() -> None:
    inputs = {"x0": f32(1), "tol": f32(1e-3)}
    result = why_at_boundary(HALVING, 4, **inputs)
    session = debug(model(HALVING), inputs)
    ran = len(walked(session, 99)) - 1
    assert result.about == ran - 4
    (side,) = result.sides
    assert side.estimate is not None and side.estimate.trend is Trend.GEOMETRIC
    assert f"about {ran - 4} more iterations (y falls by a factor of 0.5 each)" in side.estimate.text
    assert side.estimate.text.startswith("if it goes on like this")


def test_linear_decrease_is_extrapolated() -> None:
    inputs = {"x0": f32(100), "step": f32(7), "tol": f32(1)}
    result = why_at_boundary(COUNTING, 4, **inputs)
    ran = len(walked(debug(model(COUNTING), inputs), 99)) - 1
    assert result.about == ran - 4
    (side,) = result.sides
    assert side.estimate is not None and side.estimate.trend is Trend.LINEAR


def test_carried_values_alone_show_a_trend() -> None:
    result = why_at_boundary(HALVING, 4, computed=False, x0=f32(1), tol=f32(1e-3))
    assert result.about == 6


def test_growing_gap() -> None:
    result = why_at_boundary(COUNTING, 4, x0=f32(100), step=f32(-7), tol=f32(1))
    (side,) = result.sides
    assert side.estimate is not None and side.estimate.trend is Trend.DIVERGING
    assert "never ends" in side.estimate.text and result.about is None
    assert result.never_cause is None  # an extrapolation is no certainty


def test_trip_count_may_come_first() -> None:
    result = why_at_boundary(COUNT, 4, M=6, cond=True, v0=0, bound=100)
    assert (result.trip_count, result.left, result.about) == (6, 2, 96)
    assert "the trip count comes first: 2 left" in result.remarks
    assert any("6, 2 left" in line for line in result.lines())


def test_fixed_point_never_ends() -> None:
    body = "half = Constant <value = float {0.5}> ()\n y = Mul (x, half)\n keep = GreaterOrEqual (y, tol)"
    text = while_loop(body, inputs="float x0, float tol")
    result = why_at_boundary(text, 3, x0=f32(0), tol=f32(0))
    assert (result.repeats, result.never_cause) == (1, NeverEndsCause.REPETITION)
    assert result.never == "x is bit for bit as one iteration ago, and keep depends on nothing else that changes"
    assert any(line.startswith("  never ends  ") for line in result.lines())
    assert result.about is None
    # The frame alone remembers the last two boundaries.
    session = debug(model(text), {"x0": f32(0), "tol": f32(0)})
    session.step()
    assert explain_termination(session).repeats == 1
    moving = why_at_boundary(text, 3, x0=f32(1), tol=f32(0))
    assert moving.repeats is None and not moving.never


def test_fixed_point_needs_the_same_bits() -> None:
    # x turns 0.0 into -0.0 and back: equal numbers, but a cycle of two.
    text = while_loop("y = Neg (x)\n keep = LessOrEqual (y, tol)", inputs="float x0, float tol")
    result = why_at_boundary(text, 4, x0=f32(0), tol=f32(0))
    assert (result.repeats, result.never_cause) == (2, NeverEndsCause.REPETITION)
    assert result.never == "x repeats bit for bit every 2 iterations, and keep depends on nothing else that changes"
    assert why_at_boundary(text, 1, x0=f32(0), tol=f32(0)).repeats is None


def test_cycle_of_three() -> None:
    body = """
        one = Constant <value = int64 {1}> ()
        three = Constant <value = int64 {3}> ()
        up = Add (x, one)
        y = Mod (up, three)
        keep = Less (y, three)"""
    text = while_loop(body, carried="int64 x", inputs="int64 x0")
    assert why_at_boundary(text, 6, x0=0).repeats == 3
    assert why_at_boundary(text, 2, x0=0).repeats is None


def test_values_that_the_condition_does_not_need_may_change() -> None:
    body = """
        y = Identity (x)
        one = Constant <value = float {1}> ()
        n_next = Add (n, one)
        zero = Constant <value = float {0}> ()
        y2 = Add (y, zero)
        keep = Less (y2, tol)"""
    text = while_loop(body, carried="float x, float n", results="y, n_next", inputs="float x0, float n0, float tol")
    result = why_at_boundary(text, 3, x0=f32(0), n0=f32(0), tol=f32(1))
    # x is handed on unchanged, so nothing that reaches the condition changes at all.
    assert (result.repeats, result.never_cause) == (None, NeverEndsCause.UNCHANGING_INPUTS)
    assert result.never == "keep depends only on tol, which stays the same in every iteration, so it stays true"
    added = why_at_boundary(
        text.replace("y = Identity (x)", "z = Constant <value = float {0}> ()\n y = Add (x, z)"),
        3,
        x0=f32(0),
        n0=f32(0),
        tol=f32(1),
    )
    assert (added.repeats, added.never_cause) == (1, NeverEndsCause.REPETITION)


def test_iteration_number_prevents_conclusions() -> None:
    body = "n = Cast <to = 1> (i)\n y = Identity (x)\n keep = Less (n, tol)"
    result = why_at_boundary(while_loop(body, inputs="float x0, float tol"), 4, x0=f32(0), tol=f32(10))
    assert not result.never and result.repeats is None
    assert result.about == 7  # n was 3, and ends at 10


def test_random_operator_prevents_conclusions() -> None:
    body = (
        "r = RandomUniform <shape = [1]> ()\n s = ReduceSum <keepdims = 0> (r)\n y = Identity (x)\n"
        " keep = GreaterOrEqual (s, x)"
    )
    text = while_loop(body, inputs="float x0")
    result = why_at_boundary(text, 3, x0=f32(0))
    assert not result.never
    assert any("draws random numbers" in remark for remark in result.remarks)


def test_condition_that_depends_only_on_captures() -> None:
    text = while_loop("y = Add (x, x)\n keep = Less (tol, other)", inputs="float x0, float tol, float other")
    inputs = {"x0": f32(1), "tol": f32(1), "other": f32(2)}
    assert why_at_boundary(text, 0, **inputs).never_cause is None
    result = why_at_boundary(text, 1, **inputs)
    assert result.never == "keep depends only on tol, other, which stay the same in every iteration, so it stays true"


def test_loop_that_nothing_ends() -> None:
    session = sample("loop_infinite.xml")
    session.step()
    result = explain_termination(session)
    assert result.never_cause is NeverEndsCause.CONSTANT_CONDITION
    assert result.never == "there is no trip count, and the condition is always true"


def test_and_or_not() -> None:
    body = """
        y = Sub (x, step)
        above = Greater (y, tol)
        below = Less (y, high)
        keep = And (above, below)"""
    text = while_loop(body, inputs="float x0, float step, float tol, float high")
    inputs = {"x0": f32(20), "step": f32(2), "tol": f32(3), "high": f32(50)}
    result = why_at_boundary(text, 4, **inputs)
    assert "keep = y > tol and y < high is true" in result.headline
    assert [(side.text, side.values) for side in result.sides] == [
        ("y > tol", "12.0 > 3.0 is true"),
        ("y < high", "12.0 < 50.0 is true"),
    ]
    assert result.about == 5  # the first operand to change ends it
    either = why_at_boundary(text.replace("And (above", "Or (above"), 4, **inputs)
    assert either.about is None  # the other one never changes
    inverted = text.replace("keep = And (above, below)", "low = Not (above)\n keep = Not (low)")
    assert why_at_boundary(inverted, 4, **inputs).about == 5


#: A counter and a value without a trend: both have to hold.
DECODER = """
    high = Constant <value_float = 30.0> ()
    one = Constant <value_int = 1> ()
    m = Add (n, one)
    f = Cast <to = 1> (m)
    s = Sin (f)
    y = Mul (s, s)
    fits = Less (m, most)
    open = Greater (y, tol)
    keep = And (fits, open)"""
COUNTER = "if it goes on like this, {} 15 more iterations (the gap of 15 falls by 1 each)"


def decoder(*changes: str) -> Why:
    """``why`` before iteration 5 of 20; lines of the body are replaced by those that assign the same result."""
    body = DECODER
    for line in changes:
        result = re.escape(line.split("\n")[-1].split("=")[0].strip())
        body = re.sub(rf"\b{result} = .*", line, body)
    carried = {"carried": "int64 n, float x", "results": "m, y", "inputs": "int64 n0, float x0, int64 most, float tol"}
    return why_at_boundary(while_loop(body, **carried), 5, n0=0, x0=f32(1), most=20, tol=f32(1e-4))


def estimates(why: Why) -> list[str]:
    return [side.estimate.text for side in why.sides if side.estimate is not None]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("nan = IsNaN (y)\n open = Not (nan)",),
        ("full = Not (fits)\n shut = Not (open)\n end = Or (full, shut)\n keep = Not (end)",),
    ],
)
def test_estimate_is_a_bound_if_another_operand_may_end_the_loop_first(changes: tuple[str, ...]) -> None:
    result = decoder(*changes)
    assert estimates(result)[0] == COUNTER.format("at most")
    assert (result.about, result.at_most) == (15, True)


@pytest.mark.parametrize("line", ["open = Less (tol, high)", "open = Identity (c)", "open = Greater (f, tol)"])
def test_estimate_that_nothing_precedes_is_no_bound(line: str) -> None:
    result = decoder(line)
    assert estimates(result)[0] == COUNTER.format("about")
    assert (result.about, result.at_most) == (15, False)


def test_later_of_two_estimates_is_a_bound() -> None:
    result = decoder("open = Less (f, high)")
    first, second = estimates(result)
    assert first == COUNTER.format("about") and "at most 25 more" in second
    assert (result.about, result.at_most) == (15, False)


def test_or_condition_has_no_bound() -> None:
    result = decoder("keep = Or (fits, open)")
    assert estimates(result)[0] == COUNTER.format("about")
    assert (result.about, result.at_most) == (None, False)


def test_bound_from_fractional_numbers_is_approximate() -> None:
    result = decoder("part = Div (f, high)\n fits = Less (part, high)")
    assert "at most about 895 more iterations" in estimates(result)[0]


def test_trip_count_precedes_a_bound() -> None:
    body = DECODER.replace("\n", "\n ")
    text = while_loop(body, "int64 n, float x", "m, y", "int64 n0, float x0, int64 most, float tol")
    text = text.replace('("", yes', "(M, yes").replace("g (", "g (int64 M, ")
    result = why_at_boundary(text, 5, M=9, n0=0, x0=f32(1), most=20, tol=f32(1e-4))
    assert "the trip count comes before that: 4 left" in result.remarks


def test_condition_with_shared_subexpressions_stays_short() -> None:
    chain = "\n".join(f"c{k + 1} = And (c{k}, c{k})" for k in range(40))
    body = f"y = Sub (x, tol)\n c0 = Greater (y, tol)\n {chain}\n keep = Identity (c40)"
    result = why_at_boundary(while_loop(body, inputs="float x0, float tol"), 3, x0=f32(20), tol=f32(1))
    assert len(result.headline) < 2000 and len(result.sides) <= 32


def test_not_equal_that_is_stepped_over() -> None:
    body = "y = Sub (x, step)\n end = Equal (y, tol)\n keep = Not (end)"
    text = while_loop(body, carried="int64 x", inputs="int64 x0, int64 step, int64 tol")
    hits = why_at_boundary(text, 3, x0=21, step=3, tol=0)
    assert hits.about == 4
    assert (hits.condition_name, hits.condition) == ("keep", True)
    assert [side.values for side in hits.sides] == ["12 != 0 is true"]
    missed = why_at_boundary(text, 3, x0=20, step=3, tol=0)
    (side,) = missed.sides
    assert side.estimate is not None and side.estimate.trend is Trend.STEPS_OVER and missed.about is None


def test_nan_is_named() -> None:
    text = while_loop("y = Div (x, x)\n keep = Greater (y, tol)", inputs="float x0, float tol")
    result = why_at_boundary(text, 9, x0=f32(0), tol=f32(0))
    assert result.ended is StoppedBy.CONDITION and result.headline.endswith("is false: nan > 0.0")
    stays = why_at_boundary(
        text.replace("keep = Greater (y, tol)", "low = LessOrEqual (y, tol)\n keep = Not (low)"),
        4,
        x0=f32(0),
        tol=f32(0),
    )
    assert stays.repeats == 1  # NaN is itself, bit for bit
    (side,) = stays.sides
    assert side.estimate is not None and side.estimate.trend is Trend.NAN


def test_if_in_the_slice() -> None:
    session = sample("collatz.onnx")
    walked(session, 3)
    result = explain_termination(session)
    texts = [step.text for step in result.steps]
    assert texts == [
        "remainder = n % 2",
        "is_even = remainder == 0",
        "tripled = n * 3",
        "tripled_plus_one = tripled + 1",
        "n_next = halved if is_even else tripled_plus_one",
        "at_one = n_next == 1",
        "go_on = not at_one",
    ]
    assert [int(step.value) for step in result.steps][:5] == [1, 0, 33, 34, 34]


def test_if_that_computes_the_condition() -> None:
    body = """
        y = Sub (x, step)
        even = Greater (y, tol)
        keep = If (even) <
          then_branch = a () => (bool p) { p = Greater (y, step) },
          else_branch = b2 () => (bool q) { q = Less (y, tol) }>"""
    text = while_loop(body, inputs="float x0, float step, float tol")
    result = why_at_boundary(text, 3, x0=f32(20), step=f32(2), tol=f32(5))
    assert "(y > step) if even else (y < tol)" in result.headline
    assert [side.text for side in result.sides] == ["y > step"]
    assert [step.text for step in result.steps if step.node.op_type == "Less"] == []


def test_nested_loops() -> None:
    session = sample("mandelbrot.onnx")
    while len(session.frames) < 3:
        session.into()
    result = explain_termination(session)
    assert result.path.endswith("pixels ▸ escape")
    session.step()
    result = explain_termination(session)
    assert (result.loop, result.iteration, result.condition_name) == ("escape", 1, "inside")
    assert (result.ended, result.condition) == (StoppedBy.CONDITION, False)
    assert [side.text for side in result.sides] == ["distance_2 <= 4.0"]
    outer = explain_termination(session.frames[1], graph=session.model.graph)
    assert outer.path.endswith("▸ pixels") and (outer.loop, outer.trip_count) == ("pixels", 288)


def test_inner_loop_output_decides() -> None:
    text = """
    g (int64 M, int64 K, int64 bound) => (int64 t) <bool yes = {1}, int64 zero = {0}> {
      t = Loop <body = outer (int64 i, bool c, int64 x) => (bool keep, int64 y) {
        y = Loop <body = inner (int64 j, bool d, int64 u) => (bool d, int64 u_out) { u_out = Add (u, j) }> (K, , x)
        keep = Less (y, bound)
      }> (M, yes, zero)
    }"""
    result = why_at_boundary(text, 3, M=9, K=3, bound=100)
    assert result.steps[0].text.split("(")[0] == "y = Loop 'Loop_0'"
    assert result.about == 31 and result.left == 6  # 3 more each, from 9 to 100


def test_inside_iteration_shows_last_decision() -> None:
    session = sample("newton_sqrt.onnx")
    recent = walked(session, 3)
    at_boundary = explain_termination(session, recent)
    for _ in range(8):
        session.next_node()
        if session.frame.at_boundary:
            break
        result = explain_termination(session, recent)
        assert result.headline.startswith("loop 'sqrt' runs iteration 3: keep = err_new > tol is true: ")
        assert result.headline.endswith("(decided by iteration 2)")
        assert [step.text for step in result.steps] == [step.text for step in at_boundary.steps]
        assert [step.value for step in result.steps] == [step.value for step in at_boundary.steps]
        assert explain_termination(session).headline.startswith("loop 'sqrt' runs iteration 3: ")


def test_compared_parameter_shows_the_deciding_value() -> None:
    text = while_loop("y = Sub (x, step)\n keep = Greater (x, tol)", inputs="float x0, float step, float tol")
    result = why_at_boundary(text, 3, x0=f32(10), step=f32(2), tol=f32(1))
    # Iteration 2 received 6; 4 is what iteration 3 would receive.
    assert result.headline.endswith("keep = x > tol is true: 6.0 > 1.0")
    assert result.about == 3


def test_slice_of_a_condition() -> None:
    (loop,) = loops(model(BRANCHES).graph)
    assert condition_slice(loop).nodes == () and not condition_slice(loop).depends_on_varying_values
    newton = condition_slice(only_loop("newton_sqrt.onnx"))
    assert [node.op_type for node in newton.nodes] == ["Mul", "Div", "Mul", "Add", "Sub", "Abs", "Greater"]
    assert [edge.param.name for edge in newton.carried] == ["x"]  # err is carried but never read
    assert sorted(value.name for value in newton.captures) == ["a", "tol"]
    assert [value.name for value in newton.constants] == ["one_half"]
    assert newton.depends_on_varying_values and newton.depends_on_carried_only
    decoder = condition_slice(only_loop("greedy_decoder.onnx"))
    assert {edge.param.name for edge in decoder.all_carried} == {"token", "h"}
    collatz = condition_slice(only_loop("collatz.onnx"))
    assert [edge.param.name for edge in collatz.all_carried] == ["n"]
    assert {node.op_type for node in collatz.nodes} >= {"If", "Div", "Mul"}


def test_dependence_through_back_edges() -> None:
    text = while_loop(
        "y = Identity (n)\n n_next = Cast <to = 1> (i)\n keep = Less (x, tol)",
        carried="float x, float n",
        results="y, n_next",
        inputs="float x0, float n0, float tol",
    )
    (loop,) = loops(model(text).graph)
    result = condition_slice(loop)
    assert [edge.param.name for edge in result.carried] == ["x"]
    assert [edge.param.name for edge in result.all_carried] == ["x", "n"]
    assert result.depends_on_iteration and not result.reads_iteration and not result.depends_on_carried_only


def only_loop(name: str) -> Loop:
    """The only loop of a sample model."""
    (loop,) = sample(name).model.loops
    return loop.loop


def test_loop_without_a_condition() -> None:
    session = debug(model(NESTED), {"M": 2, "K": 2})
    result = explain_termination(session)
    assert "nothing but the count ends it, and the trip count is 2" in result.headline
    assert result.never_cause is None and result.sides == ()


@pytest.mark.parametrize(
    ("left", "right", "sign", "trend", "more"),
    [
        ([10, 8, 6], [1, 1, 1], ">", Trend.LINEAR, 3),
        ([10, 8, 6], [2, 2, 2], ">", Trend.LINEAR, 2),
        ([10, 8, 6], [2, 2, 2], ">=", Trend.LINEAR, 3),
        ([1, 2, 3], [20, 20, 20], "<=", Trend.LINEAR, 18),
        ([0.1, 0.2, 0.3], [1, 1, 1], "<", Trend.LINEAR, 7),
        ([1.0, 0.5, 0.25], [0.01, 0.01, 0.01], ">", Trend.GEOMETRIC, 5),
        ([1, 1.5, 2.25], [20, 20, 20], "<", Trend.GEOMETRIC, 6),
        ([4, 3.5, 3.25, 3.125, 3.0625], [3.001] * 5, ">", Trend.GEOMETRIC, 6),
        ([4, 3.5, 3.25, 3.125, 3.0625], [1] * 5, ">", Trend.SETTLING, None),
        ([1, 0.5, 0.25, 0.125], [0, 0, 0, 0], ">", Trend.GEOMETRIC, 1072),
        ([1, 0.5, 0.25, 0.125], [0, 0, 0, 0], ">=", Trend.SETTLING, None),
        ([1, 0.9, 0.81, 0.729], [0, 0, 0, 0], ">", Trend.IRREGULAR, None),
        ([1, 0.5, 0.25, 0.125], [-1, -1, -1, -1], ">", Trend.SETTLING, None),
        ([0.5, 0.0833, 0.00245], [1e-6] * 3, ">", Trend.ACCELERATING, 3),
        ([1, 4, 9, 16], [100] * 4, "<", Trend.ACCELERATING, 12),
        ([1, 2, 4, 8], [0] * 4, ">", Trend.DIVERGING, None),
        ([1, 2, 3, 4], [0] * 4, ">", Trend.DIVERGING, None),
        ([1, 1, 1], [0, 0, 0], ">", Trend.CONSTANT, None),
        ([1, 3, 2, 5], [0] * 4, ">", Trend.IRREGULAR, None),
        ([1, 2, np.inf], [0] * 3, ">", Trend.IRREGULAR, None),
        ([1, 2, np.nan], [0] * 3, ">", Trend.NAN, None),
        ([-9, -6, -3], [0, 0, 0], "!=", Trend.LINEAR, 1),
        ([10, 7, 4], [0, 0, 0], "!=", Trend.STEPS_OVER, None),
        ([3, 3, 3], [3, 3, 3], "==", Trend.CONSTANT, None),
    ],
)
def test_trends(left: list[float], right: list[float], sign: str, trend: Trend, more: int | None) -> None:
    result = estimate_turning(left, right, sign, dtype=np.dtype(np.float64))
    assert result is not None
    assert (result.trend, result.iterations) == (trend, more), result.text
    assert result.text


def test_two_values_are_no_trend() -> None:
    assert estimate_turning([2, 1], [0, 0], ">") is None
    assert estimate_turning([], [], ">") is None
    assert estimate_turning([3, 2, -1], [0, 0, 0], ">") is None  # false already


def test_identical_means_the_same_bits() -> None:
    nan = np.array(np.nan, np.float32)
    assert bitwise_equal(nan, nan.copy())
    assert not bitwise_equal(np.float32(0.0), np.float32(-0.0))
    assert not bitwise_equal(np.float32(1), np.float64(1))
    assert not bitwise_equal(np.zeros(2), np.zeros((2, 1)))
    assert bitwise_equal([np.ones(2), None], [np.ones(2), None])
    assert not bitwise_equal([np.ones(2)], [np.ones(2), np.ones(2)])
    assert bitwise_equal(np.array(["a"], object), np.array(["a"], object))
    assert not bitwise_equal(None, np.zeros(1))


def test_source_line_of_the_condition() -> None:
    session = sample("power_iteration.onnx")
    session.step(2)
    messages = list(explain_termination(session).lines())
    first = next(k for k, line in enumerate(messages) if line.startswith("  comes from"))
    assert messages[first : first + 4] == [
        "  comes from  power_iteration.py:9  product = matrix @ v",
        "              power_iteration.py:11  new_estimate = v @ product",
        "              power_iteration.py:12  change = abs(new_estimate - estimate)",
        "              power_iteration.py:21  if not change > tol:",
    ]
