"""Where the time goes: seconds of each instruction, and none where no one asks."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader
from loopdbg.runtime.model import Model
from text_models import model as text_model

TRIPS = 50

#: An inner loop of three iterations in one of thirty, and nodes around it; the values are too large for a program.
NESTED = """
n (float[64,64] x0) => (float[64,64] y) {
    thirty = Constant <value = int64 {30}> ()
    three = Constant <value = int64 {3}> ()
    x = Loop <body = outer (int64 i, bool c, float[64,64] a) => (bool keep, float[64,64] b) {
        keep = Identity (c)
        inside = Loop <body = inner (int64 j, bool d, float[64,64] e) => (bool go, float[64,64] f) {
            go = Identity (d)
            [inner_sin] f = Sin (e)
        }> (three, , a)
        [outer_cos] b = Cos (inside)
    }> (thirty, , x0)
    [after] y = Exp (x)
}"""


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


def starts(engine: Engine) -> dict[str, int]:
    """How often each node was run, by its name."""
    pairs = zip(engine.plan.code, engine.node_starts, strict=True)
    return {i.node.name: count for i, count in pairs if i.node is not None and i.op is not None}


def test_samples_represent_all_iterations(engine: Engine) -> None:
    run(engine)
    runs, every = 40, 5
    engine.time_nodes(True, every)
    for _ in range(runs):
        run(engine)
    sampled, spent = starts(engine), seconds(engine)
    assert set(sampled.values()) == {sampled["small"]}, "an iteration is timed as a whole"
    assert (sampled["small"] - runs) % every == 0, "the first iteration always is, and represents itself"
    assert sampled["small"] == pytest.approx(runs * TRIPS, rel=0.1)
    assert spent["large"] > spent["small"] > 0


def test_inner_loops_and_what_follows_them_are_sampled_by_themselves() -> None:
    engine = Engine(text_model(NESTED).plan)
    runs = 60
    for every in (1, 4):
        engine.time_nodes(True, every)
        for _ in range(runs):
            engine.start({slot: np.eye(64, dtype=np.float32) for _, slot in engine.plan.inputs})
            assert engine.resume() == ("end", -1)
        counts = starts(engine)
        assert counts["after"] == runs, "the main graph is timed as a whole"
        assert counts["outer_cos"] == pytest.approx(runs * 30, rel=0.15 if every > 1 else 0)
        assert counts["inner_sin"] == pytest.approx(runs * 30 * 3, rel=0.15 if every > 1 else 0)


def test_timing_disabled_by_default(engine: Engine) -> None:
    run(engine)
    assert sum(engine.node_seconds) == 0
    engine.time_nodes(True)
    engine.time_nodes(False)
    run(engine)
    assert sum(engine.node_seconds) == 0
