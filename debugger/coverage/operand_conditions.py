"""Tests on the operands of one node: which way a clamp or a selection went, and whether an index was at an end.

A test is written over the primitives (``runtime/ops/eager.py``): the engine binds it to kernels, and NumPy evaluates it
where there are none. Comparisons with NaN are false, so that NaN goes neither way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ...runtime.graph import Array, Operation, System, Value
from ...runtime.graph.producers import ProducerMap
from ...runtime.ops.operator_helpers import cast, constant
from ...runtime.ops.primitive_types import NoNativeKernel, RoutineCall

P = Any  # EagerPrimitives or the like; T is an array or a buffer description
T = Any
_INT64 = np.dtype(np.int64)
#: Types and relations of the routine "any", by number (runtime/kernels/reduce/any.h).
_ANY_TYPES = tuple(map(np.dtype, (np.float32, np.float64, np.int32, np.int64, np.bool_)))
_ANY_RELATIONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
_SWAPPED: Mapping[np.ufunc, np.ufunc] = {
    np.less: np.greater,
    np.less_equal: np.greater_equal,
    np.greater: np.less,
    np.greater_equal: np.less_equal,
}


@dataclass(frozen=True)
class OperandTest:
    """A way that a node can go: ``function(p, *operands)`` gives one Boolean."""

    kind: str
    way: str
    operands: tuple[Value, ...]
    function: Callable[..., T]


def operand_tests(node: Operation, system: System, producers: ProducerMap) -> list[OperandTest]:
    """The tests of a node; none where what decides is constant, or the operator is not one of those looked at."""
    if node.is_custom_operator and node.domain != "tensorrt":
        return []
    make = _OPERATORS.get(node.op_type)
    return [] if make is None else list(make(_Operands(node, system, producers)))


@dataclass(frozen=True)
class _Operands:
    node: Operation
    system: System
    producers: ProducerMap

    def __getitem__(self, position: int) -> Value | None:
        return self.node.inputs[position] if position < len(self.node.inputs) else None

    def varies(self, *values: Value) -> bool:
        return not all(self._is_constant(value) for value in values)

    def _is_constant(self, value: Value) -> bool:
        if value.constant is not None:
            return True
        node = self.producers.get(value)
        return isinstance(node, Operation) and node.op_type in ("Constant", "Const")

    def integers(self, position: int) -> tuple[int, ...] | None:
        """The integers of a constant operand; None where they are not known."""
        value = self[position]
        if value is None:
            return None
        data: Any = self.producers.skip_identities(value).constant
        node = self.producers.get(value)
        if data is None and isinstance(node, Operation) and node.op_type == "Constant":
            data = next(iter(node.attributes.values()), None)
        array = np.asarray(data)
        return tuple(int(v) for v in array.reshape(-1)) if array.dtype.kind in "iu" else None

    def integer(self, name: str, position: int = -1, default: int = 0) -> int | None:
        """An integer attribute, or a constant operand where the operator has no attribute."""
        if position < 0:
            return int(self.node.attributes.get(name, default))
        numbers = self.integers(position)
        return numbers[0] if numbers else None


def _any_true(p: P, x: T) -> T:
    """Whether any element is true; of none: false."""
    if 0 in x.shape:
        return p.constant(np.array(False))
    count = math.prod(x.shape)
    if not isinstance(count, int):  # one that varies (symbolic_extents.py)
        return p.reduce(np.logical_or, x, range(len(x.shape)), False)
    return p.reshape(x, ()) if count == 1 else _emit_any_call(p, np.not_equal, count, x)


def _any_related(p: P, relation: np.ufunc, a: T, b: T) -> T:
    """Whether a relation holds for any pair of elements; broadcasting."""
    sizes = [math.prod(x.shape) for x in (a, b)]
    if not all(type(size) is int and size for size in sizes) or a.dtype != b.dtype or a.dtype not in _ANY_TYPES[:-1]:
        return _any_true(p, p.map(relation, a, b))
    if sizes[0] == 1 and len(a.shape) <= len(b.shape):
        relation, a, b, sizes = _SWAPPED.get(relation, relation), b, a, sizes[::-1]
    is_scalar = sizes[1] == 1 and len(b.shape) <= len(a.shape)
    if sizes[0] == 1 or not (is_scalar or a.shape == b.shape):
        return _any_true(p, p.map(relation, a, b))
    return _emit_any_call(p, relation, sizes[0], a, b, is_scalar)


def _emit_any_call(p: P, relation: np.ufunc, count: int, a: T, b: T | None = None, is_scalar: bool = False) -> T:
    operands = (a,) if b is None else (a, b)
    params = (_ANY_TYPES.index(a.dtype), _ANY_RELATIONS.index(relation), int(is_scalar), count)
    (result,) = p.call(RoutineCall("data_movement.any", [((), np.dtype(np.bool_))], params), operands)
    return result


def _logical_and(p: P, *tests: T) -> T:
    return reduce(lambda a, b: p.map(np.logical_and, a, b), tests)


def _logical_or(p: P, *tests: T) -> T:
    return reduce(lambda a, b: p.map(np.logical_or, a, b), tests)


# --- Clamps


def _clip_tests(operands: _Operands) -> Iterator[OperandTest]:
    x = operands[0]
    assert x is not None
    bounds = [(k + 1, name) for k, name in enumerate(("min", "max"))]
    limits: list[Value | float | None] = [
        operands[position] if position < len(operands.node.inputs) else operands.node.attributes.get(name)
        for position, name in bounds
    ]
    limit_values = tuple(limit for limit in limits if isinstance(limit, Value))
    if not operands.varies(x, *limit_values) or limits == [None, None]:
        return

    def limit(p: P, k: int, x: T, read: Sequence[T]) -> T | None:
        value = limits[k]
        if isinstance(value, Value):
            return read[limit_values.index(value)]
        return None if value is None else constant(p, np.asarray(value, x.dtype)[()], x.dtype)

    def below(p: P, x: T, *read: T) -> T:
        return _any_related(p, np.less, x, limit(p, 0, x, read))

    def above(p: P, x: T, *read: T) -> T:
        return _any_related(p, np.greater, x, limit(p, 1, x, read))

    def inside(p: P, x: T, *read: T) -> T:
        ends = [(np.greater_equal, limit(p, 0, x, read)), (np.less_equal, limit(p, 1, x, read))]
        return _any_true(p, _logical_and(p, *(p.map(compare, x, end) for compare, end in ends if end is not None)))

    ways = (("below", below), ("inside", inside), ("above", above))
    for way, function in ways:
        if not ((way == "below" and limits[0] is None) or (way == "above" and limits[1] is None)):
            yield OperandTest("clamp", way, (x, *limit_values), function)


def _extreme_tests(compare: np.ufunc) -> Callable[[_Operands], Iterator[OperandTest]]:
    """Min and Max: each operand alone is the extreme of some element."""

    def tests(operands: _Operands) -> Iterator[OperandTest]:
        values = tuple(value for value in operands.node.inputs if value is not None)
        if len(values) < 2 or not operands.varies(*values):
            return
        for k, value in enumerate(values):

            def function(p: P, *read: T, k: int = k) -> T:
                others = [x for j, x in enumerate(read) if j != k]
                if len(others) == 1:
                    return _any_related(p, compare, read[k], others[0])
                return _any_true(p, _logical_and(p, *(p.map(compare, read[k], x) for x in others)))

            way = value.name if [v.name for v in values].count(value.name) == 1 and value.name else f"input {k}"
            yield OperandTest("clamp", way, values, function)

    return tests


def _where_tests(operands: _Operands) -> Iterator[OperandTest]:
    condition = operands[0]
    assert condition is not None
    if operands.varies(condition):
        yield OperandTest("select", "true", (condition,), _any_true)
        yield OperandTest("select", "false", (condition,), lambda p, x: _any_true(p, p.map(np.logical_not, x)))


# --- Indices


def _index_tests(
    data: Value, indices: Value, sizes: Callable[[Sequence[int], int], Sequence[int]], negative: bool = True
) -> Iterator[OperandTest]:
    """Whether an index is that of the first or last element. ``sizes``: of the indexed axes, by the shape of the data
    and the size of the last axis of the indices; one, or one for each number along that axis."""

    def at_end(end: int) -> Callable[..., T]:
        def function(p: P, x: T, indices: T) -> T:
            extents = sizes(x.shape, indices.shape[-1] if indices.shape else 1)
            numbers = cast(p, indices, _INT64)
            shape = (len(extents),) if len(extents) > 1 else ()
            ends = [[0 if end == 0 else size - 1 for size in extents]]
            if negative:
                ends.append([-size if end == 0 else -1 for size in extents])
            return _any_true(p, _logical_or(p, *(p.map(np.equal, numbers, p.numbers(k, shape, _INT64)) for k in ends)))

        return function

    yield OperandTest("index", "first", (data, indices), at_end(0))
    yield OperandTest("index", "last", (data, indices), at_end(-1))


def _element_index_tests(
    data: int = 0, indices: int = 1, axis_operand: int = -1
) -> Callable[[_Operands], Iterator[OperandTest]]:
    """Operators with one index along an axis: Gather, GatherElements, ScatterElements and the like."""

    def tests(operands: _Operands) -> Iterator[OperandTest]:
        is_openvino = operands.system is System.OPENVINO
        axis = operands.integer("axis", axis_operand if is_openvino else -1)
        x, ix = operands[data], operands[indices]
        if x is None or ix is None or axis is None or not operands.varies(ix):
            return
        along = axis
        negative = not (is_openvino and operands.node.op_type == "Gather" and operands.node.version < 8)
        yield from _index_tests(x, ix, lambda shape, _: (shape[along],), negative)

    return tests


def _index_tuple_tests(batch: str) -> Callable[[_Operands], Iterator[OperandTest]]:
    """Operators with one index for each of the leading axes: GatherND, ScatterND."""

    def tests(operands: _Operands) -> Iterator[OperandTest]:
        x, ix = operands[0], operands[1]
        if x is None or ix is None or not operands.varies(ix):
            return
        attributes = operands.node.attributes
        skipped = int(attributes.get(batch, attributes.get("batched", 0)))
        yield from _index_tests(x, ix, lambda shape, count: tuple(shape[skipped : skipped + count]))

    return tests


def _slice_tests(operands: _Operands) -> Iterator[OperandTest]:
    """A slice with bounds that vary: whether it begins with the first element, or ends with the last."""
    is_openvino = operands.system is System.OPENVINO
    axes_at, steps_at = (4, 3) if is_openvino else (3, 4)
    x, starts, ends = (operands[k] for k in range(3))
    if x is None or starts is None or ends is None or not operands.varies(starts, ends):
        return
    axes = operands.integers(axes_at)
    steps = operands.integers(steps_at)
    if (operands[axes_at] is not None and axes is None) or (operands[steps_at] is not None and steps is None):
        return

    def extents(p: P, x: T, starts: T) -> tuple[T, T, list[int]]:
        count = starts.shape[0] if starts.shape else 1
        chosen = range(count) if axes is None else axes
        sizes = [x.shape[axis] for axis in chosen]
        return p.numbers(sizes, (count,), _INT64), count, list(steps or (1,) * count)

    def make_reach_test(first: bool) -> Callable[..., T]:
        def function(p: P, x: T, starts: T, ends: T) -> T:
            sizes, count, increments = extents(p, x, starts)
            forward = p.constant(np.array([step > 0 for step in increments]))
            backward = p.map(np.logical_not, forward)
            begin, end = (p.reshape(cast(p, bound, _INT64), (count,)) for bound in (starts, ends))
            # Numbers from the first element on, not clamped.
            begin, end = (
                p.where(p.map(np.less, bound, constant(p, 0, _INT64)), p.map(np.add, bound, sizes), bound)
                for bound in (begin, end)
            )
            zero = constant(p, 0, _INT64)
            if first:
                return _any_true(
                    p,
                    _logical_or(
                        p,
                        _logical_and(p, forward, p.map(np.less_equal, begin, zero), p.map(np.greater, end, zero)),
                        _logical_and(p, backward, p.map(np.less, end, zero), p.map(np.greater_equal, begin, zero)),
                    ),
                )
            last = p.map(np.subtract, sizes, constant(p, 1, _INT64))
            return _any_true(
                p,
                _logical_or(
                    p,
                    _logical_and(p, forward, p.map(np.greater_equal, end, sizes), p.map(np.less_equal, begin, last)),
                    _logical_and(p, backward, p.map(np.greater_equal, begin, last), p.map(np.less, end, last)),
                ),
            )

        return function

    yield OperandTest("index", "first", (x, starts, ends), make_reach_test(first=True))
    yield OperandTest("index", "last", (x, starts, ends), make_reach_test(first=False))


_OPERATORS: Mapping[str, Callable[[_Operands], Iterator[OperandTest]]] = {
    "Clip": _clip_tests,
    "Clamp": _clip_tests,
    "Max": _extreme_tests(np.greater),
    "Maximum": _extreme_tests(np.greater),
    "Min": _extreme_tests(np.less),
    "Minimum": _extreme_tests(np.less),
    "Where": _where_tests,
    "Select": _where_tests,
    "Gather": _element_index_tests(axis_operand=2),
    "GatherElements": _element_index_tests(),
    "GatherND": _index_tuple_tests("batch_dims"),
    "Slice": _slice_tests,
    "ScatterElements": _element_index_tests(),
    "ScatterElementsUpdate": _element_index_tests(axis_operand=3),
    "ScatterUpdate": _element_index_tests(axis_operand=3),
    "ScatterND": _index_tuple_tests(""),
    "ScatterNDUpdate": _index_tuple_tests(""),
}


def false_on_type_error(function: Callable[..., T]) -> Callable[..., T]:
    """A test that is false where its operands have a type that cannot be compared."""

    def test(p: P, *operands: T) -> T:
        try:
            with np.errstate(all="ignore"):
                return function(p, *operands)
        except NoNativeKernel:
            raise
        except Exception:
            if p.emits:
                raise NoNativeKernel from None
            return np.array(False)

    return test


def as_boolean(answer: Array) -> bool:
    """The result of a test that NumPy evaluated."""
    return bool(np.asarray(answer).reshape(-1)[0])
