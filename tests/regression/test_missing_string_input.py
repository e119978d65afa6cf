"""An input of strings was not missed, once a run on the same model had it."""

from __future__ import annotations

import numpy as np

import loopdbg
from error_fields import raises_error
from text_models import model


def test_missing_string_input_is_reported_after_earlier_run() -> None:
    m = model("g (string[1] s, float x) => (string[1] t, float y) { t = Identity (s) y = Neg (x) }")
    x = np.array(2, np.float32)
    assert m.run({"s": np.array(["a"], object), "x": x})["t"] == ["a"]
    with raises_error(loopdbg.InputError, name="s", expected="string[1]"):
        m.run({"x": x})
