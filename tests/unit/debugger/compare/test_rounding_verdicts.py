"""Differences that rounding causes: amplified by a loop, or tipping a quantised value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diff_checks import compare_models, report_text
from loopdbg.debugger.compare.proof.intervention import Reruns
from loopdbg.debugger.compare.proof.rounding_noise import move
from loopdbg.debugger.compare.proof.rounding_sensitivity import (
    explain_by_rounding,
    explain_iteration_by_rounding,
    rounding_response,
)
from loopdbg.debugger.compare.report.findings import Demonstration, Difference, LoopFindings, Verdict
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import Tolerance, compare
from text_models import model

F32 = np.float32
#: A logistic map: each iteration makes four of a small difference.
CHAOTIC = """g (float[8] x, int64 n) => (float[8] y) <bool go = {1}, float r = {%s}, float one = {1}> {
  y = Loop (n, go, x) <body = step (int64 i, bool c, float[8] h) => (bool c2, float[8] h2) {
    c2 = Identity (c)
    s = Sub (one, h)
    %s
  }>
}"""
ORDER, OTHER_ORDER = "m = Mul (r, h)  h2 = Mul (m, s)", "m = Mul (h, s)  h2 = Mul (r, m)"
NEIGHBOUR = repr(float(np.nextafter(F32(3.99), F32(4))))
FEEDS: dict[str, Any] = {"x": F32([0.3, 0.4, 0.1, 0.7, 0.8, 0.15, 0.2, 0.22]), "n": np.int64(60)}


def demonstration(left: str, right: str, **inputs: Any) -> tuple[Demonstration, str]:
    result = compare_models(left, right, **inputs)
    assert result.verdict is Verdict.DIFFER and result.demonstration is not None
    return result.demonstration, report_text(result).splitlines()[0]


def test_constant_that_rounds_differently_is_rounding_amplified() -> None:
    shown, headline = demonstration(CHAOTIC % (3.99, ORDER), CHAOTIC % (NEIGHBOUR, ORDER), **FEEDS)
    assert shown.method == "edits" and shown.bit_identical
    assert shown.amplification is not None and shown.amplification > 1e6
    assert headline == f"differ (rounding, amplified by {shown.amplification:.3g}): left and right"


def test_another_order_of_products_is_rounding_amplified() -> None:
    shown, _ = demonstration(CHAOTIC % (3.99, ORDER), CHAOTIC % (3.99, OTHER_ORDER), **FEEDS)
    assert shown.amplification is not None and shown.amplification > 1e6


def test_constant_that_really_changed_is_no_rounding_in_the_same_loop() -> None:
    shown, headline = demonstration(CHAOTIC % (3.99, ORDER), CHAOTIC % (3.98, ORDER), **FEEDS)
    assert shown.amplification is None and shown.reruns == 1 and headline.startswith("differ: ")


QUANTISED = """g (float[4] x, int64 n) => (float[4] y) <bool go = {1}, float one = {1}, int8 zero = {0},
float r = {%s}, float ten = {10}> {
  y = Loop (n, go, x) <body = step (int64 i, bool c, float[4] h) => (bool c2, float[4] h2) {
    c2 = Identity (c)
    p = Mul (h, r)
    q = QuantizeLinear (p, one, zero)
    d = DequantizeLinear (q, one, zero)
    h2 = Mul (d, ten)
  }>
}"""


def test_quantised_value_that_tips_is_named_with_its_iteration() -> None:
    just_below = float(np.nextafter(F32(3.5), F32(0)))
    inputs = {"x": F32([just_below, 1.2, 2.3, -3.1]), "n": np.int64(1)}
    right = QUANTISED % repr(float(np.nextafter(F32(1), F32(2))))
    shown, headline = demonstration(QUANTISED % 1.0, right, **inputs)
    assert shown.tipped is not None and shown.method == "edits"
    assert (shown.tipped.iteration, shown.tipped.name, shown.tipped.count) == (0, "q", 1)
    assert "one quantised value tips in iteration 0, node" in headline


def test_inputs_move_by_one_unit_and_outputs_by_as_many_as_they_are_amplified() -> None:
    doubled = model(
        "g (float[2] x, int64 k) => (float[2] y) <float c = {1024}> { a = Sub (x, x)  b = Mul (x, c)  y = Add (a, b) }"
    )
    side = ModelSide(doubled, {"x": F32([1, 1.5]), "k": np.int64(0)})
    assert not list(side.boundaries()) and side.outputs is not None
    result = compare_models(
        "g (float[1] x) => (float[1] y) { y = Exp (x) }", "g (float[1] x) => (float[1] y) { y = Neg (x) }", x=F32([1])
    )
    response = rounding_response(Reruns(side, 1, 1.0), side.outputs, result.outputs)
    assert response is not None and response.subject == "moving 'x' of g by one unit in the last place"
    assert response.moved["y"] == 1024 * 2.0**-23 and response.amplification == 1.0
    assert not response.explains(result.outputs)


def test_numbers_move_to_their_neighbours_where_those_are_finite() -> None:
    largest = np.finfo(F32).max
    moved = move(F32([1, -1, 0, largest, np.inf, np.nan]), 1)
    assert moved[0] == np.nextafter(F32(1), F32(2)) and moved[1] == -moved[0]
    np.testing.assert_array_equal(moved[2:], F32([0, largest, np.inf, np.nan]))


def test_rounding_explains_another_runtime_by_what_loops_carry() -> None:
    """A model without float inputs, whose loop is chaotic."""
    text = CHAOTIC.replace("float[8] x, int64 n", "int64 n").replace("Loop (n, go, x)", "Loop (n, go, start)")
    start = ", ".join(map(str, FEEDS["x"].tolist()))
    text = text.replace("float one = {1}", f"float one = {{1}}, float[8] start = {{{start}}}")
    left, right = (model(text % (r, ORDER)) for r in (3.99, NEIGHBOUR))
    inputs = {"n": FEEDS["n"]}
    differences = compare_models(left, right, **inputs).outputs
    side = ModelSide(left, inputs)
    assert list(side.boundaries())
    shown = explain_by_rounding(Reruns(side, 61, 1.0), differences, 1e-7)
    assert shown is not None and shown.method == "rounding" and shown.tipped is None
    assert "what the loops of g carry" in shown.text and shown.amplification is not None


def test_rounding_does_not_explain_a_loop_that_amplifies_nothing() -> None:
    text = CHAOTIC.replace("float r = {%s}", "float r = {%s}, float half = {0.5}")
    left, right = (model(text % (3.99, f"p = Mul (h, half)  h2 = {op} (p, one)")) for op in ("Mul", "Add"))
    differences = compare_models(left, right, **FEEDS).outputs
    side = ModelSide(left, FEEDS)
    assert list(side.boundaries()) and differences
    assert explain_by_rounding(Reruns(side, 61, 1.0), differences, 1e-7) is None


#: What is carried is shifted in each iteration.
CANCELLATION = """g (float[2] x, int64 n) => (float[2] y) <bool go = {1},
float[2] shift = {1, 1.00001}, float one = {1}> {
  y = Loop (n, go, x) <body = step (int64 i, bool c, float[2] h) => (bool c2, float[2] h2) {
    c2 = Identity (c)
    s = Mul (h, shift)
    d = Sub (s, one)
    h2 = Add (one, d)
  }>
}"""


@pytest.mark.parametrize("iteration", [0, 1])
@pytest.mark.parametrize(("factor", "explained"), [(1 + 2e-7, True), (1.001, False)])
def test_rounding_explains_an_iteration_if_its_values_move_as_far(
    factor: float, explained: bool, iteration: int
) -> None:
    inputs = {"x": F32([1.1, 1.2]), "n": np.int64(3)}
    side = ModelSide(model(CANCELLATION), inputs)
    after = next(boundary for boundary in side.boundaries() if boundary.iteration == iteration + 1)
    (name, ours), *_ = after.carried.items()
    theirs = ours * F32(factor)
    delta = compare(ours, theirs, Tolerance(0.0, 0.0))
    (loop,) = side.loops
    first = Difference("carried", name, name, delta, loop.path, iteration=iteration, left=ours, right=theirs)
    findings = LoopFindings(loop.path, loop.path, "path", first=first)
    shown = explain_iteration_by_rounding(Reruns(side, 4, 1.0), findings)
    assert (shown is not None) is explained
    if shown is not None:
        assert shown.verdict == "rounding" and f"carries into iteration {iteration} by one unit" in shown.text
