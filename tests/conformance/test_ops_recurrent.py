"""LSTM, GRU and RNN next to onnxruntime and OpenVINO; what neither runs, next to a plain loop over the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from error_fields import raises_error
from loopdbg.runtime.errors import ExecutionError, LoopdbgError, ModelError
from loopdbg.runtime.graph import System

from .single_node import Array, assert_close, assert_same, onnx_node, openvino_node, run_here

F32, F64, I32, I64 = np.float32, np.float64, np.int32, np.int64
STEPS, BATCH, SIZE, HIDDEN = 4, 3, 2, 5
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
LENGTHS = np.array([4, 1, 3], I32)


def numbers(*shape: int, seed: int = 0, dtype: Any = F32) -> Array:
    return np.asarray(np.random.default_rng(seed + len(shape)).normal(size=shape), dtype)


def inputs_of(op: str, directions: int = 1, dtype: Any = F32, optional: str = "") -> list[Any]:
    """X, W, R and the optional inputs among: b(ias), l(engths), h(idden), c(ell), p(eepholes)."""
    gates = GATES[op]
    values: list[Any] = [
        numbers(STEPS, BATCH, SIZE, dtype=dtype),
        numbers(directions, gates * HIDDEN, SIZE, seed=1, dtype=dtype),
        numbers(directions, gates * HIDDEN, HIDDEN, seed=2, dtype=dtype) / 2,
        numbers(directions, 2 * gates * HIDDEN, seed=3, dtype=dtype) if "b" in optional else None,
        LENGTHS if "l" in optional else None,
        numbers(directions, BATCH, HIDDEN, seed=4, dtype=dtype) if "h" in optional else None,
    ]
    if op == "LSTM":
        values.append(numbers(directions, BATCH, HIDDEN, seed=5, dtype=dtype) if "c" in optional else None)
        values.append(numbers(directions, 3 * HIDDEN, seed=6, dtype=dtype) if "p" in optional else None)
    while values[-1] is None:
        values.pop()
    return values


def outputs_of(op: str) -> int:
    return 3 if op == "LSTM" else 2


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("optional", ["", "b", "bh", "blhc", "l", "bhcp", "blhcp"])
def test_onnx(op: str, direction: str, optional: str) -> None:
    inputs = inputs_of(op, 2 if direction == "bidirectional" else 1, optional=optional)
    assert_close(*onnx_node(op, inputs, outputs_of(op), opset=14, direction=direction, hidden_size=HIDDEN))


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_onnx_sequence_of_no_length(op: str, direction: str) -> None:
    """Its final states were its initial ones; they are zeros."""
    inputs = inputs_of(op, 2 if direction == "bidirectional" else 1, optional="blhc")
    inputs[4] = np.array([0, 1, 3], I32)
    ours, theirs = onnx_node(op, inputs, outputs_of(op), opset=14, direction=direction, hidden_size=HIDDEN)
    assert_close(ours, theirs)
    assert not np.asarray(ours[1])[:, 0].any()


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("opset", [7, 14, 21])
def test_onnx_first_output_alone(op: str, opset: int) -> None:
    assert_close(*onnx_node(op, inputs_of(op, optional="b"), opset=opset, hidden_size=HIDDEN))


@pytest.mark.parametrize(
    ("op", "names"),
    [
        ("LSTM", ["Sigmoid", "Relu", "Softsign"]),
        ("LSTM", ["HardSigmoid", "LeakyRelu", "Elu"]),
        ("LSTM", ["ScaledTanh", "Affine", "ThresholdedRelu"]),
        ("GRU", ["HardSigmoid", "Softplus"]),
        ("GRU", ["Sigmoid", "ThresholdedRelu"]),
        ("RNN", ["Relu"]),
        ("RNN", ["Sigmoid"]),
    ],
)
def test_onnx_activations(op: str, names: list[str]) -> None:
    """onnxruntime takes the parameters in order, each by the functions that have one."""
    inputs = inputs_of(op, optional="bh")
    attributes: dict[str, Any] = {"hidden_size": HIDDEN, "activations": names, **parameters(names)}
    assert_close(*onnx_node(op, inputs, outputs_of(op), **attributes), rtol=1e-4)
    # One list serves both directions; names are read without regard to case, though onnxruntime's RNN minds it.
    names = [name if op == "RNN" else name.lower() for name in names] * 2
    inputs = inputs_of(op, 2, optional="bh")
    attributes |= {"activations": names, "direction": "bidirectional", **parameters(names)}
    assert_close(*onnx_node(op, inputs, outputs_of(op), **attributes), rtol=1e-4)


def parameters(names: list[str]) -> dict[str, list[float]]:
    with_beta = {"hardsigmoid": 0.4, "scaledtanh": 0.7, "affine": 0.1}
    with_alpha = {
        "leakyrelu": 0.2,
        "elu": 0.8,
        "thresholdedrelu": 0.3,
        "hardsigmoid": 0.3,
        "scaledtanh": 1.2,
        "affine": 0.5,
    }
    results = {
        "activation_alpha": [with_alpha[n.lower()] + k / 10 for k, n in enumerate(names) if n.lower() in with_alpha],
        "activation_beta": [with_beta[n.lower()] + k / 10 for k, n in enumerate(names) if n.lower() in with_beta],
    }
    return {name: values for name, values in results.items() if values}


def test_onnx_activation_defaults() -> None:
    """Those of the operators of the same names."""
    for names in (["LeakyRelu", "HardSigmoid"], ["Elu", "Softsign"]):
        assert_close(*onnx_node("GRU", inputs_of("GRU"), 2, hidden_size=HIDDEN, activations=names))
    x = inputs_of("RNN")
    both = run_here(System.ONNX, "RNN", x, version=14, attributes={"activations": ["Tanh", "Tanh"]})
    assert_same(both[0], run_here(System.ONNX, "RNN", x, version=14, attributes={})[0])


@pytest.mark.parametrize("op", GATES)
def test_onnx_layout(op: str) -> None:
    """Batch first: onnxruntime refuses it."""
    inputs = inputs_of(op, 2, optional="blhc")
    attributes = {"direction": "bidirectional", "hidden_size": HIDDEN}
    expected = run_here(System.ONNX, op, inputs, outputs_of(op), version=14, attributes=attributes)
    inputs[0] = inputs[0].swapaxes(0, 1).copy()
    inputs[5:7] = [state.swapaxes(0, 1).copy() for state in inputs[5:7]]
    result = run_here(System.ONNX, op, inputs, outputs_of(op), version=14, attributes={**attributes, "layout": 1})
    assert_close([result[0].transpose(1, 2, 0, 3)], [expected[0]])
    for state, other in zip(result[1:], expected[1:], strict=True):
        assert_close([state.swapaxes(0, 1)], [other])


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def test_float64_keeps_its_precision() -> None:
    x, w, r, b = inputs_of("LSTM", dtype=F64, optional="b")
    result = run_here(System.ONNX, "LSTM", [x, w, r, b], 3, version=14, attributes={"hidden_size": HIDDEN})
    h = c = np.zeros((BATCH, HIDDEN))
    bias = b[0, : 4 * HIDDEN] + b[0, 4 * HIDDEN :]
    for t in range(STEPS):
        i, o, f, g = np.split(x[t] @ w[0].T + h @ r[0].T + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    assert_close(result[1:], [h[None], c[None]], rtol=1e-12)


def test_a_half_sized_model_runs() -> None:
    width = inputs_of("GRU", optional="bh")
    narrow = [None if x is None else x.astype(np.float16) for x in width]
    attributes = {"hidden_size": HIDDEN}
    result = run_here(System.ONNX, "GRU", narrow, 2, version=14, attributes=attributes)
    expected = run_here(System.ONNX, "GRU", width, 2, version=14, attributes=attributes)
    assert result[0].dtype == np.float16
    assert_close([x.astype(F32) for x in result], expected, rtol=0.05, atol=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 4}, "W has shape"),
        ({"direction": "sideways"}, "sideways"),
        ({"activations": ["Tanh"]}, "1 activations instead of 3"),
        ({"activations": ["Tanh", "Sine", "Tanh"]}, "Sine"),
        ({"direction": "bidirectional"}, "W has shape"),
    ],
)
def test_onnx_attributes_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(LoopdbgError, match=message):
        run_here(System.ONNX, "LSTM", inputs_of("LSTM"), version=14, attributes=change)


def test_onnx_shapes_that_do_not_fit() -> None:
    for position, name in ((3, "B"), (5, "an initial state"), (4, "sequence_lens")):
        inputs = inputs_of("LSTM", optional="blhc")
        inputs[position] = np.array([9, 1, 1], I32) if position == 4 else inputs[position][..., 1:].copy()
        with raises_error(ExecutionError, name=name, node="node", op_type="LSTM"):
            run_here(System.ONNX, "LSTM", inputs, version=14, attributes={})


# --- OpenVINO.


def cell_inputs(op: str, bias: int | None = None, dtype: Any = F32) -> list[Any]:
    """X, the states, W, R, and B unless ``bias`` is 0."""
    gates = GATES[op]
    states = [numbers(BATCH, HIDDEN, seed=4, dtype=dtype)]
    if op == "LSTM":
        states.append(numbers(BATCH, HIDDEN, seed=5, dtype=dtype))
    weights = [
        numbers(gates * HIDDEN, SIZE, seed=1, dtype=dtype),
        numbers(gates * HIDDEN, HIDDEN, seed=2, dtype=dtype) / 2,
    ]
    size = gates if bias is None else bias
    biases = [numbers(size * HIDDEN, seed=3, dtype=dtype)] if size else []
    return [numbers(BATCH, SIZE, dtype=dtype), *states, *weights, *biases]


def weights_of(inputs: list[Any], states: int) -> range:
    """The plugin wants weights as constants."""
    return range(1 + states, len(inputs))


@pytest.mark.parametrize("opset", [1, 4])
@pytest.mark.parametrize(
    "attributes",
    [{}, {"activations": "sigmoid,tanh,tanh", "clip": "0"}, {"activations": "sigmoid, tanh, tanh"}],
    ids=str,
)
def test_lstm_cell(opset: int, attributes: dict[str, Any]) -> None:
    inputs = cell_inputs("LSTM")
    attributes = {"hidden_size": HIDDEN, **attributes}
    assert_close(*openvino_node("LSTMCell", inputs, 2, opset=opset, constant=weights_of(inputs, 2), **attributes))


@pytest.mark.parametrize("attributes", [{}, {"activations": "sigmoid,tanh"}], ids=str)
def test_gru_cell(attributes: dict[str, Any]) -> None:
    inputs = cell_inputs("GRU")
    assert_close(
        *openvino_node("GRUCell", inputs, opset=3, constant=weights_of(inputs, 1), hidden_size=HIDDEN, **attributes)
    )


@pytest.mark.parametrize("flag", ["true", "1"])
def test_gru_cell_resets_after(flag: str) -> None:
    inputs = cell_inputs("GRU", bias=4)
    attributes = {"hidden_size": HIDDEN, "linear_before_reset": flag}
    assert_close(*openvino_node("GRUCell", inputs, opset=3, constant=weights_of(inputs, 1), **attributes))


@pytest.mark.parametrize("function", [None, "tanh", "sigmoid", "relu"])
def test_rnn_cell(function: str | None) -> None:
    inputs = cell_inputs("RNN")
    attributes = {"activations": function} if function else {}
    assert_close(
        *openvino_node("RNNCell", inputs, opset=3, constant=weights_of(inputs, 1), hidden_size=HIDDEN, **attributes)
    )


@pytest.mark.parametrize(("op", "biases"), [("LSTM", 4), ("GRU", 3), ("GRU", 4), ("RNN", 1)])
def test_a_cell_without_bias(op: str, biases: int) -> None:
    """The pages make B optional; OpenVINO's reader wants it."""
    inputs = cell_inputs(op, bias=biases)
    inputs[-1] = np.zeros_like(inputs[-1])
    attributes = {"linear_before_reset": "true"} if (op, biases) == ("GRU", 4) else {}
    outputs = outputs_of(op) - 1
    expected = run_here(System.OPENVINO, f"{op}Cell", inputs, outputs, version=4, attributes=attributes)
    result = run_here(System.OPENVINO, f"{op}Cell", inputs[:-1], outputs, version=4, attributes=attributes)
    assert_close(result, expected)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_lstm_cell_of_the_written_example(dtype: Any) -> None:
    """docs/semantics.md 7.2: five inputs, W and R joined as [4H, I + H]. OpenVINO's reader itself refuses it."""
    x, h, c, w, r, b = cell_inputs("LSTM", dtype=dtype)
    attributes = {"hidden_size": str(HIDDEN)}
    six = run_here(System.OPENVINO, "LSTMCell", [x, h, c, w, r, b], 2, version=4, attributes=attributes)
    joined = np.concatenate([w, r], axis=1)
    five = run_here(System.OPENVINO, "LSTMCell", [x, h, c, joined, b], 2, version=1, attributes=attributes)
    assert_close(five, six, rtol=1e-12)
    with raises_error(ModelError, name="joined W and R", expected="(20, 7)", got="(20, 2)"):
        run_here(System.OPENVINO, "LSTMCell", [x, h, c, w, b], 2, version=1, attributes=attributes)


