"""The body of a loop that a recurrent operator is read as: what a step says, as nodes."""

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
    """:class:`~...ops.cells.Steps` as nodes of a body, in the words of the operator's own system."""

    def __init__(self, body: Graph, node: Operation, state: TensorType) -> None:
        self.body = body
        self.state = state
        self.openvino = body.system is System.OPENVINO
        # Before opset 7 elementwise operators broadcast in other ways.
        version = node.version if node.domain in ("", "ai.onnx") else body.opsets.get("", 11)
        self.domain, self.version = ("opset1", 1) if self.openvino else ("", max(version, 7))
        #: Weights that are whole numbers: their scales and zero points.
        self.weight_quantization: Mapping[Value, tuple[Value, V]] = {}

    def _add_node(
        self,
        words: tuple[str, str],
        inputs: Sequence[Value],
        names: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        function: Callable[..., Any] | None = None,
    ) -> list[Value]:
        """A node, with its operator where the system's own needs to know a dtype; ``words``: ONNX's, OpenVINO's."""
        outputs = [Value(name, self.state) for name in names]
        given = dict(attributes or {})
        if self.openvino:
            given = {name: str(value).lower() for name, value in given.items()}
        node = Operation(
            names[0], words[self.openvino], self.domain, self.version, [*inputs], [*outputs], attributes=given
        )
        self.body.nodes.append(
            node if function is None else ResolvedOperation(**vars(node), op=ResolvedOperator(function, {}))
        )
        return outputs

    def _add_constant(self, name: str, number: Any, dtype: Any = None) -> Value:
        """A number or several, in the body's dtype where that is known."""
        array = np.array(number, dtype or self.state.dtype or np.float32)
        value = Value(name, TensorType(array.dtype, array.shape), array)
        self.body.constants.append(value)
        return value

    def affine(self, x: Value, weights: Value, bias: Value | None, name: str) -> Value:
        """A product of any width; its type is left open, and that of what a bias is added to."""
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
            if bias is None and self.version < 11:  # Gemm's C is optional from there on
                inputs.append(self._add_constant(f"{name}_zero", 0))
            [out] = self._add_node(("Gemm", ""), inputs, [name], {"transB": 1})
        out.type = TensorType(self.state.dtype)
        return out

    def _quantized_product(self, x: Value, weights: Value, scale: Value, zero: V, name: str) -> Value:
        """The product of whole numbers that ``x`` is quantized to, as numbers again."""
        words = [f"{name}_{word}" for word in ("quantized", "scale", "zero")]
        numbers, own_scale, own_zero = self._add_node(("DynamicQuantizeLinear", ""), [x], words)
        given = [numbers, weights, own_zero, *([] if zero is None else [zero])]
        [sums] = self._add_node(("MatMulInteger", ""), given, [f"{name}_sums"])
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
        one = self._add_constant(f"{name}_one", 1)
        return self._add_node(("Sub", "Subtract"), [one, x], [name], function=lambda p, one, x: one_minus(p, x))[0]

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
            bounds = [self._add_constant(f"{name}_{word}", [0, at], np.int64) for word, at in ends.items()]
            masks = {"begin_mask": "1,0", "end_mask": "1,0"}
            [out] = self._add_node(("", "StridedSlice"), [x, *bounds], [name], masks)
        elif self.version < 10:
            along = {word: [at] for word, at in {**ends, "axes": 1}.items()}
            [out] = self._add_node(("Slice", ""), [x], [name], along)
        else:
            bounds = [self._add_constant(f"{name}_{word}", [at], np.int64) for word, at in {**ends, "axes": 1}.items()]
            [out] = self._add_node(("Slice", ""), [x, *bounds], [name])
        out.type = TensorType(self.state.dtype)
        return out

    def _concat(self, parts: Sequence[Value], name: str) -> Value:
        """Parts whose size the run alone knows, side by side."""
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
        given = dict(zip(parameters, function.parameters, strict=False))
        return self._add_node((onnx, openvino), [x], [name], given, lambda p, x: function(p, x))[0]

    def where(self, condition: Value, a: Value, b: Value | None, name: str) -> Value:
        """``a`` where the condition holds, else ``b``, or 0."""
        if b is not None:
            return self._select(condition, a, b, name, None)
        zero = self._add_constant(f"{name}_zero", 0)
        return self._select(condition, a, zero, name, lambda p, c, a, _: p.where(c, a, constant(p, 0, a.dtype)))

    def _select(self, condition: Value, a: Value, b: Value, name: str, function: Callable[..., Any] | None) -> Value:
        own, self.version = self.version, self.version if self.openvino else max(self.version, 9)
        [out] = self._add_node(("Where", "Select"), [condition, a, b], [name], function=function)
        self.version = own
        return out


#: Function -> ONNX's and OpenVINO's operators, and what they call its parameters.
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
