"""Complete debugging sessions in the console, from the question to the answer."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopdbg
from console_recorder import ConsoleRecorder
from text_models import NESTED, model

#: Subtracts a little more from the denominator each time; in iteration 137 it is zero.
WRONG = """
wrong (int64 M, float[4] h0) => (float[4] h, float[N] trace) {
  h, trace = Loop <body = body (int64 i, bool c, float[4] h_in) => (bool c, float[4] h_out, float size) {
    bad = Constant <value = int64 {137}> ()
    left = Sub (bad, i)
    s = Cast <to = 1> (left)
    nothing = Sub (s, s)
    q = Div (nothing, s)
    grown = Add (h_in, q)
    half = Constant <value = float {0.5}> ()
    small = Mul (grown, half)
    one = Constant <value = float {1}> ()
    h_out = Add (small, one)
    size = ReduceSum <keepdims = 0> (h_out)
  }> (M, , h0)
}
"""


def test_origin_of_the_first_nan() -> None:
    session = loopdbg.debug(model(WRONG), {"M": 1000, "h0": np.ones(4, np.float32)})
    output = ConsoleRecorder(session)(
        "continue", "print any(isnan(h))", "break nan", "reverse-continue", "print s", "print h_in"
    )
    assert output[0] == "the model ran to its end"
    assert output[1] == "true"
    assert "Div" in output[3] and "gave NaN or Inf in iteration 137" in output[3]
    assert session.frame.iteration == 137
    assert output[4].startswith("▶") and output[4].endswith("grown = h_in + q")
    assert output[5] == "0.0"
    assert output[6:] == ["float32 [4]", "[2. 2. 2. 2.]"]
    # Nothing was wrong before.
    assert "no breakpoint would have stopped before" in ConsoleRecorder(session)("reverse-continue")[0]


ENDLESS = """
endless (float x0, float target) => (float x) {
  go = Constant <value = bool {1}> ()
  x = Loop <body = body (int64 i, bool c, float x_in) => (bool more, float x_out) {
    half = Constant <value = float {0.5}> ()
    sum = Add (x_in, target)
    x_out = Mul (sum, half)
    gap = Sub (target, x_out)
    distance = Abs (gap)
    limit = Constant <value = float {-1}> ()
    more = Greater (distance, limit)
  }> (, go, x0)
}
"""


def test_endless_loop_is_explained() -> None:
    session = loopdbg.debug(model(ENDLESS), {"x0": 0.0, "target": 8.0}, max_iterations=500)
    output = ConsoleRecorder(session)("continue", "why")
    assert "reached the limit of 500 iterations" in output[0]
    text = "\n".join(output[1:])
    assert "never ends" in text and "distance > -1" in text
    assert "x_in = 8" in text


#: Newton's iteration for a root of x^2 + step: too large a step makes it diverge.
DIVERGES = """
diverges (int64 M, float x0, float rate0) => (float x, float last_rate) {
  x, last_rate = Loop <body = body (int64 i, bool c, float x_in, float rate) => (bool c, float x_out, float rate_out) {
    two = Constant <value = float {2}> ()
    slope = Mul (x_in, two)
    move = Mul (slope, rate)
    x_out = Sub (x_in, move)
    rate_out = Identity (rate)
  }> (M, , x0, rate0)
}
"""


def test_diverging_iteration_is_repaired_on_a_branch() -> None:
    session = loopdbg.debug(model(DIVERGES), {"M": 60, "x0": 1.0, "rate0": 1.5})
    output = ConsoleRecorder(session)(
        "break if abs(x_in) > 100", "continue", "delete", "back 3", "set rate = 0.25", "continue"
    )
    assert "breakpoint 1 (if abs(x_in) > 100)" in output[1]
    assert "branch 2: rate = 0.25" in output
    mended = session.outputs
    assert mended is not None and abs(mended["x"]) < 1e-6 and mended["last_rate"] == np.float32(0.25)
    output = ConsoleRecorder(session)("branch", "compare 1", "branch 1", "continue", "print x_in")
    assert any("rate = 0.25" in line for line in output)
    assert any("branches 1 and 2 first differ" in line for line in output)
    assert session.branch.number == 1
    assert session.outputs is not None and abs(session.outputs["x"]) > 1e15


def test_nested_loop_is_stopped_at_3_7() -> None:
    session = loopdbg.debug(model(NESTED), {"M": 9, "K": 9})
    output = ConsoleRecorder(session)(
        "break iter 3,7", "continue", "backtrace", "print i", "print iter", "up", "print iter"
    )
    assert "before iteration 7" in output[1]
    assert output[2:5] == ["▸ #0 Loop 'Loop_1', iteration 7", "  #1 Loop 'Loop_1', iteration 3", "  #2 main"]
    assert output[5:7] == ["3", "7"]
    assert output[-1] == "3"


def outputs(session: loopdbg.Session) -> dict[str, Any]:
    assert session.outputs is not None
    return session.outputs


def test_final_values_equal_those_of_a_run() -> None:
    loaded = loopdbg.load("sample_models/newton_sqrt.onnx")
    inputs = {"a": 2.0, "tol": 1e-6}
    session = loopdbg.debug(loaded, inputs)
    ConsoleRecorder(session)(
        "step 3", "back", "break x_new", "continue", "goto 2", "delete", "next 3", "finish", "continue"
    )
    for name, value in loaded.run(inputs).items():
        np.testing.assert_array_equal(outputs(session)[name], value)
