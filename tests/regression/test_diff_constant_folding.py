"""What follows from constants alone was reported as a changed constant, or not at all, whatever changed there; and two
values of one name were reported as the same."""

from __future__ import annotations

import numpy as np

from diff_checks import blamed_cause, compare_models, report_text, static_differences

F32 = np.float32
FOLDED = """g (float[2] x, int64 n) => (float[2] y) <float[2] w = {1, -2}, float[2] k = {3, 5}> {
  t = Sub (w, k)
  u = Neg (t)
  y = Loop (n, , x) <body = b (int64 i, bool c, float[2] h) => (bool c2, float[2] h_next) {
    c2 = Identity (c)
    h_next = Add (h, u)
  }>
}"""
BY_CHANCE = """g (float x, int64 n) => (float y) <float k = {-1}, float zero = {0}> {
  t = Sub (k, zero)
  s = Div (t, k)
  u = Mul (t, s)
  y = Loop (n, , x) <body = b (int64 i, bool c, float h) => (bool c2, float h_next) {
    c2 = Identity (c)
    h_next = Add (h, u)
  }>
}"""
TWICE = """g (int64 n, float x) => (float y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, float h) => (bool c2, float h_next) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    h_next = Mul (h, f)
  }>
}"""
CHANGED_PLACES = """g (int64 n, float x, float z) => (float y0, float y1) {
  a, b = Loop (n, , x, z) <body = b (int64 i, bool c, float p, float q) => (bool c2, float p2, float q2) {
    c2 = Identity (c)
    p2 = Neg (p)
    q2 = Abs (q)
  }>
  y0 = Identity (a)
  y1 = Identity (b)
}"""
IGNORED = """g (int64 n, int64 top, bool x) => (bool y) {
  y = Loop (n, , x) <body = b (int64 i, bool c, bool h) => (bool c2, bool h_next) {
    less = Less (i, top)
    c2 = Identity (less)
    h_next = Identity (c)
  }>
}"""
EQUAL = """g (int64 n, float x) => (float y, float z) {
  y, z = Loop (n, , x, x) <body = b (int64 i, bool c, float h, float k) => (bool c2, float h_next, float k_next) {
    c2 = Identity (c)
    one = Max (h, h)
    two = Max (h, h)
    h_next = Neg (one)
    k_next = Add (two, k)
  }>
}"""


def test_an_operator_that_only_constants_feed() -> None:
    result = compare_models(FOLDED, FOLDED.replace("Sub", "Add"), x=F32([0, 1]), n=3)
    assert static_differences(result) == [("operator", "t")] and blamed_cause(result) == "Sub t"
    result = compare_models(FOLDED, FOLDED.replace("{3, 5}", "{3, 4}"), x=F32([0, 1]), n=3)
    assert static_differences(result) == [("constant", "k")] and blamed_cause(result) == "constant k"


def test_numbers_that_are_equal_by_chance_are_no_pair() -> None:
    """What 's' gives on the left 't' gives on the right, and both are factors."""
    other = BY_CHANCE.replace("{-1}", "{1}").replace("k", "n1").replace(" t =", " n2 =").replace("(t,", "(n2,")
    result = compare_models(BY_CHANCE, other, x=F32(0), n=3)
    assert static_differences(result) == [("constant", "k")] and blamed_cause(result) == "constant k"


def test_a_reader_of_what_constants_give() -> None:
    result = compare_models(FOLDED, FOLDED.replace("(h, u)", "(h, t)"), x=F32([0, 1]), n=3)
    assert static_differences(result) == [("operand", "h_next")]


def test_one_input_of_two_that_are_the_same() -> None:
    result = compare_models(TWICE, TWICE.replace("(h, f)", "(h, h)"), n=3, x=F32(2))
    assert static_differences(result) == [("operand", "h_next")] and blamed_cause(result) == "Mul h_next"


def test_outputs_of_a_loop_that_changed_places() -> None:
    result = compare_models(CHANGED_PLACES, CHANGED_PLACES.replace("a, b =", "b, a ="), n=3, x=F32(2), z=F32(-3))
    assert {name for _, name in static_differences(result)} == {"y0", "y1"}
    text = report_text(result)
    assert "y0 is a (a is output 0 of Loop" in text and "y0 is a (a is output 1 of Loop" in text


def test_a_condition_that_ends_nothing() -> None:
    other = IGNORED.replace("Identity (less)", "Identity (c)")
    result = compare_models(IGNORED, other, n=3, top=1, x=False)
    assert not result.same and [kind for kind, _ in static_differences(result)] == ["condition"]
    assert blamed_cause(result) == "condition c"


def test_one_of_two_equal_nodes() -> None:
    result = compare_models(EQUAL, EQUAL.replace("one = Max (h, h)", "one = Max (h, k)"), n=3, x=F32(2))
    assert static_differences(result) == [("operand", "one")]
