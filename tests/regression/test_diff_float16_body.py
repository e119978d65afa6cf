"""Of float32 against float16 only carried values were looked at: an infinity inside a body, one next to a mask, rounded
weights and values before a sliced input were not reported, or wrongly. Checked against NumPy's float16."""

from __future__ import annotations

import numpy as np

from diff_checks import blamed_cause, compare_models, report_text, static_differences
from loopdbg.debugger.compare.report.findings import Verdict

#: KIND is the type of all of it, CODE its number.
GROWING = """g (float[3] x) => (float[3] y) <int64 n = {24}, bool go = {1}> {
  x1 = Cast <to = CODE> (x)
  t32 = Constant <value = float[3] {1.5, 1.25, 1}> ()
  t = Cast <to = CODE> (t32)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[3] h) => (bool c2, KIND[3] h_next) {
    c2 = Identity (c)
    square = Mul (h, h)
    cube = Mul (square, h)
    bounded = Tanh (cube)
    step = Mul (h, t)
    h_next = Add (step, bounded)
  }>
  y = Cast <to = 1> (yh)
}"""
MASKED = """g (float[4] x) => (float[4] y) <int64 n = {12}, bool go = {1}> {
  x1 = Cast <to = CODE> (x)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[4] h) => (bool c2, KIND[4] h_next) {
    c2 = Identity (c)
    h_next = Add (h, h)
  }>
  y = Cast <to = 1> (yh)
}"""
WEIGHTED = """g (float[3] x) => (float[3] y) <int64 n = {3}, bool go = {1}> {
  x1 = Cast <to = CODE> (x)
  w32 = Constant <value = float[3] {WEIGHTS}> ()
  w = Cast <to = CODE> (w32)
  eps32 = Constant <value = float EPSILON> ()
  eps = Cast <to = CODE> (eps32)
  yh = Loop (n, go, x1) <body = b (int64 i, bool c, KIND[3] h) => (bool c2, KIND[3] h_next) {
    c2 = Identity (c)
    scaled = Mul (h, w)
    h_next = Add (scaled, eps)
  }>
  y = Cast <to = 1> (yh)
}"""
SLICED = """g (float[4,2] x) => (float[2] y) {
  x1 = Cast <to = CODE> (x)
  big = Mul (x1, x1)
  zero32 = Constant <value = float[2] {0, 0}> ()
  zero = Cast <to = CODE> (zero32)
  yh = Scan <num_scan_inputs = 1, body = b (KIND[2] s, KIND[2] part) => (KIND[2] s_next) {
    s_next = Max (s, part)
  }> (zero, big)
  y = Cast <to = 1> (yh)
}"""


def compare_narrow(text: str, code: int, **words: str) -> str:
    kind = {1: "float", 10: "float16"}[code]
    for word, meaning in {"CODE": str(code), "KIND": kind, **words}.items():
        text = text.replace(word, meaning)
    return text


def grown(kind: type) -> tuple[int | None, float, int]:
    """By NumPy: the iteration in which a cube is first infinite, the largest finite number there was, and when."""
    h, t = np.array([1, 2, 3], kind), np.array([1.5, 1.25, 1], kind)
    first, largest, index = None, 0.0, 0
    with np.errstate(over="ignore"):
        for k in range(24):
            square = h * h
            cube = square * h
            step = h * t
            bounded = np.tanh(cube)
            h = step + bounded
            for value in (square, cube, bounded, step, h):
                first = k if first is None and np.isinf(value).any() else first
                top = float(value[np.isfinite(value)].max(initial=0))
                largest, index = (top, k) if top > largest else (largest, index)
    return first, largest, index


