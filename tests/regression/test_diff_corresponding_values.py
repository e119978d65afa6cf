"""The search for what makes a difference compared values that do not correspond, stopped at the edge of a body, and
ended where the difference fell below the tolerance."""

from __future__ import annotations

import numpy as np

from diff_checks import blamed_cause, compare_models, report_text, static_differences

F32 = np.float32
PRODUCT = """g (float[3] x) => (float[3] y)
<int64 n = {3}, bool go = {1}, float two = {2}, float three = {3}, float[3,3] W = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
    c2 = Identity (c)
    hw = MatMul (h, W)
    h_next = Tanh (hw)
  }>
}"""
CAPTURED = """g (float[3] x, float[3] a) => (float[3] y) <int64 n = {3}, bool go = {1}> {
  g1 = Exp (a)
  g2 = Neg (g1)
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
    c2 = Identity (c)
    h_next = Mul (h, g2)
  }>
}"""
CANCEL = """g (float[3] x) => (float[3] y)
<int64 n = {3}, bool go = {1}, float k = {1.00001}, float k2 = {0.00001}> {
  y = Loop (n, go, x) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
    c2 = Identity (c)
    m = Mul (h, k)
    d = Sub (m, h)
    e = Div (d, k2)
    h_next = Tanh (e)
  }>
}"""


def test_it_ends_where_operators_do_not_correspond() -> None:
    other = PRODUCT.replace("hw = MatMul (h, W)", "hs = Mul (h, two)\nw2 = MatMul (hs, W)\nhw = Div (w2, three)")
    result = compare_models(PRODUCT, other, x=F32([0.05, -0.1, 0.2]))
    assert (
        static_differences(result) == [("node added", "hs"), ("node added", "hw")]
        and blamed_cause(result) == "Tanh h_next"
    )
    assert "it reads 'hw' here, 'hw' there, which Div 'Div_3' computes on that side alone" in report_text(result)


def test_an_operator_whose_result_a_body_captures() -> None:
    inputs = {"x": F32([0.5, -1, 2]), "a": F32([0.2, -0.3, 0.7])}
    result = compare_models(CAPTURED, CAPTURED.replace("Exp", "Softplus"), **inputs)
    assert static_differences(result) == [("operator", "g1")] and blamed_cause(result) == "Exp g1"
    result = compare_models(CAPTURED, CAPTURED.replace("(h, g2)", "(h, g1)"), **inputs)
    assert static_differences(result) == [("operand", "h_next")] and blamed_cause(result) == "Mul h_next"


def test_bits_are_followed_below_the_tolerance() -> None:
    result = compare_models(CANCEL, CANCEL.replace("{1.00001}", "{1.000015}"), x=F32([0.5, -1, 2]))
    assert not result.same and blamed_cause(result) == "constant k"
    other = CANCEL.replace("m = Mul (h, k)", "m = Sub (h, k3)").replace(
        "float k2 = {", "float k3 = {-0.00001}, float k2 = {"
    )
    result = compare_models(CANCEL, other, x=F32([0.5, -1, 2]))
    assert not result.same and "m" in blamed_cause(result).split()


def test_a_difference_is_followed_into_the_iterations_before() -> None:
    """It is made in iteration 0 alone, below the tolerance, and grows until it shows."""
    text = """g (float x, float s) => (float y)
    <int64 n = {30}, bool go = {1}, float two = {2}, float tiny = {0.0000004}> {
      y, t = Loop (n, go, x, s) <body = b (int64 i, bool c, float h, float k) => (bool c2, float h_next, float k_next) {
        c2 = Identity (c)
        part = Mul (k, tiny)
        sum = Add (h, part)
        h_next = Mul (sum, two)
        k_next = Sub (k, k)
      }>
    }"""
    result = compare_models(text, text.replace("0.0000004", "0.0000002"), x=F32(0.001), s=F32(1))
    first = result.first
    assert first is not None and first.first is not None and (first.first.iteration or 0) > 0
    assert first.cause is not None and first.cause.source is not None and first.cause.source.iteration == 0
    assert blamed_cause(result) == "constant tiny"


def test_last_values_of_other_results_are_listed() -> None:
    text = """g (float x) => (float y, float z) <int64 n = {3}, bool go = {1}> {
      y, z = Loop (n, go, x, x) <body = b (int64 i, bool c, float h, float k) => (bool c2, float a, float b) {
        c2 = Identity (c)
        a = Neg (h)
        b = Exp (k)
      }>
    }"""
    result = compare_models(
        text, text.replace("(bool c2, float a, float b)", "(bool c2, float b, float a)"), x=F32(0.5)
    )
    assert (
        not result.same
        and {kind for kind, _ in static_differences(result)} <= {"back edge", "output order"}
        and static_differences(result)
    )


def test_static_difference_is_reported_when_one_side_fails() -> None:
    text = """g (float[3] x) => (float[3] y) <int64 n = {3}, bool go = {1}, int64[1] at = {2}> {
      y = Loop (n, go, x) <body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] h_next) {
        c2 = Identity (c)
        p = Gather (h, at)
        h_next = Add (h, p)
      }>
    }"""
    for left, right in ((text, text.replace("at = {2}", "at = {7}")), (text.replace("at = {2}", "at = {7}"), text)):
        result = compare_models(left, right, x=F32([1, 2, 3]))
        assert result.error is not None and "index 7" in str(result.error)
        assert static_differences(result) == [("constant", "at")]


def test_loops_with_one_body_in_another_order() -> None:
    """A converter names loops after the outputs of the model, in another order: what they read tells which is which."""

    def loop(node: str, result: str, trips: str, initial: str) -> str:
        return f"""[{node}] {result} = Loop ({trips}, go, {initial}) <
          body = b (int64 i, bool c, float[3] h) => (bool c2, float[3] next) {{ c2 = Identity (c)\nnext = Neg (h) }}>
        """

    def models(*parts: str) -> str:
        text = (
            "g (float[3] speed, float[3] place, int64 short, int64 long) => (float[3] y, float[3] z) <bool go = {1}> "
        )
        return text + "{ " + "\n".join(parts) + " }"

    left = models(
        loop("loop1", "last1", "short", "speed"),
        loop("loop2", "last2", "long", "place"),
        "y = Abs (last1)\nz = Abs (last2)",
    )
    right = models(
        loop("out2", "r2", "long", "place"), loop("out1", "r1", "short", "speed"), "y = Abs (r1)\nz = Abs (r2)"
    )
    result = compare_models(
        left, right, speed=F32([1, 2, 3]), place=F32([4, 5, 6]), short=np.int64(2), long=np.int64(3)
    )
    assert result.same and not result.static_differences
