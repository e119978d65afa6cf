"""Random loops: native instructions, Python instructions, the optimised plan, stepping and ONNX Runtime agree.

The bodies use arithmetic whose result does not depend on how it is vectorised (no transcendental functions), so that
equal means equal to the bit.
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
from strategies.mixed import programs
from strategies.written import Program


def equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert list(a) == list(b)
    for name, value in a.items():
        assert value.dtype == b[name].dtype
        assert value.shape == b[name].shape
        np.testing.assert_array_equal(value, b[name])


def stepped(model: loopdbg.Model, inputs: dict[str, Any], draw: Any) -> dict[str, Any]:
    session = loopdbg.debug(model, inputs)
    moves = (session.step, session.next_node, session.into, session.finish)
    while not session.done:
        moves[draw.draw(st.integers(0, 3))]()
    assert session.outputs is not None
    return session.outputs


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_every_way_of_running_gives_the_same(program: Program, data: st.DataObject) -> None:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    source = proto(program.text)
    onnx.checker.check_model(source)
    model = loopdbg.Model(frontend.from_proto(source, "random"))
    native = model.run(program.inputs)
    equal(native, model.run(program.inputs))
    engine = Engine(model.plan)
    engine.binder.native = False
    engine.start(model.check(program.inputs))
    engine.resume()
    equal(native, model.results(engine))
    equal(native, model.run(program.inputs))  # a second time, on instructions that are bound already
    equal(native, stepped(model, program.inputs, data))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = onnxruntime.InferenceSession(source.SerializeToString(), options)
    results = dict(zip((o.name for o in peer.get_outputs()), peer.run(None, program.inputs), strict=True))
    if program.inputs["M"] <= 0 or not program.inputs["cond"]:
        # Zero trips: the two agree on the shape of an empty scan wherever the element's dims are declared, as here.
        results = {name: value.reshape(native[name].shape) for name, value in results.items()}
    equal(native, results)
