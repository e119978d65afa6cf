"""Padded outputs: TensorRT pads what a loop collects to a fixed length.

The padding is at the end of one axis. Nodes after the loop may transpose, merge axes or compute element by element: the
padding is known as long as the first elements along some axis depend on collected elements only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ....runtime.graph import Dim, Graph, Loop, Operation, TensorType, Value
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.slicing import normalize_axis
from ...describe.node_text import OPERATOR_SIGNS

_FUNCTIONS = """
Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid Identity IsInf IsNaN
LeakyRelu Log Max Min Mod Neg Not PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan
Tanh ThresholdedRelu Where
"""
_ELEMENTWISE = frozenset(_FUNCTIONS.split()) | frozenset(OPERATOR_SIGNS) - {"MatMul"}
_AXIS_OPERATORS = frozenset({"Softmax", "LogSoftmax", "CumSum", "TopK", "Gather", "Concat", "Slice"})


@dataclass(frozen=True)
class PaddedAxis:
    """The axis with padding at its end, and the shape of the tensor as far as the model tells."""

    axis: int
    shape: tuple[Dim, ...]


def padded_axes(graph: Graph) -> dict[str, int]:
    """The padded outputs of a model by name, with the padded axis."""
    propagation = _PaddingPropagation(graph)
    names = graph.output_names or [value.name for value in graph.outputs]
    axes = ((name, propagation.padded_axes.get(value)) for name, value in zip(names, graph.outputs, strict=True))
    return {name: padding.axis for name, padding in axes if padding is not None}


class _PaddingPropagation:
    def __init__(self, graph: Graph) -> None:
        self.origins = ProducerMap.for_graph(graph)
        self.padded_axes: dict[Value, PaddedAxis] = {}
        for node in graph.nodes:
            if isinstance(node, Loop):
                self.padded_axes.update(_padded_scan_outputs(node))
            elif isinstance(node, Operation) and any(value in self.padded_axes for value in node.inputs):
                padding = self._propagate(node)
                if padding is not None:
                    self.padded_axes.update((value, padding) for value in node.outputs if value is not None)

    def _propagate(self, node: Operation) -> PaddedAxis | None:
        """The padded axis after a node; None if its results depend on the padding."""
        padded = [
            (k, value, self.padded_axes[value]) for k, value in enumerate(node.inputs) if value in self.padded_axes
        ]
        shape = _declared_shape(node.outputs[0])
        if node.op_type in _ELEMENTWISE or node.op_type == "MatMul":
            return self._propagate_broadcast(node, [(k, padding) for k, _, padding in padded], shape)
        index, _, padding = padded[0]
        if node.op_type == "Concat":
            axes = {p.axis for _, _, p in padded}
            return padding if len(axes) == 1 and self._axis(node, len(padding.shape)) not in axes else None
        if len(padded) > 1 or index:
            return None
        if node.op_type == "Transpose":
            perm = node.attributes.get("perm") or range(len(padding.shape))[::-1]
            return PaddedAxis(list(perm).index(padding.axis), tuple(padding.shape[d] for d in perm))
        if node.op_type in ("Reshape", "Squeeze", "Unsqueeze"):
            return _propagate_reshape(padding, shape or self._requested_shape(node, padding))
        if node.op_type in _AXIS_OPERATORS or node.op_type.startswith("Reduce"):
            return self._propagate_other_axes(node, padding, shape)
        return None

    def _propagate_broadcast(
        self, node: Operation, padded: Sequence[tuple[int, PaddedAxis]], shape: Sequence[Dim] | None
    ) -> PaddedAxis | None:
        """Propagate through broadcasting, axes counted from the last one; summed axes of a product are lost."""
        axes = {padding.axis - len(padding.shape) for _, padding in padded}
        rank = max(len(padding.shape) for _, padding in padded)
        summed = {0: -1, 1: -2}
        if len(axes) > 1 or (
            node.op_type == "MatMul" and any(padding.axis - len(padding.shape) == summed[k] for k, padding in padded)
        ):
            return None
        sizes = tuple(shape) if shape is not None else (None,) * rank
        return PaddedAxis(len(sizes) + axes.pop(), sizes)

    def _propagate_other_axes(
        self, node: Operation, padding: PaddedAxis, shape: Sequence[Dim] | None
    ) -> PaddedAxis | None:
        """Propagate through nodes that work along other axes."""
        rank = len(padding.shape)
        axes = self._axes(node, rank)
        if axes is None or padding.axis in axes:
            return None
        axis = padding.axis
        if node.op_type.startswith("Reduce") and not node.attributes.get("keepdims", 1):
            axis -= sum(other < axis for other in axes)
            rank -= len(axes)
        elif node.op_type == "Gather":
            indices = _declared_shape(node.inputs[1])
            if indices is None or node.attributes.get("batched"):
                return None
            axis += (len(indices) - 1) * sum(other < axis for other in axes)
            rank += len(indices) - 1
        return PaddedAxis(axis, (None,) * rank if shape is None else tuple(shape))

    def _axis(self, node: Operation, rank: int) -> int:
        return normalize_axis(int(node.attributes.get("axis", 0)), rank)

    def _axes(self, node: Operation, rank: int) -> set[int] | None:
        axes: Any = node.attributes.get("axes", node.attributes.get("axis"))
        if axes is None:
            index = {"CumSum": 1, "Slice": 3}.get(node.op_type, 1 if node.op_type.startswith("Reduce") else None)
            value = node.inputs[index] if index is not None and index < len(node.inputs) else None
            data = None if value is None else self.origins.skip_identities(value).constant
            axes = None if data is None else data.reshape(-1).tolist()
        if axes is None:
            return {rank - 1} if node.op_type in ("Softmax", "LogSoftmax") else None
        return {normalize_axis(int(axis), rank) for axis in (axes if isinstance(axes, list | tuple) else [axes])}

    def _requested_shape(self, node: Operation, padding: PaddedAxis) -> Sequence[Dim] | None:
        """The shape requested by a Reshape between two others of a layer."""
        value = node.inputs[1] if node.op_type == "Reshape" else None
        data = None if value is None else self.origins.skip_identities(value).constant
        if data is None:
            return None
        sizes: list[Dim] = [int(size) for size in data.reshape(-1)]
        if not node.attributes.get("allowzero"):
            sizes = [padding.shape[k] if n == 0 and k < len(padding.shape) else n for k, n in enumerate(sizes)]
        known_sizes = [size for size in (*sizes, *padding.shape) if isinstance(size, int)]
        if len(known_sizes) == len(sizes) + len(padding.shape) and sizes.count(-1) == 1:
            rest = prod(size for size in known_sizes[: len(sizes)] if size != -1)
            sizes[sizes.index(-1)] = prod(known_sizes[len(sizes) :]) // rest if rest else 0
        return [None if size == -1 else size for size in sizes]


def _padded_scan_outputs(loop: Loop) -> Iterator[tuple[Value, PaddedAxis]]:
    for scan in loop.scan_outputs:
        shape = _declared_shape(scan.outer)
        if scan.length is not None and shape is not None:
            yield scan.outer, PaddedAxis(normalize_axis(scan.axis, len(shape)), tuple(shape))


def _declared_shape(value: Value | None) -> tuple[Dim, ...] | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def _propagate_reshape(padding: PaddedAxis, shape: Sequence[Dim] | None) -> PaddedAxis | None:
    """The padded axis after a Reshape: the axes before it are unchanged, others may be merged into it."""
    if shape is None:
        return None
    count, length = _element_count(padding.shape[: padding.axis]), padding.shape[padding.axis]
    if count is None:
        return None
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if _element_count(shape[:axis]) != count:
            continue
        if isinstance(size, int) and isinstance(length, int):
            fits = bool(length) and size % length == 0
        else:
            fits = size == length or axis == padding.axis == 0
        if fits:
            return PaddedAxis(axis, tuple(shape))
    return None


def _element_count(sizes: Sequence[Dim]) -> int | None:
    """The number of elements; None if a size is unknown."""
    known_sizes = [size for size in sizes if isinstance(size, int)]
    return prod(known_sizes) if len(known_sizes) == len(sizes) else None
