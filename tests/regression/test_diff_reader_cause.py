"""Where a node reads another value than its twin, the maker of that value was blamed, or a constant or an input was
stated to differ."""

from __future__ import annotations

import numpy as np

from diff_checks import blamed_cause, compare_models, report_text, static_differences

F32 = np.float32
PARTS = """g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next) {
    c2 = Identity (c)
    [cut] s0, s1 = Split <axis = 0, num_outputs = 2> (h)
    [squash] t = Tanh (s0)
    h_next = Concat <axis = 0> (t, s1)
  }>
}"""
GATES = """g (float[3] x) => (float[3] y) <int64 n = {3}, bool go = {1}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
    c2 = Identity (c)
    [cut] s0, s1, s2 = Split <axis = 0, num_outputs = 3> (h)
    p = Sigmoid (s0)
    q = Sigmoid (s1)
    r = Tanh (s2)
    u = Mul (p, r)
    v = Add (q, s2)
    h_next = Concat <axis = 0> (u, v, r)
  }>
}"""
INPUTS = """g (float x0, float limit, float step) => (float last) <int64 n = {6}, bool go = {1}> {
  last = Loop (n, go, x0) <body = b (int64 i, bool c, float x) => (bool c2, float x_next) {
    x_next = Mul (x, step)
    [test] c2 = Less (x_next, limit)
  }>
}"""
CONSTANTS = """g (float[3] x) => (float[3] y)
<int64 n = {3}, bool go = {1}, float[3] k = {1, 2, 3}, float[3] k2 = {3, 2, 1}> {
  w = Add (x, k)
  s = Mul (w, k2)
  y = Loop (n, go, s) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
    c2 = Identity (c)
    h_next = Add (h, k)
  }>
}"""


def test_another_output_of_a_node() -> None:
    result = compare_models(PARTS, PARTS.replace("Tanh (s0)", "Tanh (s1)"), x=F32([0.5, -1]))
    assert static_differences(result) == [("operand", "t")] and blamed_cause(result) == "Tanh t"
    assert "it reads 's0' here, 's1' there" in report_text(result)


def test_outputs_that_changed_places() -> None:
    result = compare_models(GATES, GATES.replace("s0, s1, s2 =", "s1, s0, s2 ="), x=F32([0.5, -1, 2]))
    assert static_differences(result) == [("operand", "p"), ("operand", "q")]
    assert "s0 is output 0 of Split 'cut'" in report_text(result) and "s0 is output 1 of Split 'cut'" in report_text(
        result
    )
    assert blamed_cause(result) in ("Sigmoid p", "Sigmoid q")


def test_another_input_of_the_model_whatever_their_values_are() -> None:
    other = INPUTS.replace("Less (x_next, limit)", "Less (x_next, x0)")
    result = compare_models(INPUTS, other, x0=F32(2), limit=F32(40), step=F32(2))
    assert not result.same and static_differences(result) == [("operand", "c2")] and blamed_cause(result) == "Less c2"
    result = compare_models(INPUTS, other, x0=F32(2), limit=F32(2), step=F32(2))
    assert result.same and static_differences(result) == [("operand", "c2")]


def test_another_constant_is_no_changed_constant() -> None:
    result = compare_models(CONSTANTS, CONSTANTS.replace("Add (h, k)", "Add (h, k2)"), x=F32([0.5, -1, 2]))
    assert (
        static_differences(result) == [("operand", "h_next")]
        and "[1.0, 2.0, 3.0] (k)" in report_text(result)
        and "[3.0, 2.0, 1.0] (k2)" in report_text(result)
    )
    result = compare_models(CONSTANTS, CONSTANTS.replace("{1, 2, 3}", "{1, 2, 4}"), x=F32([0.5, -1, 2]))
    assert static_differences(result) == [("constant", "k")]
