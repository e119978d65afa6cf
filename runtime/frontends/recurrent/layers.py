"""What the recurrent operators of both systems say of themselves: one description, :class:`Layer`, for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...errors import ModelError
from ...graph import (
    System,
    Value,
)
from ...ops.cells import Activation, Step, activations
from ...ops.recurrent_openvino import functions_of
from ...ops.registry import Floats
from ...ops.sequences import (
    Shape,
    onnx_weights,
    openvino_weights,
    quantized_weights,
)
from ...record import record

V = Value | None


@record(frozen=True)
class Layer:
    """A recurrent operator in the words of both systems. ``states`` are initial ones; ``weights``: which of
    ``ops/sequences`` takes W, R, B and peepholes apart."""

    shape: Shape
    steps: Sequence[Step]
    backwards: Sequence[bool]
    x: Value
    lengths: V
    states: Sequence[V]
    w: Value
    r: Value
    b: V
    peepholes: V
    weights: Callable[..., Any]
    #: Where Y has its directions.
    direction_axis: int
    #: Scales and zero points of W and R, which are whole numbers then.
    quantized: Sequence[V] = ()


def _onnx_layer(
    kind: str,
    defaults: Sequence[str],
    inputs: Sequence[Any],
    peepholes: V,
    step: Callable[[list[Activation]], Step],
    names: Sequence[str] | None,
    alphas: Floats | None,
    betas: Floats | None,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> Layer:
    x, w, r, b, lengths, *states = inputs
    backwards = _backwards(direction)
    each, count = len(defaults), len(backwards)
    names = list(names or list(defaults) * count)
    if len(names) != each * count:
        raise ModelError(f"{len(names)} activations instead of {each * count}")
    functions = activations(names, alphas or (), betas or ())
    steps = [step(functions[d * each : (d + 1) * each]) for d in range(count)]
    shape = Shape(kind, count, bool(layout), hidden_size)
    return Layer(shape, steps, backwards, x, lengths, states, w, r, b, peepholes, onnx_weights, 2 if layout else 1)


def _backwards(direction: str) -> list[bool]:
    """For each direction: whether it runs backwards."""
    known = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction.lower() not in known:  # "foward": GRU-1's own default
        raise ModelError(f"direction '{direction}' is none of forward, reverse, bidirectional")
    return known[direction.lower()]


def _lstm(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    initial_c: V | None = None,
    peepholes: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 1,
) -> Layer:
    """``output_sequence`` (opset 1) only said whether Y is wanted."""
    step = partial(_lstm_step, "iofc", "f" if input_forget else "", clip)
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("LSTM", ("Sigmoid", "Tanh", "Tanh"), inputs, peepholes, step, *rest)


def _lstm_step(order: str, coupled: str, clip: float, functions: list[Activation]) -> Step:
    return Step("LSTM", functions, order, coupled, clip)


def _gru(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 1,
) -> Layer:
    step = partial(_gru_step, clip, bool(linear_before_reset))
    inputs = (x, w, r, b, sequence_lens, initial_h)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("GRU", ("Sigmoid", "Tanh"), inputs, None, step, *rest)


def _gru_step(clip: float, linear_before_reset: bool, functions: list[Activation]) -> Step:
    return Step("GRU", functions, clip=clip, linear_before_reset=linear_before_reset)


def _rnn(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 1,
) -> Layer:
    """The attribute's own default names activations for two directions; one direction takes the first."""
    names = None if activations is None else activations[: len(_backwards(direction))]
    inputs = (x, w, r, b, sequence_lens, initial_h)
    rest = (names, activation_alpha, activation_beta, direction, hidden_size, layout)
    return _onnx_layer("RNN", ("Tanh",), inputs, None, partial(_rnn_step, clip), *rest)


def _rnn_step(clip: float, functions: list[Activation]) -> Step:
    return Step("RNN", functions, clip=clip)