def test_lstm_cell_clips_and_takes_other_activations() -> None:
    """The plugin runs neither; these are the page's formulas. h(Ct) is not clipped, as in OpenVINO's reference."""
    x, h, c, w, r, b = cell_inputs("LSTM")
    attributes = {"hidden_size": str(HIDDEN), "activations": "sigmoid,relu,tanh", "clip": "0.5"}
    result = run_here(System.OPENVINO, "LSTMCell", [x, h, c, w, r, b], 2, version=4, attributes=attributes)
    f, i, g, o = np.split(np.clip(x @ w.T + h @ r.T + b, -0.5, 0.5), 4, axis=1)
    cell = sigmoid(f) * c + sigmoid(i) * np.maximum(g, 0)
    assert_close(result, [sigmoid(o) * np.tanh(cell), cell])


def test_lstm_cell_1_couples_its_gates_and_has_peepholes() -> None:
    """What only opset 1 had: i = 1 - f, and peepholes f, i, o."""
    x, h, c, w, r, b = cell_inputs("LSTM")
    f, i, g, o = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    cell = sigmoid(f) * c + (1 - sigmoid(f)) * np.tanh(g)
    attributes = {"hidden_size": str(HIDDEN), "input_forget": "true"}
    result = run_here(System.OPENVINO, "LSTMCell", [x, h, c, w, r, b], 2, version=1, attributes=attributes)
    assert_close(result, [sigmoid(o) * np.tanh(cell), cell])

    peepholes = numbers(3 * HIDDEN, seed=6)
    pf, pi, po = np.split(peepholes, 3)
    cell = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * np.tanh(g)
    result = run_here(System.OPENVINO, "LSTMCell", [x, h, c, w, r, b, peepholes], 2, version=1, attributes={})
    assert_close(result, [sigmoid(o + po * cell) * np.tanh(cell), cell])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": "4"}, "hidden_size is 4"),
        ({"activations": "tanh"}, "1 functions instead of 3"),
        ({"activations": "tanh,sine,tanh"}, "sine"),
        ({"clip": "often"}, "clip"),
    ],
)
def test_openvino_attributes_that_do_not_fit(change: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        run_here(System.OPENVINO, "LSTMCell", cell_inputs("LSTM"), 2, version=4, attributes=change)


def test_openvino_shapes_that_do_not_fit() -> None:
    for position, name in ((3, "W"), (4, "R"), (5, "B")):
        inputs = cell_inputs("LSTM")
        inputs[position] = inputs[position][1:].copy()
        with raises_error(ModelError, name=name):
            run_here(System.OPENVINO, "LSTMCell", inputs, 2, version=4, attributes={})
