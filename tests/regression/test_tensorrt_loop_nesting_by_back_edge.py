"""A loop that reads the loop around it in a back edge alone is inside of that in TensorRT, too.

Its last value was taken for one from outside, and a recurrence of the outer loop began with it, which TensorRT refuses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensorrt_round_trip import convert_and_reload
from text_models import model

TEXT = """m (float[2] x, float[2] y) => (float[2] last, float[N, 2] each) {
    three = Constant <value_int = 3> ()
    last, each = Loop <body = outer (int64 i, bool c, float[2] a) => (bool go, float[2] next, float[2] inner) {
        go = Identity(c)
        last_inner = Loop <body = inner (int64 j, bool d, float[2] b) => (bool again, float[2] following) {
            again = Identity(d)
            following = Identity(a)
        }> (three, , y)
        inner = Neg(last_inner)
        next = Add(a, last_inner)
    }> (three, , x)
}"""


def test_it_converts(tmp_path: Path) -> None:
    original = model(TEXT)
    inputs = {"x": np.array([1, 2], np.float32), "y": np.array([5, 7], np.float32)}
    wanted = original.run(inputs)
    np.testing.assert_array_equal(wanted["each"], [[-1, -2], [-2, -4], [-4, -8]])
    result = convert_and_reload(original, inputs, tmp_path).run(inputs)
    for name, value in wanted.items():
        np.testing.assert_array_equal(result[name], value)
