"""Of a trip count of -1, given when the model runs, why and frame stated that it is 0."""

from __future__ import annotations

import numpy as np

import loopdbg
from loopdbg.debugger.frontends.console.text_output import frame_lines
from loopdbg.debugger.termination.explanation import explain_termination
from text_models import SUM, model


def test_given_trip_count_is_shown() -> None:
    session = loopdbg.debug(model(SUM), {"M": np.int64(-1), "v0": np.float32(1)})
    assert "the trip count is -1, and a negative one runs nothing" in explain_termination(session).headline
    assert "(trip count -1)" in frame_lines(session.controller.frame)[0]
    session = loopdbg.debug(model(SUM), {"M": np.int64(0), "v0": np.float32(1)})
    assert (
        "the trip count is 0" in explain_termination(session).headline
        and "negative" not in explain_termination(session).headline
    )
