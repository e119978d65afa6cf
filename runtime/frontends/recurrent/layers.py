"""The recurrent operators of both systems as :class:`RecurrentLayer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import ModelError
from ...graph import System, TensorType, Value
from ...ops.openvino_recurrent_cells import CellAttributes
from ...ops.recurrent_cells import CellStep, parse_activations
from ...ops.recurrent_prologue_epilogue import (
    RecurrentLayout,
    onnx_weights,
    openvino_weights,
    quantized_weights,
)
from ...ops.registry import Floats, inherit_attributes
from ...record import record

V = Value | None


@record(frozen=True)
class RecurrentLayer:
    """A system-independent recurrent operator. ``states`` are the initial ones; ``split_weights``: the function of
    ``ops/recurrent_layout`` that splits W, R, B and peepholes by direction."""

    shape: RecurrentLayout
    steps: Sequence[CellStep]
    backwards: Sequence[bool]
    x: Value
    lengths: V
    states: Sequence[V]
    w: Value
    r: Value
    b: V
    peepholes: V
    split_weights: Callable[..., Any]
    #: The axis of Y for directions.
    direction_axis: int
    #: Scales and zero points of W and R, which are integers then.
    quantization_params: Sequence[V] = ()

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype T of states, gates and Y in the specifications: that of X, the initial states, B and peepholes.
        Also that of W and R, unless they are integers; their scales have dtype T then, by default float32. None where
        it is undeclared."""
        typed = [self.x, *self.states, self.b, self.peepholes]
        typed += self.quantization_params[::2] or [self.w, self.r]
        kinds = (value.type for value in typed if value is not None and isinstance(value.type, TensorType))
        fallback = np.dtype(np.float32) if self.quantization_params else None
        return next((kind.dtype for kind in kinds if kind.dtype is not None), fallback)


@record(frozen=True)
class _OnnxAttributes:
    """The common attributes of ONNX's recurrent operators. ``output_sequence`` (opset 1) only states whether Y is
    used."""

    activations: Sequence[str] | None = None
    activation_alpha: Floats | None = None
    activation_beta: Floats | None = None
    clip: float = 0.0
    direction: str = "forward"
    hidden_size: int | None = None
    layout: int = 0
    output_sequence: int = 1


def _make_onnx_layer(
    step: CellStep, defaults: Sequence[str], inputs: Sequence[Any], attrs: _OnnxAttributes, peepholes: V = None
) -> RecurrentLayer:
    x, w, r, b, lengths, *states = inputs
    backwards = _backward_flags(attrs.direction)
    size, count = len(defaults), len(backwards)
    names = list(attrs.activations or list(defaults) * count)
    if len(names) != size * count:
        raise ModelError(
            f"{len(names)} activations instead of {size * count}",
            name="activations",
            expected=str(size * count),
            got=str(len(names)),
        )
    functions = parse_activations(names, attrs.activation_alpha or (), attrs.activation_beta or ())
    steps = [replace(step, functions=functions[d * size : (d + 1) * size], clip=attrs.clip) for d in range(count)]
    shape = RecurrentLayout(step.kind, count, bool(attrs.layout), attrs.hidden_size)
    return RecurrentLayer(
        shape, steps, backwards, x, lengths, states, w, r, b, peepholes, onnx_weights, 2 if attrs.layout else 1
    )


def _backward_flags(direction: str) -> list[bool]:
    """Whether each direction runs backwards."""
    known = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction.lower() not in known:  # "foward": GRU-1's own default
        raise ModelError(
            f"direction '{direction}' is none of forward, reverse, bidirectional",
            name="direction",
            expected="forward, reverse, bidirectional",
            got=direction,
        )
    return known[direction.lower()]


_LSTM = ("Sigmoid", "Tanh", "Tanh")


@inherit_attributes(_OnnxAttributes)
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
    input_forget: int = 0,
    **attributes: Any,
) -> RecurrentLayer:
    step = CellStep("LSTM", (), "iofc", "f" if input_forget else "")
    inputs = (x, w, r, b, sequence_lens, initial_h, initial_c)
    return _make_onnx_layer(step, _LSTM, inputs, _OnnxAttributes(**attributes), peepholes)


@inherit_attributes(_OnnxAttributes)
def _gru(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    *,
    linear_before_reset: int = 0,
    **attributes: Any,
) -> RecurrentLayer:
    step = CellStep("GRU", (), linear_before_reset=bool(linear_before_reset))
    inputs = (x, w, r, b, sequence_lens, initial_h)
    return _make_onnx_layer(step, ("Sigmoid", "Tanh"), inputs, _OnnxAttributes(**attributes))


