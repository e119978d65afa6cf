"""Random loops: every execution mode and ONNX Runtime agree.

The bodies use arithmetic whose result does not depend on vectorisation (no transcendental functions), so that results
are compared bit for bit.
"""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import onnxruntime_peer
from comparable_values import canonical_values
from differential_testing import check_all_modes
from hypothesis_settings import example_settings
from strategies.draws import SeededChoices
from strategies.small_tensors import programs
from strategies.text_program import TextProgram
from text_models import load_proto, proto


@example_settings(100, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1 << 30))
def test_random_loops_agree_in_all_modes(program: TextProgram, walk: int) -> None:
    source, inputs, draw = proto(program.text), program.inputs, SeededChoices(walk)
    onnx.checker.check_model(source)
    other = {**inputs, "M": np.array(draw.integer(0, 8)), "w": -inputs["w"]}
    ended = check_all_modes(lambda: load_proto(source), inputs, other, draw)
    ours, theirs = canonical_values(ended[2]), onnxruntime_peer.run(source, inputs, optimise=False)
    if inputs["M"] <= 0 or not inputs["cond"]:
        # Zero trips: the two agree on the shape of an empty scan wherever the element's dims are declared, as here.
        theirs = {name: value.reshape(ours[name].shape) for name, value in theirs.items()}
    assert canonical_values(theirs) == ours
