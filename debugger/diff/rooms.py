"""Outputs with more capacity than was collected: TensorRT pads what a loop collects to a length.

The padding stands at the end of one axis. Nodes behind the loop may turn it, join axes, or compute with it element by
element: as long as the first elements along some axis are made of what was collected alone, the two can be told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ...runtime.graph import Dim, Graph, Loop, Operation, TensorType, Value
from ...runtime.graph.origins import Origins
from ...runtime.graph.slices import from_start
from ..words.node_text import SIGNS

_FUNCTIONS = """
Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Clip Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid Identity IsInf IsNaN
LeakyRelu Log Max Min Mod Neg Not PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan
Tanh ThresholdedRelu Where
"""
_ELEMENTWISE = frozenset(_FUNCTIONS.split()) | frozenset(SIGNS) - {"MatMul"}
_ALONG = frozenset({"Softmax", "LogSoftmax", "CumSum", "TopK", "Gather", "Concat", "Slice"})


@dataclass(frozen=True)
class Room:
    """The axis at whose end the padding stands, and the tensor's shape as far as the model tells."""

    axis: int
    shape: tuple[Dim, ...]


def rooms(graph: Graph) -> dict[str, int]:
    """The outputs of a model that have such padding, by name, and its axis."""
    followed = _Followed(graph)
    names = graph.output_names or [value.name for value in graph.outputs]
    found = ((name, followed.rooms.get(value)) for name, value in zip(names, graph.outputs, strict=True))
    return {name: room.axis for name, room in found if room is not None}


class _Followed:
    def __init__(self, graph: Graph) -> None:
        self.origins = Origins.of(graph)
        self.rooms: dict[Value, Room] = {}
        for node in graph.nodes:
            if isinstance(node, Loop):
                self.rooms.update(_collected(node))
            elif isinstance(node, Operation) and any(value in self.rooms for value in node.inputs):
                room = self._behind(node)
                if room is not None:
                    self.rooms.update((value, room) for value in node.outputs if value is not None)

    def _behind(self, node: Operation) -> Room | None:
        """The padded axis behind a node; None if its results are made of the padding too."""
        given = [(k, value, self.rooms[value]) for k, value in enumerate(node.inputs) if value in self.rooms]
        shape = _declared(node.outputs[0])
        if node.op_type in _ELEMENTWISE or node.op_type == "MatMul":
            return self._aligned(node, [(k, room) for k, _, room in given], shape)
        at, _, room = given[0]
        if node.op_type == "Concat":
            known = {one.axis for _, _, one in given}
            return room if len(known) == 1 and self._axis(node, len(room.shape)) not in known else None
        if len(given) > 1 or at:
            return None
        if node.op_type == "Transpose":
            perm = node.attributes.get("perm") or range(len(room.shape))[::-1]
            return Room(list(perm).index(room.axis), tuple(room.shape[d] for d in perm))
        if node.op_type in ("Reshape", "Squeeze", "Unsqueeze"):
            return _reshaped(room, shape or self._shape_given(node, room))
        if node.op_type in _ALONG or node.op_type.startswith("Reduce"):
            return self._along(node, room, shape)
        return None

    def _aligned(self, node: Operation, given: Sequence[tuple[int, Room]], shape: Sequence[Dim] | None) -> Room | None:
        """Of axes that are counted from the last one; those that a product sums over are lost."""
        behind = {room.axis - len(room.shape) for _, room in given}
        rank = max(len(room.shape) for _, room in given)
        summed = {0: -1, 1: -2}
        if len(behind) > 1 or (
            node.op_type == "MatMul" and any(room.axis - len(room.shape) == summed[k] for k, room in given)
        ):
            return None
        sizes = tuple(shape) if shape is not None else (None,) * rank
        return Room(len(sizes) + behind.pop(), sizes)

    def _along(self, node: Operation, room: Room, shape: Sequence[Dim] | None) -> Room | None:
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
            indices = _declared(node.inputs[1])
            if indices is None or node.attributes.get("batched"):
                return None
            axis += (len(indices) - 1) * sum(other < axis for other in axes)
            rank += len(indices) - 1
        return Room(axis, (None,) * rank if shape is None else tuple(shape))

    def _axis(self, node: Operation, rank: int) -> int:
        return from_start(int(node.attributes.get("axis", 0)), rank)

    def _axes(self, node: Operation, rank: int) -> set[int] | None:
        told: Any = node.attributes.get("axes", node.attributes.get("axis"))
        if told is None:
            where = {"CumSum": 1, "Slice": 3}.get(node.op_type, 1 if node.op_type.startswith("Reduce") else None)
            value = node.inputs[where] if where is not None and where < len(node.inputs) else None
            data = None if value is None else self.origins.origin(value).constant
            told = None if data is None else data.reshape(-1).tolist()
        if told is None:
            return {rank - 1} if node.op_type in ("Softmax", "LogSoftmax") else None
        return {from_start(int(axis), rank) for axis in (told if isinstance(told, list | tuple) else [told])}

    def _shape_given(self, node: Operation, room: Room) -> Sequence[Dim] | None:
        """The shape that a Reshape between two others of a layer asks for."""
        value = node.inputs[1] if node.op_type == "Reshape" else None
        data = None if value is None else self.origins.origin(value).constant
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


def _collected(loop: Loop) -> Iterator[tuple[Value, Room]]:
    for scan in loop.scan_outputs:
        shape = _declared(scan.outer)
        if scan.length is not None and shape is not None:
            yield scan.outer, Room(from_start(scan.axis, len(shape)), tuple(shape))


def _declared(value: Value | None) -> tuple[Dim, ...] | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def _reshaped(room: Room, shape: Sequence[Dim] | None) -> Room | None:
    """The padded axis after a Reshape: the axes in front of it are the same, whatever is joined to it from behind."""
    if shape is None:
        return None
    before, length = _whole(room.shape[: room.axis]), room.shape[room.axis]
    if before is None:
        return None
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if _whole(shape[:axis]) != before:
            continue
        if isinstance(size, int) and isinstance(length, int):
            fits = bool(length) and size % length == 0
        else:
            fits = size == length or axis == room.axis == 0
        if fits:
            return Room(axis, tuple(shape))
    return None


def _whole(sizes: Sequence[Dim]) -> int | None:
    """How many elements there are; None where a size is not known."""
    known = [size for size in sizes if isinstance(size, int)]
    return prod(known) if len(known) == len(sizes) else None