@inherit_attributes(_OnnxAttributes)
def _rnn(
    _: None,
    x: Value,
    w: Value,
    r: Value,
    b: V | None = None,
    sequence_lens: V | None = None,
    initial_h: V | None = None,
    **attributes: Any,
) -> RecurrentLayer:
    """The default of the attribute has activations for two directions; one direction takes the first."""
    attrs = _OnnxAttributes(**attributes)
    names = None if attrs.activations is None else attrs.activations[: len(_backward_flags(attrs.direction))]
    inputs = (x, w, r, b, sequence_lens, initial_h)
    return _make_onnx_layer(CellStep("RNN", ()), ("Tanh",), inputs, replace(attrs, activations=names))


@inherit_attributes(_lstm, "layout", "output_sequence")
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
    **attributes: Any,
) -> RecurrentLayer:
    """com.microsoft's operator: X as a whole, and h in each step, are quantized for their products."""
    layer: RecurrentLayer = _lstm(None, x, w, r, b, sequence_lens, initial_h, initial_c, peepholes, **attributes)
    quantized = (w_scale, w_zero, r_scale, r_zero)
    return replace(
        layer,
        shape=replace(layer.shape, reversed_direction=True),
        split_weights=quantized_weights,
        quantization_params=quantized,
    )


def _make_openvino_layer(
    step: CellStep, direction: str, attrs: CellAttributes, inputs: Sequence[Any], peepholes: V = None
) -> RecurrentLayer:
    """X [B, T, I], states [B, D, H], W [D, gates * H, I], R, B; Y [B, D, T, H]."""
    x, lengths, states, w, r, b = inputs
    backwards = _backward_flags(direction)
    count = len(backwards)
    shape = RecurrentLayout(step.kind, count, True, attrs.hidden_size)
    return RecurrentLayer(shape, [step] * count, backwards, x, lengths, states, w, r, b, peepholes, openvino_weights, 1)


@inherit_attributes(CellAttributes)
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
    activations: str = "sigmoid,tanh,tanh",
    input_forget: bool = False,
    **attributes: Any,
) -> RecurrentLayer:
    """Peepholes f, i, o and ``input_forget`` (i = 1 - f) are those of opset 1."""
    attrs = CellAttributes(**attributes)
    functions = attrs.functions(activations, 3)
    step = CellStep("LSTM", functions, "fico", "i" if input_forget else "", attrs.clip)
    inputs = (x, sequence_lengths, (initial_h, initial_c), w, r, b)
    return _make_openvino_layer(step, direction, attrs, inputs, peepholes)


@inherit_attributes(CellAttributes)
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
    activations: str = "sigmoid,tanh",
    linear_before_reset: bool = False,
    **attributes: Any,
) -> RecurrentLayer:
    attrs = CellAttributes(**attributes)
    functions = attrs.functions(activations, 2)
    step = CellStep("GRU", functions, clip=attrs.clip, linear_before_reset=linear_before_reset)
    return _make_openvino_layer(step, direction, attrs, (x, sequence_lengths, (initial_h,), w, r, b))


@inherit_attributes(CellAttributes)
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
    activations: str = "tanh",
    **attributes: Any,
) -> RecurrentLayer:
    attrs = CellAttributes(**attributes)
    functions = attrs.functions(activations, 1)
    step = CellStep("RNN", functions, clip=attrs.clip)
    return _make_openvino_layer(step, direction, attrs, (x, sequence_lengths, (initial_h,), w, r, b))


#: Operator (in lower case for OpenVINO, which ignores case) -> (the first opset that has it, layer function).
_OPERATORS: dict[tuple[System, str], tuple[int, Callable[..., RecurrentLayer]]] = {
    (System.ONNX, "LSTM"): (1, _lstm),
    (System.ONNX, "GRU"): (1, _gru),
    (System.ONNX, "RNN"): (1, _rnn),
    (System.ONNX, "com.microsoft.DynamicQuantizeLSTM"): (1, _dynamic_quantize_lstm),
    (System.OPENVINO, "lstmsequence"): (1, _lstm_sequence),
    (System.OPENVINO, "grusequence"): (5, _gru_sequence),
    (System.OPENVINO, "rnnsequence"): (5, _rnn_sequence),
}


def layer_function(system: System, domain: str, op_type: str, version: int) -> Callable[..., Any] | None:
    """The layer function of a recurrent operator, whose keywords are its attributes; None for other operators."""
    key = op_type.lower() if system is System.OPENVINO else op_type
    if system is System.ONNX and domain not in ("", "ai.onnx"):
        key = f"{domain}.{key}"
    since, function = _OPERATORS.get((system, key), (0, None))
    return function if version >= since else None
