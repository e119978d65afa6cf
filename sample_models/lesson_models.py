"""The models of the lessons: ONNX in its readable text format, one IR, and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import lesson_modes
import lesson_slices_and_branches
import onnx_models
from ir_writer import IrGraphWriter, PortMapInput, PortMapOutput, PortMapSlice
from lesson_text import text_sample
from sample import SampleModel

LESSONS = Path(__file__).resolve().parent / "lessons"


def add3() -> SampleModel:
    """A body that runs several times."""
    text = """
        main (int64 n, int64 x0) => (int64 x_last) {
          [add3] x_last = Loop <body = add3 (int64 i, bool c, int64 x) => (bool go, int64 x_next)
              <bool go = {1}, int64 three = {3}> {
            x_next = Add (x, three)
          }> (n, , x0)
        }
    """
    return text_sample(text, {"n": 5, "x0": 0})


def twice() -> SampleModel:
    """The value that an iteration receives and the one that it yields, each as a scan output."""
    text = """
        main (int64 n, int64 x0) => (int64 x_last, int64[k] got, int64[k] gave) {
          [twice] x_last, got, gave = Loop <body = twice (int64 i, bool c, int64 x)
              => (bool go, int64 x_next, int64 got_x, int64 gave_x) <bool go = {1}> {
            x_next = Add (x, x)
            got_x = Identity (x)
            gave_x = Identity (x_next)
          }> (n, , x0)
        }
    """
    return text_sample(text, {"n": 4, "x0": 1})


def halve() -> SampleModel:
    """The initial condition, which decides on iteration 0, is an input."""
    text = """
        main (bool first, int64 x0) => (int64 x_last, int64[k] rows) {
          [halve] x_last, rows = Loop <body = halve (int64 i, bool c, int64 x)
              => (bool more, int64 x_next, int64 row) <int64 two = {2}, int64 zero = {0}> {
            x_next = Div (x, two)
            more = Greater (x_next, zero)
            row = Identity (x_next)
          }> (, first, x0)
        }
    """
    return text_sample(text, {"first": True, "x0": 5})


def _climb_sample(count: str, condition: str, extra_inputs: str, inputs: Mapping[str, object]) -> SampleModel:
    text = f"""
        main ({extra_inputs}int64 x0) => (int64 x_last, int64[k] rows)
        <bool yes = {{1}}> {{
          [climb] x_last, rows = Loop <body = climb (int64 i, bool c, int64 x)
              => (bool more, int64 x_next, int64 row) <int64 one = {{1}}, int64 three = {{3}}> {{
            x_next = Add (x, one)
            more = Less (x_next, three)
            row = Identity (x_next)
          }}> ({count}, {condition}, x0)
        }}
    """
    if not condition:
        text = text.replace("\n        <bool yes = {1}>", "")
    return text_sample(text, inputs)


def climb() -> SampleModel:
    """A condition input that is true."""
    return _climb_sample("n", "yes", "int64 n, ", {"n": 6, "x0": 0})


def climb_absent() -> SampleModel:
    """No condition input: the body's condition is ignored."""
    return _climb_sample("n", "", "int64 n, ", {"n": 6, "x0": 0})


def climb_endless() -> SampleModel:
    """Neither a condition input nor a trip count: an infinite loop."""
    return _climb_sample("", "", "", {"x0": 0})


def swap() -> SampleModel:
    """Two carried values that are swapped."""
    text = """
        main (int64 n, int64 a0, int64 b0) => (int64 a_last, int64 b_last) {
          [swap] a_last, b_last = Loop <body = swap (int64 i, bool c, int64 a, int64 b)
              => (bool go, int64 b, int64 a) <bool go = {1}> {
          }> (n, , a0, b0)
        }
    """
    return text_sample(text, {"n": 3, "a0": 1, "b0": 2})


def rotate() -> SampleModel:
    """Three carried values that are rotated."""
    text = """
        main (int64 n, int64 a0, int64 b0, int64 c0) => (int64 a_last, int64 b_last, int64 c_last) {
          [rotate] a_last, b_last, c_last = Loop <body = rotate (int64 i, bool go_in, int64 a, int64 b, int64 c)
              => (bool go, int64 b, int64 c, int64 a) <bool go = {1}> {
          }> (n, , a0, b0, c0)
        }
    """
    return text_sample(text, {"n": 2, "a0": 1, "b0": 2, "c0": 3})


def grow() -> SampleModel:
    """One value both as the initial value of a carried value and as a capture."""
    text = """
        main (int64 n, int64 start) => (int64 x_last, int64[k] rows) {
          [grow] x_last, rows = Loop <body = grow (int64 i, bool c, int64 x)
              => (bool go, int64 x_next, int64 row) <bool go = {1}> {
            x_next = Add (x, start)
            row = Identity (x_next)
          }> (n, , start)
        }
    """
    return text_sample(text, {"n": 3, "start": 1})


def append() -> SampleModel:
    """A carried value that each iteration extends by a copy."""
    text = """
        main (int64 n) => (int64[k] rows_last)
        <int64[0] empty = {}> {
          [append] rows_last = Loop <body = append (int64 i, bool c, int64[r] rows)
              => (bool go, int64[s] rows_next) <bool go = {1}, int64[1] one = {1}> {
            row = Reshape (i, one)
            rows_next = Concat <axis = 0> (rows, row)
          }> (n, , empty)
        }
    """
    return text_sample(text, {"n": 5})


