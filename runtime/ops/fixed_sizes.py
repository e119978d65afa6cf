"""Sizes that a constant of the file fixes, though the model declares them as named dimensions of its inputs.

Exporters write the length of the example into a constant: the model declares [2,T,6], and runs for one T only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..graph import Graph, Operation, System, TensorType, Value, walk
from ..graph.producers import ProducerMap
from ..record import record
from .constant_folding import ConstantFolder

#: Operators of ONNX that broadcast their inputs (from opset 7 on).
_BROADCASTING = frozenset(
    (
        *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Min", "Max", "Sum", "Mean", "PRelu", "Where"),
        *("And", "Or", "Xor", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    )
)
_FIRST_BROADCASTING_OPSET = 7


@record(frozen=True)
class FixedSize:
    """One node that runs for certain sizes of named dimensions only.

    ``data``: the value that is declared with the dimensions; ``constant``: what contradicts them; ``shape``: the shape
    that it has, or asks for; ``dimensions``: whose product has to be ``size``. ``axis``: of ``data``, where the
    dimension is one; None: any axis, since the tensor is reshaped. ``broadcast``: a size of 1 fits too.
    """

    node: Operation
    declared_value: Value
    constant: Value
    shape: tuple[int, ...]
    dimensions: tuple[str, ...]
    size: int
    axis: int | None
    broadcast: bool

    def excludes(self, shape: tuple[int, ...]) -> bool:
        """Whether the node cannot run for data of this shape."""
        declared = _constant_shape(self.declared_value)
        if declared is None or len(declared) != len(shape):
            return False
        if self.axis is not None:
            return shape[self.axis] not in (self.size, 1)
        sizes = dict(zip(declared, shape, strict=True))
        return math.prod(sizes[name] for name in self.dimensions) != self.size

    def __str__(self) -> str:
        verb = "has the shape" if self.node.op_type in _BROADCASTING else "is"
        what = f"the constant '{self.constant.name}' {verb} [{','.join(map(str, self.shape))}]"
        sizes = f"{self.size}{' or 1' if self.broadcast else ''}"
        return (
            f"'{self.declared_value.name}' is declared as {self.declared_value.type} and {what}:"
            f" {self.node.describe()} fits only {' * '.join(self.dimensions)} = {sizes}"
        )


def declared_dimensions(graph: Graph) -> frozenset[str]:
    """The names of dimensions that the inputs of a main graph declare: any size is allowed there."""
    kinds = [value.type for value in graph.inputs if isinstance(value.type, TensorType)]
    return frozenset(dim for kind in kinds for dim in kind.shape or () if isinstance(dim, str))


def fixed_sizes(graph: Graph) -> Iterator[FixedSize]:
    """The nodes of a main ONNX graph, and of the graphs inside it, that fix sizes which its inputs declare as free."""
    names = declared_dimensions(graph)
    if names:
        constants = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
        for node in walk(graph):
            if isinstance(node, Operation):
                yield from fixed_sizes_of_node(node, names, constants)


def fixed_sizes_of_node(node: Operation, names: frozenset[str], constants: ConstantFolder) -> Iterator[FixedSize]:
    """The sizes that one node fixes; ``names``: the dimensions that may have any size."""
    if node.is_custom_operator:
        return
    if node.op_type in _BROADCASTING and node.version >= _FIRST_BROADCASTING_OPSET:
        yield from _fixed_by_broadcast(node, names, constants)
    elif node.op_type in ("Expand", "Reshape") and len(node.inputs) == 2:
        data, wanted = node.inputs
        shape = _constant_shape(data)
        if data is None or wanted is None or shape is None or names.isdisjoint(d for d in shape if isinstance(d, str)):
            return
        numbers = constants.value_of(wanted)
        if numbers is None or numbers.ndim != 1 or numbers.dtype != np.int64:
            return
        target = tuple(int(n) for n in numbers)
        if node.op_type == "Expand":
            yield from _fixed_by_alignment(node, data, wanted, target, names)
        else:
            yield from _fixed_by_reshape(node, data, wanted, target, names)


def violated_fixed_size(graph: Graph, node: Operation, shapes: Sequence[tuple[int, ...] | None]) -> FixedSize | None:
    """The size that a node fixes and its inputs do not have; None where there is none.

    ``shapes``: of the inputs; None where one has no shape.
    """
    names = declared_dimensions(graph) if graph.system is System.ONNX else None
    if not names:
        return None
    constants = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
    for fixed in fixed_sizes_of_node(node, names, constants):
        shape = shapes[node.inputs.index(fixed.declared_value)] if len(shapes) == len(node.inputs) else None
        if shape is not None and fixed.excludes(shape):
            return fixed
    return None


def _constant_shape(value: Value | None) -> tuple[int | str | None, ...] | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def _fixed_by_broadcast(node: Operation, names: frozenset[str], constants: ConstantFolder) -> Iterator[FixedSize]:
    values = [value for value in node.inputs if value is not None]
    for constant in values:
        maker = constants.origins.producer(constant)
        if constant.constant is None and (maker is None or maker.op_type != "Constant"):
            continue  # only what the file itself holds, not what is computed of it
        numbers = constants.value_of(constant)
        if numbers is not None:
            for value in values:
                yield from _fixed_by_alignment(node, value, constant, numbers.shape, names)


def _fixed_by_alignment(
    node: Operation, data: Value, constant: Value, target: tuple[int, ...], names: frozenset[str]
) -> Iterator[FixedSize]:
    """Sizes that broadcasting fixes: axes are aligned at the end."""
    shape = _constant_shape(data) or ()
    for k in range(1, min(len(shape), len(target)) + 1):
        dim, size = shape[-k], target[-k]
        if isinstance(dim, str) and dim in names and size > 1:
            yield FixedSize(node, data, constant, target, (dim,), size, len(shape) - k, broadcast=True)


def _fixed_by_reshape(
    node: Operation, data: Value, constant: Value, target: tuple[int, ...], names: frozenset[str]
) -> Iterator[FixedSize]:
    """Sizes that the number of elements fixes. -1 takes any number, and 0 copies the size of the same axis."""
    shape = list(_constant_shape(data) or ())
    if -1 in target:
        return
    copied: set[int] = set()
    if not node.attributes.get("allowzero"):
        copied = {k for k, size in enumerate(target) if size == 0}
        if any(k >= len(shape) for k in copied):
            return
    rest = [dim for k, dim in enumerate(shape) if k not in copied]
    free = tuple(dim for dim in rest if isinstance(dim, str))
    known = math.prod(dim for dim in rest if isinstance(dim, int))
    size = math.prod(size for k, size in enumerate(target) if k not in copied)
    if not free or None in rest or not names.issuperset(free) or not known or size % known:
        return
    yield FixedSize(node, data, constant, target, free, size // known, None, broadcast=False)
