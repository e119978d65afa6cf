"""Recurrent operators read as loops: random attributes against onnxruntime and openvino, gates against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import loopdbg
import onnxruntime_peer
import openvino_peer
from cli_runner import run_python_code
from console_recorder import ConsoleRecorder
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.frontends.onnx.proto_decoding import _attribute_types as kinds
from loopdbg.runtime.frontends.onnx.reader import from_proto
from loopdbg.runtime.graph import Loop, System, loops
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from recordings import record_run

from .single_node import Array, assert_close, onnx_node, openvino_node
from .test_ops_recurrent import GATES, outputs_of, parameters

F32 = np.float32
FUNCTIONS = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}
ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "LeakyRelu", "Elu", "Softsign", "Softplus", "ScaledTanh")


def close_enough(ours: Any, theirs: Any) -> None:
    assert_close(ours, theirs, rtol=2e-4, atol=2e-5)


# --- Next to the runtimes.


DIRECTIONS = ("forward", "reverse", "bidirectional")


def random_sizes(rng: np.random.Generator) -> tuple[int, ...]:
    """Steps, batch, size and hidden size."""
    steps, batch, size, hidden = (int(n) for n in rng.integers(1, (9, 4, 7, 8)))
    if rng.random() < 0.3:
        steps, size, hidden = 70, 70, 36  # blocks of iterations, and weights in panels
    return steps, batch, size, hidden


@pytest.mark.parametrize("seed", range(60))
def test_random_attributes_match_onnxruntime(seed: int) -> None:
    rng = np.random.default_rng(seed)
    op, direction = ("LSTM", "GRU", "RNN")[seed % 3], str(rng.choice(DIRECTIONS))
    d, gates = 1 + (direction == "bidirectional"), GATES[op]
    steps, batch, size, hidden = random_sizes(rng)
    scale = 0.5 if hidden < 36 else 0.1  # so that what is rounded otherwise stays small in many steps
    maybe = lambda x: x if rng.random() < 0.5 else None  # noqa: E731
    numbers = lambda *shape: (rng.normal(size=shape) * scale).astype(F32)  # noqa: E731
    inputs: list[Any] = [
        numbers(steps, batch, size),
        numbers(d, gates * hidden, size),
        numbers(d, gates * hidden, hidden),
        maybe(numbers(d, 2 * gates * hidden)),
        maybe(rng.integers(1, steps + 1, batch).astype(np.int32)),
        maybe(numbers(d, batch, hidden)),
    ]
    if op == "LSTM":
        inputs += [maybe(numbers(d, batch, hidden)), maybe(numbers(d, 3 * hidden))]
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": hidden}
    if hidden < 36 and rng.random() < 0.4:
        names = [str(name) for name in rng.choice(ACTIVATIONS, len(FUNCTIONS[op]) * d)]
        attributes |= {"activations": names, **parameters(names)}
    if rng.random() < 0.3:
        attributes["clip"] = 0.4
    if op == "LSTM" and rng.random() < 0.3:
        attributes["input_forget"] = 1
    if op == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    opset = int(rng.choice([7, 14, 21, 22]))
    ours, theirs = onnx_node(op, inputs, outputs_of(op), opset=opset, **attributes)
    close_enough(ours, theirs)


@pytest.mark.parametrize(("op", "after"), [("LSTM", False), ("GRU", False), ("GRU", True), ("RNN", False)])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("all_steps", [True, False])
def test_random_sizes_match_openvino(op: str, after: bool, direction: str, all_steps: bool) -> None:
    d, gates = 1 + (direction == "bidirectional"), GATES[op]
    rng = np.random.default_rng([gates, after, DIRECTIONS.index(direction), all_steps])
    steps, batch, size, hidden = random_sizes(rng)
    scale = 0.5 if hidden < 36 else 0.1  # so that what is rounded otherwise stays small in many steps
    numbers = lambda *shape: (rng.normal(size=shape) * scale).astype(F32)  # noqa: E731
    lengths = np.full(batch, steps) if all_steps else rng.integers(1, steps + 1, batch)
    states = [numbers(batch, d, hidden) for _ in range(outputs_of(op) - 1)]
    inputs = [
        numbers(batch, steps, size),
        *states,
        lengths.astype(np.int64),
        numbers(d, gates * hidden, size),
        numbers(d, gates * hidden, hidden),
        numbers(d, (4 if after else gates) * hidden),
    ]
    names = ",".join(name.lower() for name in FUNCTIONS[op])
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": hidden, "activations": names}
    if op == "GRU":
        attributes["linear_before_reset"] = after
    constant = range(len(states) + 2, len(inputs))
    ours, theirs = openvino_node(f"{op}Sequence", inputs, outputs_of(op), opset=5, constant=constant, **attributes)
    close_enough(ours, theirs)


def test_what_a_layer_is_made_of_contradicts_no_declaration(tmp_path: Path) -> None:
    import openvino
    from openvino import opset13 as ops

    x = ops.parameter([1, 3, 4], F32, name="x")
    numbers = np.random.default_rng(0).normal
    states = [np.zeros((1, 1, 5), F32)] * 2
    weights = [numbers(size=shape).astype(F32) for shape in ((1, 20, 4), (1, 20, 5), (1, 20))]
    node = ops.lstm_sequence(x, *states, np.array([3], np.int32), *weights, 5, "forward")
    openvino.save_model(openvino.Model([node.output(0)], [x]), tmp_path / "lstm.xml", compress_to_fp16=False)
    ran = loopdbg.load(tmp_path / "lstm.xml").execute({"x": numbers(size=(1, 3, 4)).astype(F32)})
    assert ran.loops and not [note for loop in ran.loops for note in loop.notes if "declared" in note]


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_dynamic_quantize_lstm(direction: str) -> None:
    rng = np.random.default_rng(0)
    steps, batch, size, hidden, d = 7, 2, 9, 6, 1 + (direction == "bidirectional")
    whole = lambda *shape: rng.integers(-127, 128, shape).astype(np.int8)  # noqa: E731
    scale, zero = np.full(d, 0.004, F32), np.zeros(d, np.int8)
    inputs = [
        rng.normal(size=(steps, batch, size)).astype(F32),
        whole(d, size, 4 * hidden),
        whole(d, hidden, 4 * hidden),
        rng.normal(size=(d, 8 * hidden)).astype(F32),
        None,
        None,
        None,
        None,
        scale,
        zero,
        scale,
        zero,
    ]
    model = one_node("DynamicQuantizeLSTM", inputs, 3, "com.microsoft", hidden_size=hidden, direction=direction)
    feeds = {"X": inputs[0]}
    # On one thread: more would quantize parts of a batch.
    theirs = onnxruntime_peer.run(model, feeds, threads=1)
    close_enough(list(loaded(model).run(feeds).values()), list(theirs.values()))


# --- Looking inside.


def one_node(op: str, inputs: list[Any], outputs: int, domain: str = "", **attributes: Any) -> onnx.ModelProto:
    """A model of one operator, 'rnn', of which everything but X is constant."""
    names = ["X", *("" if x is None else f"in{k}" for k, x in enumerate(inputs) if k)]
    results = ["Y", "Y_h", "Y_c"][:outputs]
    graph = helper.make_graph(
        [helper.make_node(op, names, results, "rnn", domain=domain, **attributes)],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, inputs[0].shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [numpy_helper.from_array(x, name) for x, name in zip(inputs, names, strict=True) if name not in ("", "X")],
    )
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def loaded(model: onnx.ModelProto) -> loopdbg.Model:
    return loopdbg.Model(from_proto(model, "test"))


STEPS, BATCH, SIZE, HIDDEN = 6, 2, 5, 4


def layer(op: str, directions: int = 1, **attributes: Any) -> tuple[onnx.ModelProto, list[Array]]:
    rng = np.random.default_rng(7)
    gates = GATES[op]
    shapes = ((STEPS, BATCH, SIZE), *((directions, gates * HIDDEN, n) for n in (SIZE, HIDDEN)))
    inputs = [rng.normal(size=shape).astype(F32) for shape in (*shapes, (directions, 2 * gates * HIDDEN))]
    return one_node(op, inputs, outputs_of(op), hidden_size=HIDDEN, **attributes), inputs


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm_reference(x: Array, w: Array, r: Array, b: Array) -> list[dict[str, Array]]:
    """Every step's gates and states."""
    h = c = np.zeros((BATCH, HIDDEN))
    results = []
    for row in x:
        i, o, f, g = np.split(row @ w[0].T + h @ r[0].T + b[0, : 4 * HIDDEN] + b[0, 4 * HIDDEN :], 4, axis=1)
        step = {"h": h, "c": c, "i": sigmoid(i), "o": sigmoid(o), "f": sigmoid(f), "c_gate": np.tanh(g)}
        c = step["f"] * c + step["i"] * step["c_gate"]
        h = step["o"] * np.tanh(c)
        results.append({**step, "c_next": c, "h_next": h})
    return results