def tally() -> SampleModel:
    """A sum in float16, which stops where 1 is half of the distance to the next number."""
    text = """
        main (int64 n, int64 x0) => (int64 x_last) {
          start = Cast <to = 10> (x0)
          [tally] total = Loop <body = tally (int64 i, bool c, float16 x)
              => (bool go, float16 x_next) <bool go = {1}, float16 one = {1}> {
            x_next = Add (x, one)
          }> (n, , start)
          x_last = Cast <to = 7> (total)
        }
    """
    return text_sample(text, {"n": 4, "x0": 2046})


def drift() -> SampleModel:
    """Two nodes of the body compute the same in every iteration."""
    text = """
        main (int64 n, int64 x0, int64 a) => (int64 x_last) {
          [drift] x_last = Loop <body = drift (int64 i, bool c, int64 x)
              => (bool go, int64 x_next) <bool go = {1}> {
            square = Mul (a, a)
            rate = Add (square, a)
            moved = Add (x, rate)
            x_next = Sub (moved, i)
          }> (n, , x0)
        }
    """
    return text_sample(text, {"n": 3, "x0": 10, "a": 2})


def digits() -> SampleModel:
    """Two Scans over one input, from the front and from the back."""
    body = """(int64 number, int64 digit)
              => (int64 number_next) <int64 ten = {10}> {
            shifted = Mul (number, ten)
            number_next = Add (shifted, digit)
          }"""
    text = f"""
        main (int64[k] x) => (int64 there, int64 back)
        <int64 zero = {{0}}> {{
          [forwards] there = Scan <num_scan_inputs = 1, body = forwards {body}> (zero, x)
          [backwards] back = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = backwards {body}> (zero, x)
        }}
    """
    return text_sample(text, {"x": [1, 2, 3, 4]})


def stairs() -> SampleModel:
    """A nested loop with a different trip count in each entry."""
    text = """
        main (int64 n) => (int64 total_last, int64[k] rows)
        <int64 nothing = {0}> {
          [stairs] total_last, rows = Loop <body = stairs (int64 i, bool c, int64 total)
              => (bool go, int64 total_next, int64 row) <bool go = {1}, int64 one = {1}, int64 zero = {0}> {
            steps = Add (i, one)
            [stair] height = Loop <body = stair (int64 j, bool d, int64 h)
                => (bool on, int64 h_next) <bool on = {1}, int64 unit = {1}> {
              h_next = Add (h, unit)
            }> (steps, , zero)
            total_next = Add (total, height)
            row = Identity (height)
          }> (n, , nothing)
        }
    """
    return text_sample(text, {"n": 3})


def counter_trt() -> SampleModel:
    """``counter`` as a script for TensorRT's network API, without a carried condition; the script is the model
    itself."""
    inputs = {name: np.array(value, np.int32) for name, value in (("start", 0), ("step", 3), ("limit", 20))}
    return SampleModel({".py": (LESSONS / "counter_trt.py").read_bytes()}, inputs)


def ahead() -> SampleModel:
    """The equivalent ONNX model, whose condition is tested one iteration earlier."""
    text = """
        main (int64 start, int64 step, int64 limit) => (int64 last, int64[k] got, int64[k] gave) {
          first = Add (start, step)
          below0 = Less (first, limit)
          [ahead] last, got, gave = Loop <body = ahead (int64 i, bool c, int64 count)
              => (bool below, int64 count_next, int64 got_count, int64 gave_count) {
            count_next = Add (count, step)
            following = Add (count_next, step)
            below = Less (following, limit)
            got_count = Identity (count)
            gave_count = Identity (count_next)
          }> (, below0, start)
        }
    """
    return text_sample(text, {"start": 0, "step": 3, "limit": 20})


def pairs() -> SampleModel:
    """A TensorIterator whose iterations yield two numbers: as rows, joined, and joined backwards."""
    count = 3
    net = IrGraphWriter()
    x = net.parameter("x", "i64", (count,))
    body = net.body()
    v = body.parameter("v", "i64", (1,))
    tenfold = body.binary("Multiply", "tenfold", v, body.constant("ten", np.array([10], np.int64)))
    pair = body.op("Concat", "pair", v, tenfold, shape=(2,), axis="0")
    row = body.op("Unsqueeze", "row", pair, body.constant("front", np.array([0], np.int64)), shape=(1, 2))
    row_result = body.result(row, "row_out")
    pair_result = body.result(pair, "pair_out")
    as_rows, joined, backwards = net.tensor_iterator(
        "pairs",
        body,
        [PortMapInput(x, v, PortMapSlice(axis=0))],
        [
            PortMapOutput(row_result, PortMapSlice(axis=0), count),
            PortMapOutput(pair_result, PortMapSlice(axis=0, stride=2, part_size=2), count),
            PortMapOutput(pair_result, PortMapSlice(axis=0, start=-1, end=0, stride=-2, part_size=2), count),
        ],
        [],
    )
    net.result(as_rows, "as_rows")
    net.result(joined, "joined")
    net.result(backwards, "backwards")
    return SampleModel(net.files("pairs", 11), {"x": np.array([1, 2, 3], np.int64)})


_OWN_SAMPLES: dict[str, Callable[[], SampleModel]] = {
    function.__name__: function
    for function in (
        # Samples that lessons use, as the package does not contain the other samples.
        onnx_models.counter,
        onnx_models.spec_ab,
        onnx_models.newton_sqrt,
        onnx_models.vanishing_scale,
        add3,
        twice,
        halve,
        climb,
        climb_absent,
        climb_endless,
        swap,
        rotate,
        grow,
        append,
        tally,
        drift,
        digits,
        pairs,
        stairs,
        counter_trt,
        ahead,
    )
}
SAMPLES: dict[str, Callable[[], SampleModel]] = _OWN_SAMPLES | lesson_modes.SAMPLES | lesson_slices_and_branches.SAMPLES
