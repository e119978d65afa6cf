"""Type constraints of ONNX operators: groups of inputs and outputs that share a type variable of the schema.

The table is extracted from ``onnx.defs``, whose import takes longer than opening most models;
tests/unit/runtime/ops/test_type_variables.py compares both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import dtype_from_onnx
from ..errors import UnsupportedError
from ..graph import Graph, If, Loop, Node, Operation, TensorType, Value
from ..record import record

#: "inputs > outputs" of one type -> operators, in their newest version.
_TYPE_VARIABLE_GROUPS: Mapping[str, str] = {
    "0>0": (
        "Abs Acos Acosh AffineGrid Asin Asinh Atan Atanh AveragePool BitwiseNot Ceil Celu CenterCropPad "
        "Col2Im Compress Cos Cosh CumProd CumSum DFT DepthToSpace Det Elu Erf Exp Expand Flatten Floor Gather "
        "GatherElements GatherND Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample HardSigmoid "
        "HardSwish Hardmax Identity LRN LeakyRelu Log LogSoftmax LpNormalization LpPool MaxPool "
        "MeanVarianceNormalization Mish Neg Not Pow Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
        "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize "
        "ReverseSequence Round Selu SequenceErase SequenceInsert SequenceMap Shrink Sigmoid Sign Sin Sinh "
        "Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Swish Tan Tanh ThresholdedRelu Tile TopK "
        "Transpose Trilu Unique Unsqueeze Upsample "
    ),
    "0 1>0": (
        "Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div MatMul MaxRoiPool Mod Mul PRelu RoiAlign "
        "StringConcat Sub SwiGLU TensorScatter "
    ),
    "0 1 2>0": (
        "Clip Conv ConvTranspose Gemm GroupNormalization InstanceNormalization LayerNormalization Range "
        "RotaryEmbedding "
    ),
    "0 1>": "And Equal Greater GreaterOrEqual Less LessOrEqual Or Xor",
    "0+>0": "Concat Einsum Max Mean Min Sum",
    "0 2>0": "NegativeLogLikelihoodLoss Pad Scatter ScatterElements ScatterND",
    "0 1 2 3 5>0 1": "GRU RNN",
    "0 2> | 1 3>": "ConvInteger MatMulInteger",
    "1>0": "CastLike RMSNormalization",
    "2>0": "OneHot QuantizeLinear",
    "0 1 2 3 4>0": "DeformConv",
    "0 1 2 3 5 6 7>0 1 2": "LSTM",
    "0 1 2 3>0 1": "CausalConvWithState",
    "0 1 2 4 5>0 | 3>1": "LinearAttention",
    "0 1 2> | 3 4>": "MelWeightMatrix",
    "0 1 4>0 1 3 | 2 5>2": "Attention",
    "0 2>": "DequantizeLinear",
    "0 2> | 1 4 6> | 3 5> | 7>0": "QLinearMatMul",
    "0 2> | 3 5> | 7>0": "QLinearConv",
    "0 2>0 1": "SoftmaxCrossEntropyLoss",
    "0 2>0 | 1 3>": "STFT",
    "0+>": "SequenceConstruct",
    "0>0 | 1 2 3 4>": "Slice",
    "0>0 | 1 2>": "MaxUnpool",
    "0>0 | 1 2> | 3 4>1 2": "BatchNormalization",
    "0>0 | 2>1": "Dropout",
    "1 2>0": "Where",
}
#: Type -> operators whose first result has it.
_RESULT_TYPES: Mapping[str, str] = {
    "int64": "ArgMax ArgMin NonZero Shape Size",
    "bool": "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor",
}
_TYPE_OF_RESULT = {name: np.dtype(dtype) for dtype, names in _RESULT_TYPES.items() for name in names.split()}
#: Groups of older versions: (last version, groups).
_OLDER_GROUPS: Mapping[str, Sequence[tuple[int, str]]] = {
    "BatchNormalization": [(13, "0 1 2 3 4>0 1 2 3 4"), (14, "0 1 2>0 | 3 4>1 2")],
    "Clip": [(10, "0>0")],
    "DequantizeLinear": [(18, "0 2>"), (22, "0 2> | 1>0")],
    "Dropout": [(9, "0>0 1"), (11, "0>0")],
    "Pad": [(10, "0>0")],
    "Pow": [(11, "0 1>0")],
    "QLinearMatMul": [(20, "0 2> | 3 5> | 7>0")],
    "QuantizeLinear": [(18, "2>0"), (22, "0 1> | 2>0")],
    "Slice": [(9, "0>0")],
    "Split": [(1, "0 1>0")],
    "Tile": [(5, "0 1 2>0")],
}


@record(frozen=True)
class MixedTypes:
    """A node with mixed types where one type is required: of inputs, or of the branch results of an If."""

    node: Node
    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        operands = " and ".join(f"'{name}' ({dtype})" for name, dtype in self.values)
        return f"{self.node.describe()} mixes types: {operands}"


@cache
def type_variables_of(op_type: str, version: int) -> list[tuple[list[str], list[int]]]:
    """The type groups of an operator: formal inputs (``2+``: that one and all later ones) and outputs."""
    older = next((text for last, text in _OLDER_GROUPS.get(op_type, ()) if version <= last), None)
    text = _newest_type_groups().get(op_type, "") if older is None else older
    groups = [group.split(">") for group in text.split("|") if ">" in group]
    return [(inputs.split(), [int(k) for k in outputs.split()]) for inputs, outputs in groups]


@cache
def _newest_type_groups() -> Mapping[str, str]:
    return {op_type: group for group, op_types in _TYPE_VARIABLE_GROUPS.items() for op_type in op_types.split()}


def find_mixed_types(graph: Graph) -> Iterator[MixedTypes]:
    """The nodes of an ONNX graph and its subgraphs that mix types, as far as types are known."""
    return DtypeInference().visit_graph(graph)


class DtypeInference:
    """Infers the dtypes of values from declared ones."""

    def __init__(self) -> None:
        self._known: dict[Value, np.dtype[Any]] = {}

    def dtype_of(self, value: Value | None) -> np.dtype[Any] | None:
        if value is None:
            return None
        if value.constant is not None:
            return value.constant.dtype
        declared = value.type.dtype if isinstance(value.type, TensorType) else None
        return self._known.get(value) if declared is None else declared

    def visit_graph(self, graph: Graph) -> Iterator[MixedTypes]:
        for node in graph.nodes:
            if isinstance(node, Loop):
                yield from self._visit_loop(node)
            elif isinstance(node, If):
                yield from self._visit_if(node)
            elif isinstance(node, Operation) and node.domain in ("", "ai.onnx"):
                yield from self._visit_operation(node)

    def _visit_operation(self, node: Operation) -> Iterator[MixedTypes]:
        if node.op_type == "Cast" and node.outputs and isinstance(node.attributes.get("to"), int):
            try:
                self._set_dtype(node.outputs[0], dtype_from_onnx(node.attributes["to"]))
            except UnsupportedError:
                return
        if node.outputs:
            self._set_dtype(node.outputs[0], _TYPE_OF_RESULT.get(node.op_type))
        if node.op_type == "Constant":
            data = next(iter(node.attributes.values()), None)
            if isinstance(data, np.ndarray) and node.outputs:
                self._set_dtype(node.outputs[0], data.dtype)
        for inputs, outputs in type_variables_of(node.op_type, node.version):
            typed = [(value, kind) for value in _values_at(node, inputs) if (kind := self.dtype_of(value)) is not None]
            if len({kind for _, kind in typed}) > 1:
                first_value = typed[0]
                conflicting = next(entry for entry in typed if entry[1] != first_value[1])
                yield MixedTypes(node, tuple((value.name, kind.name) for value, kind in (first_value, conflicting)))
            for k in outputs:
                if typed and k < len(node.outputs):
                    self._set_dtype(node.outputs[k], typed[0][1])

    def _visit_loop(self, loop: Loop) -> Iterator[MixedTypes]:
        for edge in loop.back_edges:
            if isinstance(edge.initial, Value):
                self._set_dtype(edge.param, self.dtype_of(edge.initial))
        for port in loop.sliced_inputs:
            self._set_dtype(port.inner, self.dtype_of(port.outer))
        yield from self.visit_graph(loop.body)
        for last in loop.last_values:
            self._set_dtype(last.outer, self.dtype_of(last.result))
        for scan in loop.scan_outputs:
            self._set_dtype(scan.outer, self.dtype_of(scan.result))

    def _visit_if(self, node: If) -> Iterator[MixedTypes]:
        yield from self.visit_graph(node.then_branch)
        yield from self.visit_graph(node.else_branch)
        for result, a, b in zip(node.outputs, node.then_branch.outputs, node.else_branch.outputs, strict=False):
            dtypes = self.dtype_of(a), self.dtype_of(b)
            if dtypes[0] is not None and dtypes[1] is not None and dtypes[0] != dtypes[1]:
                yield MixedTypes(node, ((a.name, dtypes[0].name), (b.name, dtypes[1].name)))
            self._set_dtype(result, dtypes[0])

    def _set_dtype(self, value: Value | None, dtype: np.dtype[Any] | None) -> None:
        if value is not None and dtype is not None:
            self._known.setdefault(value, dtype)


def _values_at(node: Operation, positions: Sequence[str]) -> list[Value]:
    values: list[Value | None] = []
    for position in positions:
        if position.endswith("+"):
            values += node.inputs[int(position[:-1]) :]
        else:
            values += node.inputs[int(position) : int(position) + 1]
    return [value for value in values if value is not None]
