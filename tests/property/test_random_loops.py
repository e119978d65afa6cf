"""Random loops: every way of running and ONNX Runtime agree.

The bodies use arithmetic whose result does not depend on how it is vectorised (no transcendental functions), so that
equal means equal to the bit.
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
from strategies.mixed import programs
from strategies.written import Program


@tried(100, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1 << 30))
def test_every_way_of_running_gives_the_same(program: Program, walk: int) -> None:
    source, inputs, draw = proto(program.text), program.inputs, FromSeed(walk)
    onnx.checker.check_model(source)
    other = {**inputs, "M": np.array(draw.integer(0, 8)), "w": -inputs["w"]}
    ended = runs(lambda: loaded(source), inputs, other, draw)
    ours, theirs = all_plain(ended[2]), in_onnxruntime.run(source, inputs, optimise=False)
    if inputs["M"] <= 0 or not inputs["cond"]:
        # Zero trips: the two agree on the shape of an empty scan wherever the element's dims are declared, as here.
        theirs = {name: value.reshape(ours[name].shape) for name, value in theirs.items()}
    assert all_plain(theirs) == ours