def gru_reference(x: Array, w: Array, r: Array, b: Array, after: bool) -> list[dict[str, Array]]:
    h = np.zeros((BATCH, HIDDEN))
    (wz, wr, wh), (rz, rr, rh) = np.split(w[0], 3), np.split(r[0], 3)
    bz, br, bh, cz, cr, ch = np.split(b[0], 6)
    results = []
    for row in x:
        z, reset = sigmoid(row @ wz.T + h @ rz.T + bz + cz), sigmoid(row @ wr.T + h @ rr.T + br + cr)
        inner = reset * (h @ rh.T + ch) if after else (reset * h) @ rh.T + ch
        step = {"h": h, "z": z, "r": reset, "h_gate": np.tanh(row @ wh.T + inner + bh)}
        h = (1 - z) * step["h_gate"] + z * h
        results.append({**step, "h_next": h})
    return results


@pytest.mark.parametrize(("op", "after"), [("LSTM", False), ("GRU", False), ("GRU", True)])
def test_each_gate_by_name(op: str, after: bool, tmp_path: Path) -> None:
    """Stepping forward and back in time, and in a recording."""
    proto, inputs = layer(op, **({"linear_before_reset": int(after)} if op == "GRU" else {}))
    expected = lstm_reference(*inputs) if op == "LSTM" else gru_reference(*inputs, after)
    model, feeds = loaded(proto), {"X": inputs[0]}
    session = loopdbg.debug(model, feeds)
    for k in (*range(1, STEPS), 2, 4, 1):  # what iteration k - 1 left
        session.goto(k)
        values = session.frame.values
        assert session.frame.iteration == k
        for name, right in expected[k - 1].items():
            if name in ("h", "c"):  # these are of iteration k already
                right = expected[k][name]
            np.testing.assert_allclose(values[name], right, rtol=1e-4, atol=1e-5, err_msg=f"{name}, iteration {k}")
    trace, boundaries, run = record_run(tmp_path / "run.loopdb", model, feeds)
    assert [boundary.iteration for boundary in boundaries] == list(range(STEPS + 1))
    for k in range(STEPS):
        np.testing.assert_allclose(boundaries[k].carried["h"], expected[k]["h"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run.outputs["Y"][:, 0], [step["h_next"] for step in expected], rtol=1e-4, atol=1e-5)
    assert [loop.op_type for loop in trace.loops] == [op]


def test_every_way_of_running_gives_the_same_bits() -> None:
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=s).astype(F32) for s in ((70, 2, 40), (2, 160, 40), (2, 160, 40), (2, 320))]
    model = loaded(one_node("LSTM", inputs, 3, hidden_size=40, direction="bidirectional"))
    feeds = {"X": inputs[0]}
    right = model.run(feeds)
    hooked = model.run(feeds, on_iteration=lambda frame: None)
    session = loopdbg.debug(model, feeds)
    session.step(69)
    session.goto(3)
    while session.outputs is None:
        session.continue_()
    plain = loopdbg.Model(model.graph)
    plain.run(feeds)
    assert plain._engine is not None
    plain._engine.binder.native_enabled = False
    for other in (hooked, session.outputs, plain.run(feeds)):
        for name, value in right.items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_breakpoints_and_changes_by_hand() -> None:
    proto, inputs = layer("LSTM")
    expected = lstm_reference(*inputs)
    session = loopdbg.debug(loaded(proto), {"X": inputs[0]})
    least = [float(step["o"].min()) for step in expected]
    first, second = sorted(least)[:2]
    ConsoleRecorder(session)(f"break if min(o) < {(first + second) / 2}", "continue")
    assert session.frame.iteration == 1 + int(np.argmin(least))
    session.goto(2)
    session.set("c", np.zeros((BATCH, HIDDEN), F32))
    session.step()
    values = session.frame.values
    np.testing.assert_allclose(values["c_next"], values["i"] * values["c_gate"], rtol=1e-6)


