"""Random loops whose carried values change their shapes: every execution mode and ONNX Runtime agree.

All numbers are small integers, so that sums are the same in any order.
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
from strategies.text_program import TextProgram
from strategies.varying_lengths import programs
from text_models import load_proto, proto


@example_settings(100, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 1 << 30))
def test_loops_with_changing_shapes_agree(program: TextProgram, walk: int) -> None:
    source, inputs, draw = proto(program.text), program.inputs, SeededChoices(walk)
    onnx.checker.check_model(source)
    ended = check_all_modes(lambda: load_proto(source), inputs, {**inputs, "M": np.array(draw.integer(0, 25))}, draw)
    ours, theirs = canonical_values(ended[2]), onnxruntime_peer.run(source, inputs, optimise=False)
    if inputs["M"] == 0:
        theirs["s"] = theirs["s"].reshape(ours["s"].shape)
    assert canonical_values(theirs) == ours
