"""A character RNN as TensorRT networks have it, two layers of LSTM by recurrences: equal to NumPy, and to the same
network as an ONNX Loop in ONNX Runtime, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxruntime_peer
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.frontends.tensorrt.enums import ActivationType, MatrixOperation
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from tensorrt_networks import NetworkBuilder, Op, output_of

STEPS, EMBEDDED, HIDDEN, LAYERS, CHARACTERS = 6, 5, 8, 2, 11
GATES = ("i", "c", "f", "o")
State = dict[str, Any]


def weights() -> dict[str, Any]:
    """Small and seeded."""
    random = np.random.default_rng(7)

    def draw(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.4).astype(np.float32)

    results = {"W": draw(HIDDEN, CHARACTERS), "b": draw(CHARACTERS)}
    for layer in range(LAYERS):
        width = EMBEDDED if layer == 0 else HIDDEN
        results |= {f"W{layer}": draw(width, 4 * HIDDEN), f"R{layer}": draw(HIDDEN, 4 * HIDDEN)}
        results |= {f"B{layer}": draw(4 * HIDDEN)}
    return results


def feeds(count: int) -> dict[str, Any]:
    random = np.random.default_rng(8)
    x = random.standard_normal((STEPS, EMBEDDED)).astype(np.float32)
    states = {f"{word}{k}": random.standard_normal(HIDDEN).astype(np.float32) for k in range(LAYERS) for word in "hc"}
    return {"x": x, "count": np.array(count, np.int32), **states}


def network() -> NetworkBuilder:
    """Products of vectors and matrices, four slices a cell, padding up to the longest sequence."""
    net = NetworkBuilder()
    known = weights()
    x, count = net.input_tensor("x", shape=(-1, EMBEDDED)), net.input_tensor("count", "int32")
    loop = net.counted_loop(count)
    loop.name = "time"
    signal = output_of(loop.add_iterator(x))
    carried = []
    for k in range(LAYERS):
        h = loop.add_recurrence(net.input_tensor(f"h{k}", shape=(HIDDEN,)))
        c = loop.add_recurrence(net.input_tensor(f"c{k}", shape=(HIDDEN,)))
        output_of(h).name, output_of(c).name = f"hidden{k}", f"cell{k}"
        h_new, c_new = cell(net, signal, output_of(h), output_of(c), [net.const(known[f"{word}{k}"]) for word in "WRB"])
        h.set_input(1, h_new)
        c.set_input(1, c_new)
        carried += [h, c]
        signal = h_new
    product = net.add_matrix_multiply(signal, MatrixOperation.VECTOR, net.const(known["W"]), MatrixOperation.NONE)
    net.stack(loop, net.elementwise(output_of(product), net.const(known["b"])), "logits", STEPS + 2)
    for k, recurrence in enumerate(carried):
        net.last(loop, output_of(recurrence), f"last{k}")
    return net


def cell(net: NetworkBuilder, x: ITensor, h: ITensor, c: ITensor, inputs: list[ITensor]) -> tuple[ITensor, ITensor]:
    none, vector = MatrixOperation.NONE, MatrixOperation.VECTOR
    w, r, b = inputs
    products = [output_of(net.add_matrix_multiply(a, vector, m, none)) for a, m in ((x, w), (h, r))]
    gates = net.elementwise(net.elementwise(*products), b)
    parts = [output_of(net.add_slice(gates, (k * HIDDEN,), (HIDDEN,), (1,))) for k in range(4)]
    kinds = [ActivationType.TANH if gate == "c" else ActivationType.SIGMOID for gate in GATES]
    i, g, f, o = (output_of(net.add_activation(part, kind)) for part, kind in zip(parts, kinds, strict=True))
    c_new = net.elementwise(net.elementwise(f, c, Op.PROD), net.elementwise(i, g, Op.PROD))
    return net.elementwise(o, output_of(net.add_activation(c_new, ActivationType.TANH)), Op.PROD), c_new


def in_numpy(inputs: Mapping[str, Any], count: int) -> tuple[list[State], list[Any]]:
    """The states before each iteration and after the last one, and what each gives."""
    known = weights()
    state = {f"{word}{k}": inputs[f"{word}{k}"] for k in range(LAYERS) for word in "hc"}
    states, logits = [dict(state)], []
    for row in inputs["x"][:count]:
        signal = row
        for k in range(LAYERS):
            gates = signal @ known[f"W{k}"] + state[f"h{k}"] @ known[f"R{k}"] + known[f"B{k}"]
            i, g, f, o = np.split(gates, 4)
            i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
            state[f"c{k}"] = f * state[f"c{k}"] + i * np.tanh(g)
            signal = state[f"h{k}"] = o * np.tanh(state[f"c{k}"])
        states.append(dict(state))
        logits.append(signal @ known["W"] + known["b"])
    return states, logits


def in_onnx() -> onnx.ModelProto:
    """The same as a Loop whose scan outputs show all states."""
    names = [f"{word}{k}" for k in range(LAYERS) for word in "hc"]
    nodes = [helper.make_node("Gather", ["x", "it"], ["row"], axis=0)]
    signal = "row"
    for k in range(LAYERS):
        nodes += [
            helper.make_node("MatMul", [signal, f"W{k}"], [f"xw{k}"]),
            helper.make_node("MatMul", [f"h{k}_in", f"R{k}"], [f"hr{k}"]),
            helper.make_node("Add", [f"xw{k}", f"hr{k}"], [f"sum{k}"]),
            helper.make_node("Add", [f"sum{k}", f"B{k}"], [f"gates{k}"]),
            helper.make_node("Split", [f"gates{k}"], [f"{gate}{k}_raw" for gate in GATES], axis=0, num_outputs=4),
        ]
        for gate in GATES:
            nodes.append(
                helper.make_node("Tanh" if gate == "c" else "Sigmoid", [f"{gate}{k}_raw"], [f"{gate}{k}_gate"])
            )
        nodes += [
            helper.make_node("Mul", [f"f{k}_gate", f"c{k}_in"], [f"kept{k}"]),
            helper.make_node("Mul", [f"i{k}_gate", f"c{k}_gate"], [f"new{k}"]),
            helper.make_node("Add", [f"kept{k}", f"new{k}"], [f"c{k}_out"]),
            helper.make_node("Tanh", [f"c{k}_out"], [f"t{k}"]),
            helper.make_node("Mul", [f"o{k}_gate", f"t{k}"], [f"h{k}_out"]),
        ]
        signal = f"h{k}_out"
    nodes += [
        helper.make_node("MatMul", [signal, "W"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["logits_out"]),
        helper.make_node("Identity", ["keep_in"], ["keep_out"]),
    ]
    for name in names:
        nodes.append(helper.make_node("Identity", [f"{name}_out"], [f"{name}_seen"]))
    vector = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, [size])  # noqa: E731
    body = helper.make_graph(
        nodes,
        "body",
        [
            helper.make_tensor_value_info("it", TensorProto.INT64, []),
            helper.make_tensor_value_info("keep_in", TensorProto.BOOL, []),
            *(vector(f"{name}_in", HIDDEN) for name in names),
        ],
        [
            helper.make_tensor_value_info("keep_out", TensorProto.BOOL, []),
            *(vector(f"{name}_out", HIDDEN) for name in names),
            vector("logits_out", CHARACTERS),
            *(vector(f"{name}_seen", HIDDEN) for name in names),
        ],
    )
    outputs = [*(f"{name}_last" for name in names), "logits", *(f"{name}_all" for name in names)]
    loop = helper.make_node("Loop", ["m", "", *names], outputs, body=body)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["count"], ["m"], to=TensorProto.INT64), loop],
        "char_rnn",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["steps", EMBEDDED]),
            helper.make_tensor_value_info("count", TensorProto.INT32, []),
            *(vector(name, HIDDEN) for name in names),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights().items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.mark.parametrize("count", [0, 1, 4, STEPS])
def test_a_char_rnn(count: int) -> None:
    inputs = feeds(count)
    boundaries: list[State] = []

    def keep(frame: Frame) -> None:
        boundaries.append(dict(frame.carried))

    outputs = network().model().run(inputs, on_iteration=keep)
    states, logits = in_numpy(inputs, count)
    assert len(boundaries) == len(states) == count + 1
    for here, state in zip(boundaries, states, strict=True):
        for k in range(LAYERS):
            np.testing.assert_allclose(here[f"hidden{k}"], state[f"h{k}"], rtol=2e-6, atol=1e-6)
            np.testing.assert_allclose(here[f"cell{k}"], state[f"c{k}"], rtol=2e-6, atol=1e-6)
    assert outputs["logits"].shape == (STEPS + 2, CHARACTERS)
    assert not outputs["logits"][count:].any()
    if count:
        np.testing.assert_allclose(outputs["logits"][:count], np.stack(logits), rtol=2e-5, atol=2e-6)
    peer = onnxruntime_peer.run(in_onnx(), inputs)
    for i, here in enumerate(boundaries[1:]):
        for k in range(LAYERS):
            np.testing.assert_allclose(here[f"hidden{k}"], peer[f"h{k}_all"][i], rtol=2e-5, atol=2e-6)
            np.testing.assert_allclose(here[f"cell{k}"], peer[f"c{k}_all"][i], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(outputs["logits"][:count], peer["logits"].reshape(-1, CHARACTERS), rtol=2e-5, atol=2e-6)


def test_last_values_are_the_states_after_the_last_iteration() -> None:
    inputs = feeds(3)
    outputs = network().model().run(inputs)
    after = in_numpy(inputs, 3)[0][-1]
    for k, name in enumerate(("h0", "c0", "h1", "c1")):
        np.testing.assert_allclose(outputs[f"last{k}"], after[name], rtol=2e-6, atol=1e-6)
