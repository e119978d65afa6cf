"""Detection of named input dimensions whose size is fixed by a constant in the model.

Exporters write the example's length into a constant: the model declares [2,T,6] but runs for a single T only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..graph import Graph, Operation, System, TensorType, Value, walk
from ..graph.producers import ProducerMap
from ..record import record
from .constant_folding import ConstantFolder

#: ONNX operators that broadcast their inputs (from opset 7 on).
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
    """A node that requires certain sizes of named dimensions.

    ``declared_value``: the value declared with the dimensions; ``constant``: the value that contradicts them;
    ``shape``: its shape, or the requested one; ``dimensions``: the dimensions whose product must be ``size``.
    ``axis``: the axis of a single dimension; None: any, since the tensor is reshaped. ``broadcast``: a size of 1 is
    valid too.
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
        """True if the node cannot run for data of this shape."""
        declared = _declared_shape(self.declared_value)
        if declared is None or len(declared) != len(shape):
            return False
        if self.axis is not None:
            return shape[self.axis] not in (self.size, 1)
        sizes = dict(zip(declared, shape, strict=True))
        return math.prod(sizes[name] for name in self.dimensions) != self.size

    def __str__(self) -> str:
        verb = "has the shape" if self.node.op_type in _BROADCASTING else "is"
        constant = f"the constant '{self.constant.name}' {verb} [{','.join(map(str, self.shape))}]"
        sizes = f"{self.size}{' or 1' if self.broadcast else ''}"
        return (
            f"'{self.declared_value.name}' is declared as {self.declared_value.type} and {constant}:"
            f" {self.node.describe()} fits only {' * '.join(self.dimensions)} = {sizes}"
        )


def declared_dimensions(graph: Graph) -> frozenset[str]:
    """The named dimensions of a main graph's inputs, which allow any size."""
    types = [value.type for value in graph.inputs if isinstance(value.type, TensorType)]
    return frozenset(dim for tensor_type in types for dim in tensor_type.shape or () if isinstance(dim, str))


def fixed_sizes(graph: Graph) -> Iterator[FixedSize]:
    """The nodes of a main ONNX graph and its subgraphs that fix the size of a named input dimension."""
    names = declared_dimensions(graph)
    if names:
        constants = ConstantFolder(ProducerMap.for_graph(graph), graph.system)
        for node in walk(graph):
            if isinstance(node, Operation):
                yield from fixed_sizes_of_node(node, names, constants)


def fixed_sizes_of_node(node: Operation, names: frozenset[str], constants: ConstantFolder) -> Iterator[FixedSize]:
    """The sizes that a node fixes; ``names``: the declared dimensions."""
    if node.is_custom_operator:
        return
    if node.op_type in _BROADCASTING and node.version >= _FIRST_BROADCASTING_OPSET:
        yield from _fixed_by_broadcast(node, names, constants)
    elif node.op_type in ("Expand", "Reshape") and len(node.inputs) == 2:
        data, sizes = node.inputs
        shape = _declared_shape(data)
        if data is None or sizes is None or shape is None or names.isdisjoint(d for d in shape if isinstance(d, str)):
            return
        numbers = constants.value_of(sizes)
        if numbers is None or numbers.ndim != 1 or numbers.dtype != np.int64:
            return
        target = tuple(int(n) for n in numbers)
        if node.op_type == "Expand":
            yield from _fixed_by_alignment(node, data, sizes, target, names)
        else:
            yield from _fixed_by_reshape(node, data, sizes, target, names)


def violated_fixed_size(graph: Graph, node: Operation, shapes: Sequence[tuple[int, ...] | None]) -> FixedSize | None:
    """The fixed size that a node's inputs violate; None if there is none.

    ``shapes``: input shapes; None for an input without shape.
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


def _declared_shape(value: Value | None) -> tuple[int | str | None, ...] | None:
    return value.type.shape if value is not None and isinstance(value.type, TensorType) else None


def _fixed_by_broadcast(node: Operation, names: frozenset[str], constants: ConstantFolder) -> Iterator[FixedSize]:
    values = [value for value in node.inputs if value is not None]
    for constant in values:
        producer = constants.origins.get(constant)
        if constant.constant is None and (producer is None or producer.op_type != "Constant"):
            continue  # only constants of the file, not folded values
        numbers = constants.value_of(constant)
        if numbers is not None:
            for value in values:
                yield from _fixed_by_alignment(node, value, constant, numbers.shape, names)


def _fixed_by_alignment(
    node: Operation, data: Value, constant: Value, target: tuple[int, ...], names: frozenset[str]
) -> Iterator[FixedSize]:
    """Sizes fixed by broadcasting, which aligns the last axes."""
    shape = _declared_shape(data) or ()
    for k in range(1, min(len(shape), len(target)) + 1):
        dim, size = shape[-k], target[-k]
        if isinstance(dim, str) and dim in names and size > 1:
            yield FixedSize(node, data, constant, target, (dim,), size, len(shape) - k, broadcast=True)


def _fixed_by_reshape(
    node: Operation, data: Value, constant: Value, target: tuple[int, ...], names: frozenset[str]
) -> Iterator[FixedSize]:
    """Sizes fixed by the element count. -1 is inferred, and 0 copies the size of the same axis."""
    shape = list(_declared_shape(data) or ())
    if -1 in target:
        return
    copied: set[int] = set()
    if not node.attributes.get("allowzero"):
        copied = {k for k, size in enumerate(target) if size == 0}
        if any(k >= len(shape) for k in copied):
            return
    remaining = [dim for k, dim in enumerate(shape) if k not in copied]
    free = tuple(dim for dim in remaining if isinstance(dim, str))
    fixed = math.prod(dim for dim in remaining if isinstance(dim, int))
    size = math.prod(size for k, size in enumerate(target) if k not in copied)
    if not free or None in remaining or not names.issuperset(free) or not fixed or size % fixed:
        return
    yield FixedSize(node, data, constant, target, free, size // fixed, None, broadcast=False)