# --- what is reported about them.


def test_two_directions_are_two_loops() -> None:
    proto, _ = layer("LSTM", 2, direction="bidirectional")
    graph = loaded(proto).graph
    results = list(loops(graph))
    assert [loop.name for loop in results] == ["rnn/forward", "rnn/reverse"]
    assert [loop.derived_from for loop in results] == [
        f"LSTM 'rnn' (ONNX LSTM-14), {way}" for way in ("forward", "reverse")
    ]
    assert [[edge.param.name for edge in loop.back_edges] for loop in results] == [["h", "c"]] * 2
    assert {node.op_type for node in graph.expanded_from.values()} == {"LSTM"}
    again = [node for node in graph_from_json(graph_to_json(graph)).nodes if isinstance(node, Loop)]
    assert [loop.derived_from for loop in again] == [loop.derived_from for loop in results]


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("peer", ["onnxruntime", "openvino"])
def test_a_peer_runs_its_steps(op: str, peer: str, tmp_path: Path) -> None:
    proto, inputs = layer(op, 2, direction="bidirectional")
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    with Peer(peer) as runtime:
        result = compare_with_peer(loopdbg.load(path), {"X": inputs[0]}, runtime, ComparisonOptions())
    lockstep, free = result.comparisons
    assert result.same
    assert [loop.iterations for loop in lockstep.loops] == [STEPS, STEPS]
    assert free.compared_outputs == outputs_of(op) and not free.notes


