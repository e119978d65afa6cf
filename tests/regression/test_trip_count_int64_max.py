"""A loop whose trip count is 2**63 - 1 was stated to have none."""

from __future__ import annotations

import numpy as np

import loopdbg
from error_fields import raises_error
from loopdbg.debugger.frontends.console.text_output import frame_lines
from text_models import model

TEXT = """g (int64 n, float x0) => (float y) {
  y = Loop (n, , x0) <body = b (int64 i, bool c, float a) => (bool c2, float z) { c2 = Identity (c) z = Neg (a) }>
}"""
MODEL_INPUTS = {"n": np.int64(2**63 - 1), "x0": np.float32(1)}


def test_a_run_says_so() -> None:
    with raises_error(loopdbg.LimitError, loop="Loop_0", iteration=None):
        model(TEXT).run(MODEL_INPUTS)


def test_a_frame_says_so() -> None:
    session = loopdbg.debug(model(TEXT), MODEL_INPUTS)
    assert "(its trip count is no limit)" in frame_lines(session.controller.frame)[0]
    with raises_error(loopdbg.LimitError, loop="Loop_0", iteration=None):
        model(TEXT.replace("(n, , x0)", "(, , x0)")).run(MODEL_INPUTS)
