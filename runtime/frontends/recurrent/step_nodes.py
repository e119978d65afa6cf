"""Builds the body of a recurrent operator's loop: a step as nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...graph import (
    Graph,
    Operation,
    System,
    TensorType,
    Value,
)
from ...ops.operator_helpers import constant
from ...ops.recurrent_cells import CellActivation, clip_symmetric, one_minus
from ...ops.registry import ResolvedOperation, ResolvedOperator

V = Value | None


class StepNodeBuilder:
    """Implements the primitives of a step as nodes of a body, with operators of the operator's own system."""

    def __init__(self, body: Graph, node: Operation, state: TensorType) -> None:
        self.body = body
        self.state = state
        self.openvino = body.system is System.OPENVINO
        # Before opset 7 elementwise operators broadcast differently.
        version = node.version if node.domain in ("", "ai.onnx") else body.opsets.get("", 11)
        self.domain, self.version = ("opset1", 1) if self.openvino else ("", max(version, 7))
        #: Integer weights -> their scales and zero points.
        self.weight_quantization: Mapping[Value, tuple[Value, V]] = {}

    def _add_node(
        self,
        op_types: tuple[str, str],
        inputs: Sequence[Value],
        names: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        function: Callable[..., Any] | None = None,
    ) -> list[Value]:
        """Add a node, resolved where its operator needs a dtype; ``op_types``: ONNX's, OpenVINO's."""
        outputs = [Value(name, self.state) for name in names]
        attrs = dict(attributes or {})
        if self.openvino:
            attrs = {name: str(value).lower() for name, value in attrs.items()}
        node = Operation(
            names[0], op_types[self.openvino], self.domain, self.version, [*inputs], [*outputs], attributes=attrs
        )
        self.body.nodes.append(
            node if function is None else ResolvedOperation(**vars(node), op=ResolvedOperator(function, {}))
        )
        return outputs

    def _add_constant(self, name: str, number: Any, dtype: Any = None) -> Value:
        """Add a constant, by default in the body's dtype where it is known."""
        array = np.array(number, dtype or self.state.dtype or np.float32)
        value = Value(name, TensorType(array.dtype, array.shape), array)
        self.body.constants.append(value)
        return value

    def affine(self, x: Value, weights: Value, bias: Value | None, name: str) -> Value:
        """A product of any width; its shape, and that of the product before the bias is added, is left open."""
        if weights in self.weight_quantization:
            out = self._quantized_product(
                x, weights, *self.weight_quantization[weights], name if bias is None else f"{name}_product"
            )
            if bias is not None:
                out.type = TensorType(self.state.dtype)
                [out] = self._add_node(("Add", ""), [out, bias], [name])
        elif self.openvino:
            [out] = self._add_node(
                ("", "MatMul"), [x, weights], [name if bias is None else f"{name}_product"], {"transpose_b": True}
            )
            if bias is not None:
                out.type = TensorType(self.state.dtype)
                [out] = self._add_node(("", "Add"), [out, bias], [name])
        else:
            inputs = [x, weights] if bias is None or (self.version < 11 and bias is None) else [x, weights, bias]
            if bias is None and self.version < 11:  # Gemm's C is optional from opset 11 on
                inputs.append(self._add_constant(f"{name}_zero", 0))
            [out] = self._add_node(("Gemm", ""), inputs, [name], {"transB": 1})
        out.type = TensorType(self.state.dtype)
        return out

    def _quantized_product(self, x: Value, weights: Value, scale: Value, zero: V, name: str) -> Value:
        """The dequantized product of quantized ``x`` and integer weights."""
        names = [f"{name}_{suffix}" for suffix in ("quantized", "scale", "zero")]
        numbers, own_scale, own_zero = self._add_node(("DynamicQuantizeLinear", ""), [x], names)
        inputs = [numbers, weights, own_zero, *([] if zero is None else [zero])]
        [sums] = self._add_node(("MatMulInteger", ""), inputs, [f"{name}_sums"])
        [factor] = self._add_node(("Mul", ""), [own_scale, scale], [f"{name}_factor"])
        for value, dtype, shape in ((numbers, np.uint8, None), (own_zero, np.uint8, ()), (sums, np.int32, None)):
            value.type = TensorType(np.dtype(dtype), shape)
        own_scale.type = factor.type = TensorType(self.state.dtype)
        [out] = self._add_node(("Cast", ""), [sums], [f"{name}_real"], {"to": 1})
        out.type = TensorType(self.state.dtype)
        return self._add_node(("Mul", ""), [out, factor], [name])[0]

    def add(self, a: Value, b: Value, name: str) -> Value:
        return self._add_node(("Add", "Add"), [a, b], [name])[0]

    def multiply(self, a: Value, b: Value, name: str) -> Value:
        return self._add_node(("Mul", "Multiply"), [a, b], [name])[0]

    def one_minus(self, x: Value, name: str) -> Value:
        unit = self._add_constant(f"{name}_one", 1)
        return self._add_node(("Sub", "Subtract"), [unit, x], [name], function=lambda p, unit, x: one_minus(p, x))[0]

    def split(self, x: Value, names: Sequence[str]) -> list[Value]:
        if self.openvino:
            axis = self._add_constant(f"{names[0]}_axis", 1, np.int64)
            return self._add_node(("", "Split"), [x, axis], names, {"num_splits": len(names)})
        count = {"num_outputs": len(names)} if self.version >= 18 else {}
        return self._add_node(("Split", ""), [x], names, {"axis": 1, **count})

    def part(self, x: Value, first: int, end: int, of: int, name: str) -> Value:
        size = self.state.shape[-1] if self.state.shape else None
        if not isinstance(size, int):
            return self._concat(self.split(x, [f"{name}_{k}" for k in range(of)])[first:end], name)
        ends = {"starts": first * size, "ends": end * size}
        if self.openvino:
            bounds = [self._add_constant(f"{name}_{word}", [0, index], np.int64) for word, index in ends.items()]
            masks = {"begin_mask": "1,0", "end_mask": "1,0"}
            [out] = self._add_node(("", "StridedSlice"), [x, *bounds], [name], masks)
        elif self.version < 10:
            attributes = {word: [index] for word, index in {**ends, "axes": 1}.items()}
            [out] = self._add_node(("Slice", ""), [x], [name], attributes)
        else:
            bounds = [self._add_constant(f"{name}_{word}", [k], np.int64) for word, k in {**ends, "axes": 1}.items()]
            [out] = self._add_node(("Slice", ""), [x, *bounds], [name])
        out.type = TensorType(self.state.dtype)
        return out

    def _concat(self, parts: Sequence[Value], name: str) -> Value:
        """Concatenate parts whose size is known only at run time."""
        [out] = self._add_node(("Concat", "Concat"), parts, [name], {"axis": 1})
        out.type = TensorType(self.state.dtype)
        return out

    def clip(self, x: Value, limit: float, name: str) -> Value:
        function = lambda p, x, *_: clip_symmetric(p, x, limit)  # noqa: E731
        if self.openvino or self.version < 11:
            return self._add_node(("Clip", "Clamp"), [x], [name], {"min": -limit, "max": limit}, function)[0]
        bounds = [self._add_constant(f"{name}_{word}", number) for word, number in (("low", -limit), ("high", limit))]
        return self._add_node(("Clip", ""), [x, *bounds], [name], function=function)[0]

    def activate(self, function: CellActivation, x: Value, name: str) -> Value:
        onnx, openvino, *parameters = _ACTIVATION_OPERATORS[function.name]
        attributes = dict(zip(parameters, function.parameters, strict=False))
        return self._add_node((onnx, openvino), [x], [name], attributes, lambda p, x: function(p, x))[0]

    def where(self, condition: Value, a: Value, b: Value | None, name: str) -> Value:
        """``a`` where the condition holds, else ``b``, or 0."""
        if b is not None:
            return self._select(condition, a, b, name, None)
        zero = self._add_constant(f"{name}_zero", 0)
        return self._select(condition, a, zero, name, lambda p, c, a, _: p.where(c, a, constant(p, 0, a.dtype)))

    def _select(self, condition: Value, a: Value, b: Value, name: str, function: Callable[..., Any] | None) -> Value:
        version, self.version = self.version, self.version if self.openvino else max(self.version, 9)
        [out] = self._add_node(("Where", "Select"), [condition, a, b], [name], function=function)
        self.version = version
        return out


#: Function -> ONNX's and OpenVINO's operators, and the names of its parameters there.
_ACTIVATION_OPERATORS: dict[str, tuple[str, ...]] = {
    "relu": ("Relu", "ReLU"),
    "tanh": ("Tanh", "Tanh"),
    "sigmoid": ("Sigmoid", "Sigmoid"),
    "softsign": ("Softsign", "SoftSign"),
    "softplus": ("Softplus", "SoftPlus"),
    "leakyrelu": ("LeakyRelu", "LeakyRelu", "alpha"),
    "thresholdedrelu": ("ThresholdedRelu", "ThresholdedRelu", "alpha"),
    "elu": ("Elu", "Elu", "alpha"),
    "hardsigmoid": ("HardSigmoid", "HardSigmoid", "alpha", "beta"),
    "affine": ("Affine", "Affine", "alpha", "beta"),
    "scaledtanh": ("ScaledTanh", "ScaledTanh", "alpha", "beta"),
}
