"""Layers for nodes of an ONNX file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph import Array, Graph, If, Loop, Node, Operation, SlicedInput, TensorType, Value, bodies
from .constant_folding import constant_value
from .enums import LayerType
from .layer import ILayer, ITensor
from .lowering_scope import LoweringScope
from .network import INetworkDefinition

_LAYER_TYPES = {
    "Conv": LayerType.CONVOLUTION,
    "ConvTranspose": LayerType.DECONVOLUTION,
    "Cast": LayerType.CAST,
    "MaxPool": LayerType.POOLING,
    "AveragePool": LayerType.POOLING,
    "Softmax": LayerType.SOFTMAX,
    "Concat": LayerType.CONCATENATION,
    "MatMul": LayerType.MATRIX_MULTIPLY,
    "Gemm": LayerType.MATRIX_MULTIPLY,
    "Reshape": LayerType.SHUFFLE,
    "Transpose": LayerType.SHUFFLE,
    "Gather": LayerType.GATHER,
    "Slice": LayerType.SLICE,
    "Shape": LayerType.SHAPE,
    "Where": LayerType.SELECT,
    "Resize": LayerType.RESIZE,
    "TopK": LayerType.TOPK,
    "Identity": LayerType.IDENTITY,
    "LayerNormalization": LayerType.NORMALIZATION,
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Less", "Greater", "Equal"), LayerType.ELEMENTWISE
    ),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Selu", "Clip", "Gelu"), LayerType.ACTIVATION),
    **dict.fromkeys(("Exp", "Log", "Sqrt", "Abs", "Neg", "Not", "Floor", "Ceil", "Erf", "Round"), LayerType.UNARY),
    **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"), LayerType.REDUCE),
}


class OnnxConstantLayer(ILayer, type=LayerType.CONSTANT, kind="Constant"):
    """An initializer."""

    def __init__(self, network: INetworkDefinition, value: Value) -> None:
        super().__init__(network, [])
        assert value.constant is not None
        self._value, self._array = value, value.constant
        self._name = value.name
        self._outputs[0]._name = value.name

    @property
    def weights(self) -> Array:
        """The flattened data."""
        return self._array.reshape(-1)

    def constant_outputs(self) -> Sequence[Array] | None:
        return [self._array]

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        return [TensorType(self._array.dtype, self._array.shape)]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        scope.main.constants.append(self._value)
        return [self._value]


class OnnxNodeLayer(ILayer):
    """A node with its output values. Captures of its inner graphs are inputs as well."""

    FOLDABLE = False

    def __init__(
        self,
        network: INetworkDefinition,
        node: Node,
        inputs: Sequence[Value | None],
        tensors: Mapping[Value, ITensor],
        expanded_from: Operation | None,
    ) -> None:
        self._node = node
        #: Its output values.
        self._values = [value for value in node.outputs if value is not None]
        super().__init__(network, [None if v is None else tensors[v] for v in inputs], len(self._values))
        self._current_inputs, self._expanded_from = list(inputs), expanded_from
        self._name = node.name
        for tensor, value in zip(self._outputs, self._values, strict=True):
            tensor._name = value.name

    def _layer_type(self) -> LayerType:
        """The most similar LayerType."""
        return _LAYER_TYPES.get(self._node.op_type, LayerType.PLUGIN_V3)

    def __repr__(self) -> str:
        return f"{self._node.op_type} '{self.name}'"

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        if isinstance(self._node, If) and constant_value(self.required_input(0)) is None:
            self._check_branches(self._node)
        return [value.type if isinstance(value.type, TensorType) else TensorType() for value in self._values]

    def _check_branches(self, node: If) -> None:
        """Check the rule of conditionals, which also applies to the parser's If layers.

        Raises:
            ModelError: the branches have different shapes.
        """
        for then_value, else_value in zip(node.then_branch.outputs, node.else_branch.outputs, strict=False):
            a, b = then_value.type, else_value.type
            if isinstance(a, TensorType) and isinstance(b, TensorType) and a.excludes(b):
                raise self.error(
                    f"the then branch gives '{then_value.name}' {a.shape_text()}, the else branch '{else_value.name}' "
                    f"{b.shape_text()}; they must have one shape, unless the condition is a constant"
                )

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        replacements = {
            old: new
            for old, new in zip(self._current_inputs, inputs, strict=True)
            if old is not None and new is not None and old is not new
        }
        self._current_inputs = list(inputs)
        if replacements:
            _replace_values(self._node, replacements)
        scope.graph.nodes.append(self._node)
        if self._expanded_from is not None:
            scope.main.expanded_from[self._node] = self._expanded_from
        return self._values


def _replace_values(node: Node, replacements: Mapping[Value, Value]) -> None:
    """Replace values that a node and the graphs inside it read."""

    def new(value: Value) -> Value:
        return replacements.get(value, value)

    node.inputs = [None if value is None else new(value) for value in node.inputs]
    if isinstance(node, Loop):
        for name in ("trip_count", "initial_condition", "condition", "ignored_condition"):
            value = getattr(node, name)
            setattr(node, name, None if value is None else new(value))
        for sliced in node.sliced_inputs:
            sliced.outer = new(sliced.outer)
        for invariant in node.invariants:
            invariant.outer = new(invariant.outer)
        for edge in node.back_edges:
            if isinstance(edge.initial, SlicedInput):
                edge.initial.outer = new(edge.initial.outer)
            else:
                edge.initial = new(edge.initial)
            edge.result = new(edge.result)
        for last in node.last_values:
            last.result = new(last.result)
        for scan in node.scan_outputs:
            scan.result = new(scan.result)
    for _, inner in bodies(node):
        _replace_values_in_graph(inner, replacements)


def _replace_values_in_graph(graph: Graph, replacements: Mapping[Value, Value]) -> None:
    graph.outputs = [replacements.get(value, value) for value in graph.outputs]
    for node in graph.nodes:
        _replace_values(node, replacements)
