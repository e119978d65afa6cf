"""Where the time goes: seconds of each instruction, and none where no one asks."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader
from loopdbg.runtime.model import Model

TRIPS = 50


def model() -> Model:
    body = helper.make_graph(
        [
            helper.make_node("Sin", ["x"], ["sine"], name="small"),
            helper.make_node("MatMul", ["y", "y"], ["product"], name="large"),
            helper.make_node("Tanh", ["product"], ["bounded"], name="tanh"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [96, 96]),
        ],
        [
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sine", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("bounded", TensorProto.FLOAT, [96, 96]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["trips", "", "x0", "y0"], ["x1", "y1"], body=body, name="loop")],
        "graph",
        [
            helper.make_tensor_value_info("x0", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("y0", TensorProto.FLOAT, [96, 96]),
        ],
        [helper.make_tensor_value_info("y1", TensorProto.FLOAT, [96, 96])],
        [onnx.numpy_helper.from_array(np.array(TRIPS), "trips")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    return Model(reader.from_proto(proto, "timed"))


@pytest.fixture
def engine() -> Engine:
    return Engine(model().plan)


def run(engine: Engine) -> np.ndarray:
    inputs = {"x0": np.ones(2, np.float32), "y0": np.eye(96, dtype=np.float32)}
    engine.start({slot: inputs[value.name] for value, slot in engine.plan.inputs})
    assert engine.resume() == ("end", -1)
    return engine.results()["y1"]


def seconds(engine: Engine) -> dict[str, float]:
    """Of each node, by its name."""
    pairs = zip(engine.plan.code, engine.node_seconds, strict=True)
    return {i.node.name: spent for i, spent in pairs if i.node is not None and i.op is not None}


def test_the_large_product_takes_longer_than_two_sines(engine: Engine) -> None:
    plain = run(engine)
    engine.time_nodes(True)
    assert (run(engine) == plain).all()
    spent = seconds(engine)
    assert spent["large"] > spent["small"] > 0
    assert sum(engine.node_seconds) < 5


def test_seconds_accumulate_and_reset(engine: Engine) -> None:
    engine.time_nodes(True)
    run(engine)
    once = seconds(engine)["large"]
    run(engine)
    assert seconds(engine)["large"] > once
    engine.time_nodes(True)
    assert sum(engine.node_seconds) == 0


def test_timing_disabled_by_default(engine: Engine) -> None:
    run(engine)
    assert sum(engine.node_seconds) == 0
    engine.time_nodes(True)
    engine.time_nodes(False)
    run(engine)
    assert sum(engine.node_seconds) == 0
