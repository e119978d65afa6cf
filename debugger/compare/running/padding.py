"""Outputs with more capacity than was collected: TensorRT pads what a loop collects to a length.

The padding stands at the end of one axis. Nodes behind the loop may turn it, join axes, or compute with it element by
element: as long as the first elements along some axis are made of what was collected alone, the two can be told apart.
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
    """The axis at whose end the padding stands, and the tensor's shape as far as the model tells."""

    axis: int
    shape: tuple[Dim, ...]


def padded_axes(graph: Graph) -> dict[str, int]:
    """The outputs of a model that have such padding, by name, and its axis."""
    followed = _PaddingPropagation(graph)
    names = graph.output_names or [value.name for value in graph.outputs]
    found = ((name, followed.padded_axes.get(value)) for name, value in zip(names, graph.outputs, strict=True))
    return {name: room.axis for name, room in found if room is not None}


class _PaddingPropagation:
    def __init__(self, graph: Graph) -> None:
        self.origins = ProducerMap.for_graph(graph)
        self.padded_axes: dict[Value, PaddedAxis] = {}
        for node in graph.nodes:
            if isinstance(node, Loop):
                self.padded_axes.update(_padded_scan_outputs(node))
            elif isinstance(node, Operation) and any(value in self.padded_axes for value in node.inputs):
                room = self._propagate(node)
                if room is not None:
                    self.padded_axes.update((value, room) for value in node.outputs if value is not None)

    def _propagate(self, node: Operation) -> PaddedAxis | None:
        """The padded axis behind a node; None if its results are made of the padding too."""
        given = [
            (k, value, self.padded_axes[value]) for k, value in enumerate(node.inputs) if value in self.padded_axes
        ]
        shape = _declared_shape(node.outputs[0])
        if node.op_type in _ELEMENTWISE or node.op_type == "MatMul":
            return self._propagate_broadcast(node, [(k, room) for k, _, room in given], shape)
        at, _, room = given[0]
        if node.op_type == "Concat":
            known = {one.axis for _, _, one in given}
            return room if len(known) == 1 and self._axis(node, len(room.shape)) not in known else None
        if len(given) > 1 or at:
            return None
        if node.op_type == "Transpose":
            perm = node.attributes.get("perm") or range(len(room.shape))[::-1]
            return PaddedAxis(list(perm).index(room.axis), tuple(room.shape[d] for d in perm))
        if node.op_type in ("Reshape", "Squeeze", "Unsqueeze"):
            return _propagate_reshape(room, shape or self._requested_shape(node, room))
        if node.op_type in _AXIS_OPERATORS or node.op_type.startswith("Reduce"):
            return self._propagate_other_axes(node, room, shape)
        return None

    def _propagate_broadcast(
        self, node: Operation, given: Sequence[tuple[int, PaddedAxis]], shape: Sequence[Dim] | None
    ) -> PaddedAxis | None:
        """Of axes that are counted from the last one; those that a product sums over are lost."""
        behind = {room.axis - len(room.shape) for _, room in given}
        rank = max(len(room.shape) for _, room in given)
        summed = {0: -1, 1: -2}
        if len(behind) > 1 or (
            node.op_type == "MatMul" and any(room.axis - len(room.shape) == summed[k] for k, room in given)
        ):
            return None
        sizes = tuple(shape) if shape is not None else (None,) * rank
        return PaddedAxis(len(sizes) + behind.pop(), sizes)

    def _propagate_other_axes(
        self, node: Operation, room: PaddedAxis, shape: Sequence[Dim] | None
    ) -> PaddedAxis | None:
        """Of nodes that work along other axes."""
        rank = len(room.shape)
        axes = self._axes(node, rank)
        if axes is None or room.axis in axes:
            return None
        axis = room.axis
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
        told: Any = node.attributes.get("axes", node.attributes.get("axis"))
        if told is None:
            where = {"CumSum": 1, "Slice": 3}.get(node.op_type, 1 if node.op_type.startswith("Reduce") else None)
            value = node.inputs[where] if where is not None and where < len(node.inputs) else None
            data = None if value is None else self.origins.skip_identities(value).constant
            told = None if data is None else data.reshape(-1).tolist()
        if told is None:
            return {rank - 1} if node.op_type in ("Softmax", "LogSoftmax") else None
        return {normalize_axis(int(axis), rank) for axis in (told if isinstance(told, list | tuple) else [told])}

    def _requested_shape(self, node: Operation, room: PaddedAxis) -> Sequence[Dim] | None:
        """The shape that a Reshape between two others of a layer asks for."""
        value = node.inputs[1] if node.op_type == "Reshape" else None
        data = None if value is None else self.origins.skip_identities(value).constant
        if data is None:
            return None
        sizes: list[Dim] = [int(size) for size in data.reshape(-1)]
        if not node.attributes.get("allowzero"):
            sizes = [room.shape[k] if n == 0 and k < len(room.shape) else n for k, n in enumerate(sizes)]
        whole = [size for size in (*sizes, *room.shape) if isinstance(size, int)]
        if len(whole) == len(sizes) + len(room.shape) and sizes.count(-1) == 1:
            rest = prod(size for size in whole[: len(sizes)] if size != -1)
            sizes[sizes.index(-1)] = prod(whole[len(sizes) :]) // rest if rest else 0
        return [None if size == -1 else size for size in sizes]


def _padded_scan_outputs(loop: Loop) -> Iterator[tuple[Value, PaddedAxis]]:
    for scan in loop.scan_outputs:
        shape = _declared_shape(scan.outer)
        if scan.length is not None and shape is not None:
            yield scan.outer, PaddedAxis(normalize_axis(scan.axis, len(shape)), tuple(shape))


def _declared_shape(value: Value | None) -> tuple[Dim, ...] | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def _propagate_reshape(room: PaddedAxis, shape: Sequence[Dim] | None) -> PaddedAxis | None:
    """The padded axis after a Reshape: the axes in front of it are the same, whatever is joined to it from behind."""
    if shape is None:
        return None
    before, length = _element_count(room.shape[: room.axis]), room.shape[room.axis]
    if before is None:
        return None
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if _element_count(shape[:axis]) != before:
            continue
        if isinstance(size, int) and isinstance(length, int):
            fits = bool(length) and size % length == 0
        else:
            fits = size == length or axis == room.axis == 0
        if fits:
            return PaddedAxis(axis, tuple(shape))
    return None


def _element_count(sizes: Sequence[Dim]) -> int | None:
    """How many elements there are; None where a size is not known."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else None