def test_an_infinity_that_nothing_carries_is_named() -> None:
    result = compare_models(compare_narrow(GROWING, 1), compare_narrow(GROWING, 10), x=np.float32([1, 2, 3]))
    first, largest, index = grown(np.float16)
    assert first is not None and grown(np.float32)[0] is None
    reach = result.loops[0].body_headroom
    assert reach is not None and reach.first_nonfinite is not None
    assert (reach.first_nonfinite.op_type, reach.first_nonfinite.name, reach.first_nonfinite.iteration) == (
        "Mul",
        "cube",
        first,
    )
    assert (reach.largest, reach.iteration) == (largest, index)
    assert reach.headroom == 65504 / largest
    # What is carried holds: that cube is behind a Tanh.
    assert (
        result.loops[0].boundary_headrooms[0].first_nonfinite_iteration is None
        or result.loops[0].boundary_headrooms[0].first_nonfinite_iteration > first
    )
    assert f"first Inf or NaN in right alone: iteration {first}, Mul" in report_text(result)


def test_infinity_on_both_sides_is_accepted_another_is_not() -> None:
    x = np.float32([-np.inf, 40, 1, -np.inf])
    result = compare_models(compare_narrow(MASKED, 1), compare_narrow(MASKED, 10), x=x)
    h, first = x.astype(np.float16), None
    with np.errstate(over="ignore"):
        for k in range(12):
            h = h + h
            first = k if first is None and np.isinf(h[1:3]).any() else first
    assert first is not None
    (loop,) = result.loops
    assert loop.boundary_headrooms[0].first_nonfinite_iteration == first
    assert loop.body_headroom is not None and loop.body_headroom.first_nonfinite is not None
    assert (loop.body_headroom.first_nonfinite.iteration, loop.body_headroom.first_nonfinite.count) == (first, 1)


def test_no_infinity_reported_without_own_infinity() -> None:
    result = compare_models(
        compare_narrow(MASKED, 1), compare_narrow(MASKED, 10), x=np.float32([-np.inf, 1, 1, -np.inf])
    )
    (loop,) = result.loops
    assert result.verdict is Verdict.SAME
    assert (
        loop.boundary_headrooms[0].first_nonfinite_iteration is None
        and loop.body_headroom is not None
        and loop.body_headroom.first_nonfinite is None
    )
    assert loop.body_headroom.largest == 4096


def test_weights_that_were_rounded_are_the_same_and_one_that_got_lost_is_not() -> None:
    rounded = {"WEIGHTS": "0.1, 0.2, 0.3"}
    x = np.float32([1, 2, 3])
    result = compare_models(
        compare_narrow(WEIGHTED, 1, EPSILON="{0.001}", **rounded),
        compare_narrow(WEIGHTED, 10, EPSILON="{0.001}", **rounded),
        x=x,
    )
    assert result.same and not static_differences(result)
    result = compare_models(
        compare_narrow(WEIGHTED, 1, EPSILON="{1e-12}", **rounded),
        compare_narrow(WEIGHTED, 10, EPSILON="{1e-12}", **rounded),
        x=x,
    )
    assert static_differences(result) == [("constant", "eps32")]
    other = {"WEIGHTS": "0.1, 0.2, 0.31"}
    result = compare_models(
        compare_narrow(WEIGHTED, 1, EPSILON="{0.001}", **rounded),
        compare_narrow(WEIGHTED, 10, EPSILON="{0.001}", **other),
        x=x,
    )
    assert static_differences(result) == [("constant", "w32")]


def test_what_a_sliced_input_is_cut_from_is_followed() -> None:
    x = np.float32([[1, 2], [3, 4], [5, 300], [7, 8]])
    with np.errstate(over="ignore"):
        assert np.isinf(np.square(x.astype(np.float16))).tolist() == [[False, False]] * 2 + [
            [False, True],
            [False, False],
        ]
    result = compare_models(compare_narrow(SLICED, 1), compare_narrow(SLICED, 10), x=x)
    assert result.first is not None and result.first.first is not None and result.first.first.iteration == 2
    assert blamed_cause(result) == "Mul big"
    reach = result.loops[0].body_headroom
    assert reach is not None and reach.first_nonfinite is not None
    assert (reach.first_nonfinite.iteration, reach.first_nonfinite.name, reach.first_nonfinite.count) == (
        None,
        "big",
        1,
    )
    assert "first Inf or NaN in right alone: before the loop, Mul" in report_text(result)
