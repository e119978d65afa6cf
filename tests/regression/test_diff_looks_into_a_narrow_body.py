"""Of float32 against float16 only carried values were looked at: an infinity inside a body, one beside a mask, rounded
weights and what comes from before a sliced input were not told, or told wrong. Checked against NumPy's float16."""

from __future__ import annotations

import numpy as np

from differing import blamed, compared, entries, told
from loopdbg.debugger.diff.findings import Verdict

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


def of(text: str, code: int, **words: str) -> str:
    kind = {1: "float", 10: "float16"}[code]
    for word, meaning in {"CODE": str(code), "KIND": kind, **words}.items():
        text = text.replace(word, meaning)
    return text


def grown(kind: type) -> tuple[int | None, float, int]:
    """By NumPy: the iteration in which a cube is first infinite, the largest finite number there was, and when."""
    h, t = np.array([1, 2, 3], kind), np.array([1.5, 1.25, 1], kind)
    first, largest, at = None, 0.0, 0
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
                largest, at = (top, k) if top > largest else (largest, at)
    return first, largest, at


def test_an_infinity_that_nothing_carries_is_named() -> None:
    found = compared(of(GROWING, 1), of(GROWING, 10), x=np.float32([1, 2, 3]))
    first, largest, at = grown(np.float16)
    assert first is not None and grown(np.float32)[0] is None
    reach = found.loops[0].reach
    assert reach is not None and reach.infinite is not None
    assert (reach.infinite.op_type, reach.infinite.name, reach.infinite.iteration) == ("Mul", "cube", first)
    assert (reach.largest, reach.at) == (largest, at)
    assert reach.headroom == 65504 / largest
    # What is carried holds: that cube is behind a Tanh.
    assert found.loops[0].ranges[0].infinite is None or found.loops[0].ranges[0].infinite > first
    assert f"first Inf or NaN in right alone: iteration {first}, Mul" in told(found)


def test_an_infinity_on_both_sides_is_meant_and_one_beside_it_is_not() -> None:
    x = np.float32([-np.inf, 40, 1, -np.inf])
    found = compared(of(MASKED, 1), of(MASKED, 10), x=x)
    h, first = x.astype(np.float16), None
    with np.errstate(over="ignore"):
        for k in range(12):
            h = h + h
            first = k if first is None and np.isinf(h[1:3]).any() else first
    assert first is not None
    (loop,) = found.loops
    assert loop.ranges[0].infinite == first
    assert loop.reach is not None and loop.reach.infinite is not None
    assert (loop.reach.infinite.iteration, loop.reach.infinite.count) == (first, 1)


def test_without_an_infinity_of_its_own_none_is_told() -> None:
    found = compared(of(MASKED, 1), of(MASKED, 10), x=np.float32([-np.inf, 1, 1, -np.inf]))
    (loop,) = found.loops
    assert found.verdict is Verdict.SAME
    assert loop.ranges[0].infinite is None and loop.reach is not None and loop.reach.infinite is None
    assert loop.reach.largest == 4096


def test_weights_that_were_rounded_are_the_same_and_one_that_got_lost_is_not() -> None:
    rounded = {"WEIGHTS": "0.1, 0.2, 0.3"}
    x = np.float32([1, 2, 3])
    found = compared(of(WEIGHTED, 1, EPSILON="{0.001}", **rounded), of(WEIGHTED, 10, EPSILON="{0.001}", **rounded), x=x)
    assert found.same and not entries(found)
    found = compared(of(WEIGHTED, 1, EPSILON="{1e-12}", **rounded), of(WEIGHTED, 10, EPSILON="{1e-12}", **rounded), x=x)
    assert entries(found) == [("constant", "eps")]
    other = {"WEIGHTS": "0.1, 0.2, 0.31"}
    found = compared(of(WEIGHTED, 1, EPSILON="{0.001}", **rounded), of(WEIGHTED, 10, EPSILON="{0.001}", **other), x=x)
    assert entries(found) == [("constant", "w")]


def test_what_a_sliced_input_is_cut_from_is_followed() -> None:
    x = np.float32([[1, 2], [3, 4], [5, 300], [7, 8]])
    with np.errstate(over="ignore"):
        assert np.isinf(np.square(x.astype(np.float16))).tolist() == [[False, False]] * 2 + [
            [False, True],
            [False, False],
        ]
    found = compared(of(SLICED, 1), of(SLICED, 10), x=x)
    assert found.first is not None and found.first.first is not None and found.first.first.iteration == 2
    assert blamed(found) == "Mul big"
    reach = found.loops[0].reach
    assert reach is not None and reach.infinite is not None
    assert (reach.infinite.iteration, reach.infinite.name, reach.infinite.count) == (None, "big", 1)
    assert "first Inf or NaN in right alone: before the loop, Mul" in told(found)