def test_a_step_inside_another_loop() -> None:
    """What exporters write where a cell runs once an iteration."""
    rng = np.random.default_rng(2)
    w, r, b = (
        rng.normal(size=s).astype(F32) for s in ((1, 4 * HIDDEN, SIZE), (1, 4 * HIDDEN, HIDDEN), (1, 8 * HIDDEN))
    )
    state = f"float[1,{BATCH},{HIDDEN}]"
    text = f"""
        <ir_version: 10, opset_import: ["" : 21]>
        g (float[{STEPS},{BATCH},{SIZE}] X, {state} h0, {state} c0) => ({state} h, {state} c)
        <int64 M = {{{STEPS}}}, int64[1] zero = {{0}}> {{
          h, c = Loop (M, , h0, c0) <body = step (int64 i, bool more, {state} u, {state} v)
              => (bool go, {state} u_next, {state} v_next) {{
            go = Identity (more)
            part = Gather <axis = 0> (X, i)
            x = Unsqueeze (part, zero)
            y, u_next, v_next = LSTM <hidden_size = {HIDDEN}> (x, W, R, B, , u, v)
          }}>
        }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(a, n) for a, n in ((w, "W"), (r, "R"), (b, "B")))
    x, start = rng.normal(size=(STEPS, BATCH, SIZE)).astype(F32), np.zeros((1, BATCH, HIDDEN), F32)
    run = loaded(model).execute({"X": x, "h0": start, "c0": start})
    last = lstm_reference(x, w, r, b)[-1]
    np.testing.assert_allclose(run.outputs["h"][0], last["h_next"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(run.outputs["c"][0], last["c_next"], rtol=1e-4, atol=1e-5)
    assert [(loop.iterations, loop.entries) for loop in run.loops] == [(STEPS, 1), (STEPS, STEPS)]


def test_weights_that_are_computed_or_given() -> None:
    """Computed from constants they are constants; given they are taken apart when the model runs."""
    proto, inputs = layer("GRU", linear_before_reset=1)
    right = loaded(proto).run({"X": inputs[0]})
    for initializer in proto.graph.initializer:
        proto.graph.input.append(helper.make_tensor_value_info(initializer.name, TensorProto.FLOAT, initializer.dims))
    values = {init.name: numpy_helper.to_array(init) for init in proto.graph.initializer}
    del proto.graph.initializer[:]
    feeds = loaded(proto)
    assert [node.op_type for node in feeds.graph.nodes][:2] == ["InitialStates", "Weights"]
    assert_close(list(feeds.run({"X": inputs[0], **values}).values()), list(right.values()))
    assert feeds.graph.system is System.ONNX


@pytest.mark.parametrize("opset", [7, 11, 17])
@pytest.mark.parametrize("after", [0, 1])
def test_gates_of_a_size_that_the_run_alone_knows(after: int, opset: int) -> None:
    """The parts of a GRU's product are reported apart without it, and by nodes that say how."""
    proto, inputs = layer("GRU", linear_before_reset=after)
    right = loaded(proto).run({"X": inputs[0]})
    proto.opset_import[0].version = opset
    del proto.graph.node[0].attribute[:]
    proto.graph.node[0].attribute.append(helper.make_attribute("linear_before_reset", after))
    values = {init.name: numpy_helper.to_array(init) for init in proto.graph.initializer}
    del proto.graph.initializer[:]
    for name in values:
        proto.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None, None]))
    proto.graph.input[-1].type.tensor_type.shape.dim.pop()
    open_size = loaded(proto)
    assert_close(list(open_size.run({"X": inputs[0], **values}).values()), list(right.values()))
    [loop] = [node for node in open_size.graph.nodes if isinstance(node, Loop)]
    readers = [node.op_type for node in loop.body.nodes if any(x and x.name == "x_gates" for x in node.inputs)]
    assert readers == ["Split", "Split"]


