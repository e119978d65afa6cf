"""Mixture-of-experts operators of ``com.microsoft``: the router sends each row to its top k experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError, UnsupportedError
from ..graph import Array
from ..record import record
from .activations import gelu, relu, sigmoid
from .axis_arguments import decode_string, shape_error, unknown_value_error
from .elementwise import clamp_to_bounds
from .microsoft_elementwise import MICROSOFT
from .operator_helpers import constant
from .registry import inherit_attributes, onnx

P = Any  # EagerPrimitives or the like
_FLOAT32 = np.dtype(np.float32)
_ACTIVATIONS = ("relu", "gelu", "silu", "swiglu", "identity")


@record(frozen=True)
class ExpertAttributes:
    """The common attributes of MoE and QMoE.

    ``swiglu_fusion``: layout of SwiGLU's gate and linear part: two products (0), interleaved in one (1), or
    concatenated in one (2).
    """

    activation_type: str = "relu"
    activation_alpha: float = 1.0
    activation_beta: float = 0.0
    k: int = 1
    normalize_routing_weights: int = 0
    swiglu_fusion: int = 0
    swiglu_limit: float | None = None
    swiglu_limit_after_activation: int = 0
    use_sparse_mixer: int = 0

    def __post_init__(self) -> None:
        for name in ("swiglu_limit_after_activation", "use_sparse_mixer"):
            if value := getattr(self, name):
                raise UnsupportedError(
                    f"{name}={value} is not supported; onnxruntime has it for other providers",
                    name=name,
                    got=str(value),
                )

    def check_activation(self, has_third: bool) -> None:
        """Raises: ModelError: unknown activation or layout."""
        name, fusion = self.activation, self.swiglu_fusion
        if name not in _ACTIVATIONS:
            raise unknown_value_error("activation_type", name, _ACTIVATIONS)
        if fusion not in (0, 1, 2):
            raise unknown_value_error("swiglu_fusion", fusion, (0, 1, 2))
        if name == "swiglu" and bool(fusion) == has_third:
            presence = "it has them" if has_third else "they are absent"
            raise ModelError(
                f"swiglu_fusion={fusion} says whether there are weights of a third product, and {presence}",
                name="swiglu_fusion",
                got=str(fusion),
            )

    @property
    def activation(self) -> str:
        return decode_string(self.activation_type)

    @property
    def columns_per_output(self) -> int:
        """Columns of the first product per output column."""
        return 2 if self.activation == "swiglu" and self.swiglu_fusion else 1

    def activate(self, p: P, x: Array, other: Array | None) -> Array:
        """The activation of an expert. ``x``: the first product; ``other``: the third one, if any."""
        match self.activation:
            case "relu":
                y = relu(p, x)
            case "gelu":  # onnxruntime's experts use the tanh approximation
                y = gelu(p, x, approximate="tanh")
            case "silu":
                y = p.map(np.multiply, x, sigmoid(p, x))
            case "swiglu":
                return self._swiglu(p, x, other)
            case _:
                y = x
        result: Array = y if other is None else p.map(np.multiply, y, other)
        return result

    def _swiglu(self, p: P, x: Array, other: Array | None) -> Array:
        if other is not None:
            gate, linear = x, other
        elif self.swiglu_fusion == 1:
            gate, linear = x[..., ::2], x[..., 1::2]
        else:
            half = x.shape[-1] // 2
            gate, linear = x[..., :half], x[..., half:]
        if self.swiglu_limit is not None:
            high, low = constant(p, self.swiglu_limit, x.dtype), constant(p, -self.swiglu_limit, x.dtype)
            gate, linear = clamp_to_bounds(p, gate, None, high), clamp_to_bounds(p, linear, low, high)
        gate_factor = sigmoid(p, p.map(np.multiply, gate, constant(p, self.activation_alpha, x.dtype)))
        shifted = p.map(np.add, linear, constant(p, self.activation_beta, x.dtype))
        result: Array = p.map(np.multiply, p.map(np.multiply, gate, gate_factor), shifted)
        return result


#: Expert index -> weights ``[outputs, inputs]`` and bias.
_Weights = Callable[[int], tuple[Array, Array | None]]


def _mix_experts(
    p: P,
    x: Array,
    router: Array,
    shares: Array | None,
    attrs: ExpertAttributes,
    layers: tuple[_Weights, _Weights, _Weights | None],
) -> Array:
    """The weighted sum of the top ``k`` experts of each row, with weights from the router or ``shares``."""
    k = attrs.k
    rows = x.reshape(-1, x.shape[-1]).astype(np.float32)
    count = router.shape[-1]
    for array, name in ((router, "router_probs"), (shares, "router_weights")):
        if array is not None and array.shape != (len(rows), count):
            raise shape_error(name, array.shape, f"has not {count} numbers for each of {len(rows)} rows")
    if not 1 <= k <= count:
        raise ModelError(f"k={k} of {count} experts cannot be chosen", name="k", expected=f"1 to {count}", got=str(k))
    scores = router.astype(np.float32)
    # Ties select the last expert, as in onnxruntime.
    best = count - 1 - np.argsort(-scores[:, ::-1], axis=1, kind="stable")[:, :k]
    if shares is None:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
    weights = np.take_along_axis(shares.astype(np.float32), best, 1)
    if attrs.normalize_routing_weights:
        weights = weights / weights.sum(axis=1, keepdims=True)
    total = np.zeros((len(rows), x.shape[-1]), np.float32)
    for rank in range(k):
        for expert in np.unique(best[:, rank]):
            selected = np.nonzero(best[:, rank] == expert)[0]
            inner = _apply_layer(p, rows[selected], layers[0](expert))
            other = None if layers[2] is None else _apply_layer(p, rows[selected], layers[2](expert))
            y = _apply_layer(p, attrs.activate(p, inner, other), layers[1](expert))
            total[selected] += weights[selected, rank, None] * y
    return total.reshape(x.shape).astype(x.dtype)


def _apply_layer(p: P, rows: Array, layer: tuple[Array, Array | None]) -> Array:
    weights, bias = layer
    y: Array = p.matmul(np.ascontiguousarray(rows), np.ascontiguousarray(weights.T))
    return y if bias is None else p.map(np.add, y, bias.astype(np.float32))


def _check_shape(name: str, array: Array | None, *shapes: tuple[int, ...]) -> None:
    if array is not None and array.shape not in shapes:
        raise shape_error(name, array.shape, f"should be of shape {' or '.join(map(str, shapes))}")


def _expert_sizes(x: Array, router: Array, first: Array) -> tuple[int, int, int]:
    """The number of experts, the row width, and the width of the first product."""
    if x.ndim not in (2, 3) or router.ndim != 2 or first.ndim != 3:
        shapes = f"{x.shape}, {router.shape} and {first.shape}"
        raise ModelError(f"an input, a router and weights of the shapes {shapes} have not 2 or 3, 2 and 3 axes")
    return router.shape[1], x.shape[-1], first.shape[1]


@onnx("MoE", domain=MICROSOFT, native=False)
@inherit_attributes(ExpertAttributes)
def mixture_of_experts(
    p: P,
    x: Array,
    router_probs: Array,
    fc1: Array,
    fc1_bias: Array | None,
    fc2: Array,
    fc2_bias: Array | None = None,
    fc3: Array | None = None,
    fc3_bias: Array | None = None,
    **attributes: Any,
) -> Array:
    attrs = ExpertAttributes(**attributes)
    attrs.check_activation(fc3 is not None)
    experts, hidden, outputs = _expert_sizes(x, router_probs, fc1)
    inner = outputs // attrs.columns_per_output

    def layer(name: str, weights: Array, bias: Array | None, rows: int, columns: int) -> _Weights:
        _check_shape(f"{name}_experts_weights", weights, (experts, rows, columns))
        _check_shape(f"{name}_experts_bias", bias, (experts, rows))
        return lambda e: (weights[e].astype(np.float32), None if bias is None else bias[e])

    first = layer("fc1", fc1, fc1_bias, attrs.columns_per_output * inner, hidden)
    second = layer("fc2", fc2, fc2_bias, hidden, inner)
    third = None if fc3 is None else layer("fc3", fc3, fc3_bias, inner, hidden)
    return _mix_experts(p, x, router_probs, None, attrs, (first, second, third))


@record(frozen=True)
class QuantizedExpertWeights:
    """Quantized weights of all experts for one product. ``block``: number of weights of a row per scale; 0: all."""

    name: str
    weights: Array
    scales: Array | None
    zeros: Array | None
    bias: Array | None
    bits: int
    block: int

    def dequantize(self, experts: int, rows: int, columns: int) -> _Weights:
        """Raises: ModelError: shapes do not match."""
        bits, block = self.bits, self.block
        if bits not in (2, 3, 4, 8):
            raise UnsupportedError(f"weights of {bits} bits are not supported", name="bits", got=str(bits))
        if block and columns % block:
            raise ModelError(
                f"rows of {columns} numbers cannot be divided into blocks of {block}", name="block_size", got=str(block)
            )
        _check_shape(f"{self.name}_experts_weights", self.weights, (experts, rows, -(-columns * bits // 8)))
        _check_shape(f"{self.name}_experts_bias", self.bias, (experts, rows))
        if self.scales is None:
            raise ModelError(f"there are no {self.name}_scales", name=f"{self.name}_scales")
        count = columns // block if block else 1
        block_shape = (experts, rows, count)
        _check_shape(f"{self.name}_scales", self.scales, *([block_shape] if block else [block_shape, (experts, rows)]))
        block_zero_shape = (experts, rows, -(-count * bits // 8))
        row_zero_shape = (experts, -(-rows * bits // 8))
        _check_shape(f"{self.name}_zero_points", self.zeros, block_zero_shape if block else row_zero_shape)
        scales = self.scales.reshape(block_shape)
        default_zero = np.float32(1 << (bits - 1))

        def expert_weights(expert: int) -> tuple[Array, Array | None]:
            zero_points: Any = default_zero
            if self.zeros is not None:
                unpacked = unpack_bit_fields(self.zeros[expert], bits)
                zero_points = (unpacked[:, :count] if block else unpacked[:rows, None]).astype(np.float32)[..., None]
            codes = unpack_bit_fields(self.weights[expert], bits)[:, :columns].reshape(rows, count, -1)
            dequantized = (codes.astype(np.float32) - zero_points) * scales[expert].astype(np.float32)[..., None]
            return dequantized.reshape(rows, columns), None if self.bias is None else self.bias[expert]

        return expert_weights


def unpack_bit_fields(packed: Array, bits: int) -> Array:
    """Unpack the little-endian bit string along the last axis into numbers of ``bits`` bits."""
    if bits == 8:
        return packed
    bit_array = np.unpackbits(packed, axis=-1, bitorder="little")
    bit_array = bit_array[..., : bit_array.shape[-1] // bits * bits].reshape(*packed.shape[:-1], -1, bits)
    values: Array = np.add.reduce(bit_array << np.arange(bits, dtype=np.uint8), axis=-1, dtype=np.uint8)
    return values


@onnx("QMoE", domain=MICROSOFT, native=False)
@inherit_attributes(ExpertAttributes)
def quantized_mixture_of_experts(
    p: P,
    x: Array,
    router_probs: Array,
    fc1: Array,
    fc1_scales: Array | None,
    fc1_bias: Array | None,
    fc2: Array,
    fc2_scales: Array | None = None,
    fc2_bias: Array | None = None,
    fc3: Array | None = None,
    fc3_scales: Array | None = None,
    fc3_bias: Array | None = None,
    fc1_zero_points: Array | None = None,
    fc2_zero_points: Array | None = None,
    fc3_zero_points: Array | None = None,
    router_weights: Array | None = None,
    fc1_global_scale: Array | None = None,
    fc2_global_scale: Array | None = None,
    fc1_act_scale: Array | None = None,
    fc2_act_scale: Array | None = None,
    fc1_act_block_scale: Array | None = None,
    fc2_act_block_scale: Array | None = None,
    *,
    accuracy_level: int = 0,
    block_size: int = 0,
    expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int | None = None,
    fc2_expert_weight_bits: int | None = None,
    fc3_expert_weight_bits: int | None = None,
    quant_type: str = "int",
    weights_prepacked: int = -1,
    **attributes: Any,
) -> Array:
    """``accuracy_level`` is ignored: activations are not quantized, as at level 0.

    ``normalize_routing_weights``: onnxruntime's CPU provider always assumes 1 here, unlike its MoE.
    """
    attrs = ExpertAttributes(**attributes)
    if decode_string(quant_type) != "int" or any(
        scale is not None
        for scale in (
            fc1_global_scale,
            fc2_global_scale,
            fc1_act_scale,
            fc2_act_scale,
            fc1_act_block_scale,
            fc2_act_block_scale,
        )
    ):
        raise UnsupportedError(
            f"a QMoE of the kind {decode_string(quant_type)!r}, or with global scales, is not supported",
            name="quant_type",
            got=decode_string(quant_type),
        )
    if weights_prepacked == 1:
        raise UnsupportedError(
            "weights in a layout of one provider (weights_prepacked) are not supported", name="weights_prepacked"
        )
    attrs.check_activation(fc3 is not None)
    experts, hidden, outputs = _expert_sizes(x, router_probs, fc1)
    inner = outputs // attrs.columns_per_output

    products = (
        (
            "fc1",
            fc1,
            fc1_scales,
            fc1_zero_points,
            fc1_bias,
            fc1_expert_weight_bits,
            (attrs.columns_per_output * inner, hidden),
        ),
        ("fc2", fc2, fc2_scales, fc2_zero_points, fc2_bias, fc2_expert_weight_bits, (hidden, inner)),
        ("fc3", fc3, fc3_scales, fc3_zero_points, fc3_bias, fc3_expert_weight_bits, (inner, hidden)),
    )
    first, second, third = (
        None
        if weights is None
        else QuantizedExpertWeights(
            name, weights, scales, zeros, bias, expert_weight_bits if bits is None else bits, block_size
        ).dequantize(experts, *shape)
        for name, weights, scales, zeros, bias, bits, shape in products
    )
    assert first is not None and second is not None
    return _mix_experts(p, x, router_probs, router_weights, attrs, (first, second, third))
