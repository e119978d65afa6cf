"""A character RNN as TensorRT networks have it, two layers of LSTM by recurrences: equal to NumPy, and to the same
network as an ONNX Loop in ONNX Runtime, iteration by iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onnxruntime_peer
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.frontends.tensorrt.enums import ActivationType, MatrixOperation
from loopdbg.runtime.frontends.tensorrt.layer import ITensor
from tensorrt_networks import NetworkBuilder, Op, output_of
from text_models import proto

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
    cells, signal = "", "row"
    for k in range(LAYERS):
        cells += f"""
            xw{k} = MatMul({signal}, W{k})
            hr{k} = MatMul(h{k}_in, R{k})
            sum{k} = Add(xw{k}, hr{k})
            gates{k} = Add(sum{k}, B{k})
            i{k}_raw, c{k}_raw, f{k}_raw, o{k}_raw = Split <axis = 0, num_outputs = 4> (gates{k})
            i{k}_gate = Sigmoid(i{k}_raw)
            c{k}_gate = Tanh(c{k}_raw)
            f{k}_gate = Sigmoid(f{k}_raw)
            o{k}_gate = Sigmoid(o{k}_raw)
            kept{k} = Mul(f{k}_gate, c{k}_in)
            new{k} = Mul(i{k}_gate, c{k}_gate)
            c{k}_out = Add(kept{k}, new{k})
            t{k} = Tanh(c{k}_out)
            h{k}_out = Mul(o{k}_gate, t{k})
            h{k}_seen = Identity(h{k}_out)
            c{k}_seen = Identity(c{k}_out)"""
        signal = f"h{k}_out"

    def each(form: str) -> str:
        """One item for each state."""
        return ", ".join(form.format(f"{word}{k}") for k in range(LAYERS) for word in "hc")

    vector = f"float[{HIDDEN}]"
    logits = f"float[{CHARACTERS}] logits_out"
    source = proto(
        f"""char_rnn (float[steps, {EMBEDDED}] x, int32 count, {each(vector + " {}")})
            => ({each("float[] {}_last")}, float[] logits, {each("float[] {}_all")}) {{
        m = Cast <to = 7> (count)
        {each("{}_last")}, logits, {each("{}_all")} = Loop <body = body
            (int64 it, bool keep_in, {each(vector + " {}_in")})
            => (bool keep_out, {each(vector + " {}_out")}, {logits}, {each(vector + " {}_seen")}) {{
            row = Gather <axis = 0> (x, it){cells}
            product = MatMul({signal}, W)
            logits_out = Add(product, b)
            keep_out = Identity(keep_in)
        }}> (m, , {each("{}")})
    }}""",
        18,
    )
    source.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights().items())
    return source


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