def test_no_step_at_all() -> None:
    proto, inputs = layer("LSTM")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "T"
    outputs = loaded(proto).run({"X": inputs[0][:0]})
    assert [value.shape for value in outputs.values()] == [(0, 1, BATCH, HIDDEN), *[(1, BATCH, HIDDEN)] * 2]
    assert not outputs["Y_h"].any()


def test_lengths_that_say_nothing(tmp_path: Path) -> None:
    """As OpenVINO's converter writes them: the number of steps for every sequence, out of the shape of X."""
    import openvino
    from openvino import opset5

    rng = np.random.default_rng(4)
    number = lambda *shape: opset5.constant(rng.normal(size=shape).astype(F32))  # noqa: E731
    x = opset5.parameter([BATCH, STEPS, SIZE], F32, "X")
    axis = opset5.constant(np.array(0))
    steps = opset5.gather(opset5.shape_of(x), opset5.constant(np.array([1])), axis)
    lengths = opset5.broadcast(steps, opset5.constant(np.array([BATCH])))
    weights = [number(1, 3 * HIDDEN, n) for n in (SIZE, HIDDEN)]
    start, bias = number(BATCH, 1, HIDDEN), number(1, 3 * HIDDEN)
    node = opset5.gru_sequence(x, start, lengths, *weights, bias, HIDDEN, "reverse")
    written = openvino.Model([opset5.result(output) for output in node.outputs()], [x], "m")
    openvino.save_model(written, tmp_path / "gru.xml", compress_to_fp16=False)
    model = loopdbg.load(tmp_path / "gru.xml")
    [loop] = loops(model.graph)
    assert [sliced.inner.name for sliced in loop.sliced_inputs] == ["x"]
    inputs = rng.normal(size=(BATCH, STEPS, SIZE)).astype(F32)
    close_enough(list(model.run({model.inputs[0].name: inputs}).values()), openvino_peer.run(written, [inputs]))


def test_weights_of_half_the_size_are_converted_once() -> None:
    """float16 weights are packed as float32 when the loop is bound."""
    proto, inputs = layer("LSTM")
    for initializer in proto.graph.initializer:
        narrow = numpy_helper.to_array(initializer).astype(np.float16)
        initializer.CopyFrom(numpy_helper.from_array(narrow, initializer.name))
    for port in (*proto.graph.input, *proto.graph.output):
        port.type.tensor_type.elem_type = TensorProto.FLOAT16
    outputs = loaded(proto).run({"X": inputs[0].astype(np.float16)})
    expected = lstm_reference(*inputs)
    np.testing.assert_allclose(outputs["Y"][:, 0], [step["h_next"] for step in expected], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_reading_one_needs_neither_schemas_nor_other_operators(op: str, tmp_path: Path) -> None:
    """Both take longer to import than a small model to run."""
    proto, _ = layer(op)
    onnx.save(proto, tmp_path / "m.onnx")
    code = (
        "import sys, loopdbg\n"
        "loopdbg.load(sys.argv[1])\n"
        "print([name for name in ('onnx', 'loopdbg.runtime.ops.convolution') if name in sys.modules])\n"
    )
    assert run_python_code(code, tmp_path / "m.onnx") == (0, "[]\n", "")


@pytest.mark.parametrize("version", [1, 7, 14, 22])
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_kinds_of_attributes(op: str, version: int) -> None:
    """They are taken from the annotations of what makes the loops."""
    known = onnx.defs.get_schema(op, version, "").attributes
    wanted = {name: int(attribute.type.value) for name, attribute in known.items()}
    assert wanted.items() <= kinds(op, "", version).items()


def test_an_attribute_of_another_kind() -> None:
    with pytest.raises(loopdbg.ModelError, match="'clip' is of the kind STRING, and GRU takes FLOAT"):
        loaded(layer("GRU", clip="1")[0])