def _dynamic_quantize_lstm(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None,
    sequence_lens: V | None,
    initial_h: V | None,
    initial_c: V | None,
    peepholes: V | None,
    w_scale: Value,
    w_zero: V | None,
    r_scale: Value,
    r_zero: V | None = None,
    *,
    activations: Sequence[str] | None = None,
    activation_alpha: Floats | None = None,
    activation_beta: Floats | None = None,
    clip: float = 0.0,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> Layer:
    """com.microsoft's: X as a whole, and h in each step, are quantized for their products."""
    step = partial(_lstm_step, "iofc", "f" if input_forget else "", clip)
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    rest = (activations, activation_alpha, activation_beta, direction, hidden_size, 0)
    layer = _onnx_layer("LSTM", ("Sigmoid", "Tanh", "Tanh"), inputs, peepholes, step, *rest)
    quantized = (w_scale, w_zero, r_scale, r_zero)
    return replace(layer, shape=replace(layer.shape, turned=True), weights=quantized_weights, quantized=quantized)


def _openvino_layer(
    step: Step, direction: str, hidden_size: int | None, inputs: Sequence[Any], peepholes: V = None
) -> Layer:
    """X [B, T, I], states [B, D, H], W [D, gates * H, I], R, B; Y [B, D, T, H]."""
    x, lengths, states, w, r, b = inputs
    backwards = _backwards(direction)
    count = len(backwards)
    shape = Shape(step.kind, count, True, hidden_size)
    return Layer(shape, [step] * count, backwards, x, lengths, states, w, r, b, peepholes, openvino_weights, 1)


def _lstm_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    initial_c: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    peepholes: V | None = None,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    input_forget: bool = False,
) -> Layer:
    """Peepholes f, i, o and ``input_forget`` (i = 1 - f) are those of opset 1."""
    functions = functions_of(activations, activations_alpha, activations_beta, 3)
    step = Step("LSTM", functions, "fico", "i" if input_forget else "", clip)
    inputs = (x, sequence_lengths, (initial_h, initial_c), w, r, b)
    return _openvino_layer(step, direction, hidden_size, inputs, peepholes)


def _gru_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "sigmoid,tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> Layer:
    functions = functions_of(activations, activations_alpha, activations_beta, 2)
    step = Step("GRU", functions, clip=clip, linear_before_reset=linear_before_reset)
    return _openvino_layer(step, direction, hidden_size, (x, sequence_lengths, (initial_h,), w, r, b))


def _rnn_sequence(
    _: None,
    x: Value,
    initial_h: Value,
    sequence_lengths: Value,
    w: Value,
    r: Value,
    b: Value,
    *,
    direction: str,
    hidden_size: int | None = None,
    activations: str = "tanh",
    activations_alpha: Floats = (),
    activations_beta: Floats = (),
    clip: float = 0.0,
) -> Layer:
    functions = functions_of(activations, activations_alpha, activations_beta, 1)
    step = Step("RNN", functions, clip=clip)
    return _openvino_layer(step, direction, hidden_size, (x, sequence_lengths, (initial_h,), w, r, b))


#: Operator (OpenVINO's reader looks types up without regard to case) -> (the first opset that has it, what it says).
_OPERATORS: dict[tuple[System, str], tuple[int, Callable[..., Layer]]] = {
    (System.ONNX, "LSTM"): (1, _lstm),
    (System.ONNX, "GRU"): (1, _gru),
    (System.ONNX, "RNN"): (1, _rnn),
    (System.ONNX, "com.microsoft.DynamicQuantizeLSTM"): (1, _dynamic_quantize_lstm),
    (System.OPENVINO, "lstmsequence"): (1, _lstm_sequence),
    (System.OPENVINO, "grusequence"): (5, _gru_sequence),
    (System.OPENVINO, "rnnsequence"): (5, _rnn_sequence),
}


def layer_function(system: System, domain: str, op_type: str, version: int) -> Callable[..., Any] | None:
    """The function whose keywords are the attributes of an operator that becomes loops; None for any other."""
    word = op_type.lower() if system is System.OPENVINO else op_type
    if system is System.ONNX and domain not in ("", "ai.onnx"):
        word = f"{domain}.{word}"
    since, says = _OPERATORS.get((system, word), (0, None))
    return says if version >= since else None
