"""Random loops whose carried values change their shapes: every way of running and ONNX Runtime give the same.

All numbers are small whole ones, so that sums are the same in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import loopdbg
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader as frontend
from models import proto
from strategies.lengths import programs
from strategies.written import Program


def equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    for name, value in a.items():
        assert value.dtype == b[name].dtype
        assert value.shape == b[name].shape
        np.testing.assert_array_equal(value, b[name])


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_loops_whose_shapes_change(program: Program, data: st.DataObject) -> None:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    source = proto(program.text)
    onnx.checker.check_model(source)
    model = loopdbg.Model(frontend.from_proto(source, "random"))
    given_ = {name: value.copy() for name, value in program.inputs.items()}
    native = model.run(program.inputs)
    engine = Engine(model.plan)
    engine.binder.native = False
    engine.start(model.check(program.inputs))
    engine.resume()
    equal(native, model.results(engine))
    fewer = program.inputs | {"M": np.array(data.draw(st.integers(0, 25)))}
    model.run(fewer)  # other lengths in between
    equal(native, model.run(program.inputs))
    session = loopdbg.debug(model, program.inputs)
    moves = (session.step, session.next_node, session.into, session.finish)
    while not session.done:
        moves[data.draw(st.integers(0, 3))]()
    assert session.outputs is not None
    equal(native, session.outputs)
    equal(given_, program.inputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = onnxruntime.InferenceSession(source.SerializeToString(), options)
    results = dict(zip((o.name for o in peer.get_outputs()), peer.run(None, program.inputs), strict=True))
    if program.inputs["M"] == 0:
        results["s"] = results["s"].reshape(native["s"].shape)
    equal(native, results)
