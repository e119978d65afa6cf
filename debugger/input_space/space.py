"""The inputs that fit a model's signature: draws, edge cases and mutations.

A named dimension has one size in all inputs; so has an unknown one within its input. Everything derives from a NumPy
generator, so that the same seed draws the same inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.errors import InputError, UsageError
from ...runtime.graph import Array, Graph, OptionalType, SequenceType, TensorType, ValueType, loops
from ...runtime.graph.producers import ProducerMap
from ...runtime.input_validation import Data, check_value
from ...runtime.model import Model, Port
from ...runtime.text import did_you_mean
from .constraints import ConstraintSet
from .element_candidates import (
    edge_values,
    element_kind,
    filled_array,
    integer_range,
    nearby_values,
    to_array,
    to_python_scalar,
)

Inputs = dict[str, Data]
#: A tensor in the inputs: the name of its input, and its position in a sequence.
Leaf = tuple[str, int | None]

#: Sizes of unknown dimensions, the most probable first, and how many elements of a sequence.
_USUAL_SIZES = (2, 3, 1, 4, 0, 5, 8)
_SEQUENCE_LENGTHS = (2, 1, 0, 3)
#: Trip counts: the maximum sensible one runs long enough for any effect that grows.
MAX_TRIP_COUNT = 64
TRIP_COUNTS = (0, 1, 2, 3, 5, 8, -1, MAX_TRIP_COUNT)
#: Larger tensors repeat the elements of smaller ones.
_MAX_DRAWN_ELEMENTS = 4096
#: Operators between an input and the trip count of a loop that keep its value.
_VALUE_PRESERVING_OPS = frozenset({"Identity", "Cast", "Convert", "Squeeze", "Unsqueeze", "Reshape"})
_DIMENSION_SETTING = re.compile(r"(.+)=(\d+)(?:\.\.(\d+))?")


class InputSpace:
    """The inputs of a model.

    Args:
        model: the model.
        dims: sizes of unknown dimensions, as ``N=5``, ``N=0..8`` or ``x:0=4``.
        constraints: properties and conditions (constraints.py).

    Raises:
        UsageError: a setting or a constraint is invalid, or names nothing in the model.
    """

    def __init__(self, model: Model, dims: Sequence[str] = (), constraints: Sequence[str] = ()) -> None:
        self.ports: list[Port] = model.inputs
        self._graph = model.graph
        self.constraints = ConstraintSet(constraints, [port.name for port in self.ports])
        #: By name of an unknown dimension (``x:0`` without one), the sizes that it may have.
        self.dimensions: dict[str, tuple[int, int]] = {}
        for port in self.ports:
            tensor = tensor_type(port.type)
            usual = model.graph.usual_shapes.get(port.name, ())
            for axis, key in enumerate(self._axis_sizes_or_names(port)):
                if isinstance(key, str):
                    low, high = tensor.bounds.get(axis, (0, None))
                    typical = usual[axis] if axis < len(usual) else 0
                    self.dimensions.setdefault(
                        key, (low, max(_USUAL_SIZES[-1], low, typical) if high is None else high)
                    )
        self._names = {dim for port in self.ports for dim in tensor_type(port.type).shape or () if isinstance(dim, str)}
        self._apply_dimension_settings(dims)
        self.trip_counts = _trip_count_inputs(model.graph)

    def _apply_dimension_settings(self, settings: Sequence[str]) -> None:
        key_by_axis = {
            f"{port.name}:{axis}": key
            for port in self.ports
            for axis, key in enumerate(self._axis_sizes_or_names(port))
        }
        for setting in settings:
            match = _DIMENSION_SETTING.fullmatch(setting)
            if match is None:
                raise UsageError(
                    f"dimension {setting}: expected NAME=N, NAME=LOW..HIGH or INPUT:AXIS=N",
                    name=setting,
                    expected="NAME=N, NAME=LOW..HIGH or INPUT:AXIS=N",
                )
            key = key_by_axis.get(match[1], match[1])
            if not isinstance(key, str) or key not in self.dimensions:
                known = ", ".join(self.dimensions) or "none"
                hint = did_you_mean(match[1], list(self.dimensions)) or f"; unknown are {known}"
                raise InputError(f"dimension {setting}: no input has such a dimension{hint}", name=match[1])
            self.dimensions[key] = int(match[2]), int(match[3] or match[2])

    def _axis_sizes_or_names(self, port: Port) -> tuple[int | str, ...]:
        """The size of each axis of an input, or the name of its dimension."""
        shape = tensor_type(port.type).shape or ()
        return tuple(f"{port.name}:{axis}" if dim is None else dim for axis, dim in enumerate(shape))

    # -- draws

    def draw(self, random: np.random.Generator, pool: Sequence[Any] = ()) -> Inputs:
        """Draw inputs; ``pool``: values that matter to the model, such as its constants."""
        sizes = {key: self._draw_size(bounds, random) for key, bounds in self.dimensions.items()}
        values = {
            port.name: self._draw_value(port.name, port.type, self.shape_of(port, sizes), random, pool)
            for port in self.ports
            if not port.optional or random.integers(2)
        }
        return self.enforce(values)

    @staticmethod
    def _draw_size(bounds: tuple[int, int], random: np.random.Generator) -> int:
        low, high = bounds
        usual = [size for size in _USUAL_SIZES if low <= size <= high] or [low]
        choices = (*usual[:4], *usual[:2], *usual[4:], low, min(high, low + _USUAL_SIZES[-1]))
        return int(choices[random.integers(len(choices))])

    def shape_of(self, port: Port, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of an input's tensors, with the sizes of unknown dimensions."""
        return tuple(key if isinstance(key, int) else sizes[key] for key in self._axis_sizes_or_names(port))

    def _draw_value(
        self, name: str, declared: ValueType, shape: tuple[int, ...], random: np.random.Generator, pool: Sequence[Any]
    ) -> Data:
        if isinstance(declared, OptionalType):
            return None if not random.integers(4) else self._draw_value(name, declared.element, shape, random, pool)
        if isinstance(declared, SequenceType):
            count = int(random.choice(_SEQUENCE_LENGTHS))
            return [self._draw_value(name, declared.element, shape, random, pool) for _ in range(count)]
        dtype = np.dtype(np.float32) if declared.dtype is None else declared.dtype
        if name in self.trip_counts:
            return filled_array(TRIP_COUNTS[random.integers(len(TRIP_COUNTS))], dtype, shape)
        count = int(np.prod(shape))
        elements = _draw_elements(dtype, min(count, _MAX_DRAWN_ELEMENTS), random, pool)
        if count > len(elements):
            elements = (elements * (count // len(elements) + 1))[:count]
        return to_array(elements, dtype, shape)

    # -- edge cases

    def edge_cases(self) -> Iterator[Inputs]:
        """Simple inputs with one edge case each: a size, a trip count, a value in one or in all places."""
        usual = {key: min(max(2, low), high) for key, (low, high) in self.dimensions.items()}
        base = self._simple_inputs(usual)
        yield base
        for key, (low, high) in self.dimensions.items():
            for size in dict.fromkeys((low, low + 1, min(high, _USUAL_SIZES[-1]))):
                if low <= size <= high:
                    yield self._simple_inputs({**usual, key: size})
        for size in (0, 1):
            yield self._simple_inputs({key: min(max(size, low), high) for key, (low, high) in self.dimensions.items()})
        for leaf in leaves(base):
            array = leaf_value(base, leaf)
            edges: Sequence[Any] = TRIP_COUNTS if leaf[0] in self.trip_counts else edge_values(array.dtype)
            for value in edges:
                yield self.enforce(replace_leaf(base, leaf, filled_array(value, array.dtype, array.shape)))
                for position in (0, array.size - 1) if array.size > 1 else ():
                    changed = array.copy()
                    changed.reshape(-1)[position] = filled_array(value, array.dtype, ())
                    yield self.enforce(replace_leaf(base, leaf, changed))
        for port in self.ports:
            if isinstance(port.type, OptionalType):
                yield {**base, port.name: None}
            elif isinstance(port.type, SequenceType):
                yield {**base, port.name: []}

    def _simple_inputs(self, sizes: Mapping[str, int]) -> Inputs:
        """Inputs of small different numbers."""
        values: Inputs = {}
        for port in self.ports:
            if port.optional:
                continue
            tensor = tensor_type(port.type)
            dtype = np.dtype(np.float32) if tensor.dtype is None else tensor.dtype
            shape = self.shape_of(port, sizes)
            count = int(np.prod(shape))
            kind = element_kind(dtype)
            numbers = [(k % 5) + 1 for k in range(min(count, _MAX_DRAWN_ELEMENTS))]
            elements = [True if kind == "b" else "abcde"[k - 1] if kind == "s" else k for k in numbers]
            elements = (elements * (count // max(len(elements), 1) + 1))[:count]
            values[port.name] = _wrap_in_declared_type(port.type, to_array(elements, dtype, shape))
        return self.enforce(values)

    # -- mutations

    def mutate(
        self,
        inputs: Mapping[str, Data],
        random: np.random.Generator,
        pool: Sequence[Any] = (),
        other: Mapping[str, Data] = {},
    ) -> Inputs:
        """Return changed inputs. ``pool``: values that matter to the model; ``other``: inputs to combine with."""
        changed = dict(inputs)
        for _ in range(int(random.choice((1, 1, 1, 2, 2, 3, 5)))):
            changed = self._mutate_once(changed, random, pool, other)
        return self.enforce(changed)

    def _mutate_once(
        self, inputs: Inputs, random: np.random.Generator, pool: Sequence[Any], other: Mapping[str, Data]
    ) -> Inputs:
        choice = random.integers(10)
        if choice == 0 and self.dimensions:
            return self._mutate_size(inputs, random)
        if choice == 1 and other:
            name = str(random.choice(list(other)))
            if name in inputs and _leaf_shapes(other[name]) == _leaf_shapes(inputs[name]):
                return {**inputs, name: other[name]}
        if choice == 2:
            return self._mutate_structure(inputs, random, pool)
        choices = [leaf for leaf in leaves(inputs) if leaf_value(inputs, leaf).size]
        if not choices:
            return self._mutate_size(inputs, random) if self.dimensions else inputs
        leaf = choices[random.integers(len(choices))]
        array = leaf_value(inputs, leaf)
        return replace_leaf(inputs, leaf, self._mutate_tensor(leaf[0], array, random, pool))

    def _mutate_tensor(self, name: str, array: Array, random: np.random.Generator, pool: Sequence[Any]) -> Array:
        dtype, kind = array.dtype, element_kind(array.dtype)
        if name in self.trip_counts:
            return filled_array(TRIP_COUNTS[random.integers(len(TRIP_COUNTS))], dtype, array.shape)
        flat = array.ravel().copy()
        position, source = map(int, random.integers(array.size, size=2))
        choice = random.integers(12)
        old = to_python_scalar(flat[position], kind)
        if choice < 3:
            candidates: Sequence[Any] = nearby_values(old, dtype)
        elif choice < 7 and pool:
            value = _convert_number(pool[int(random.integers(len(pool)))], kind)
            candidates = (value, value, *nearby_values(value, dtype)[:2])
        elif choice < 9:
            candidates = edge_values(dtype)
        else:
            return _rearrange_elements(flat, int(choice), position, source).reshape(array.shape)
        value = candidates[int(random.integers(len(candidates)))]
        everywhere = not random.integers(8)
        flat[slice(None) if everywhere else position] = filled_array(value, dtype, ())
        return flat.reshape(array.shape)

    def _mutate_size(self, inputs: Inputs, random: np.random.Generator) -> Inputs:
        key = str(random.choice(list(self.dimensions)))
        size = self.size_of(inputs, key)
        if size is None:
            return inputs
        low, high = self.dimensions[key]
        choices = (size + 1, size - 1, low, 1, self._draw_size((low, high), random))
        return self.resize(inputs, key, min(max(int(choices[random.integers(5)]), low), high))

    def _mutate_structure(self, inputs: Inputs, random: np.random.Generator, pool: Sequence[Any]) -> Inputs:
        """Add or remove an optional input or an element of a sequence; redraw one without these."""
        port = self.ports[random.integers(len(self.ports))] if self.ports else None
        if port is None:
            return inputs
        if port.optional and port.name in inputs and random.integers(2):
            return {name: value for name, value in inputs.items() if name != port.name}
        sizes = {key: self.size_of(inputs, key) for key in self.dimensions}
        known = {
            key: self._draw_size(self.dimensions[key], random) if size is None else size for key, size in sizes.items()
        }
        value = inputs.get(port.name)
        shape = self.shape_of(port, known)
        if isinstance(value, list) and random.integers(2):
            if value and random.integers(2):
                return {**inputs, port.name: value[:-1]}
            element = port.type.element if isinstance(port.type, SequenceType) else port.type
            return {**inputs, port.name: [*value, self._draw_value(port.name, element, shape, random, pool)]}
        return {**inputs, port.name: self._draw_value(port.name, port.type, shape, random, pool)}

    # -- sizes and validity

    def size_of(self, inputs: Mapping[str, Data], key: str) -> int | None:
        """The size of a dimension in inputs; None: no tensor has it."""
        return next(
            (leaf_value(inputs, leaf).shape[axis] for leaf, axis in self._dimension_occurrences(inputs, key)), None
        )

    def _dimension_occurrences(self, inputs: Mapping[str, Data], key: str) -> Iterator[tuple[Leaf, int]]:
        """The tensors and axes that have a dimension."""
        axes = {port.name: self._axis_sizes_or_names(port) for port in self.ports}
        for leaf in leaves(inputs):
            for axis, dim in enumerate(axes.get(leaf[0], ())):
                if dim == key:
                    yield leaf, axis

    def resize(self, inputs: Mapping[str, Data], key: str, size: int) -> Inputs:
        """Change the size of a dimension in all inputs: the first elements remain, new ones repeat the last."""
        return self._edit_axis(inputs, key, lambda array, axis: _resize_axis(array, axis, size))

    def remove_part(self, inputs: Mapping[str, Data], key: str, position: int) -> Inputs:
        """Remove one part along a dimension in all inputs."""
        return self._edit_axis(inputs, key, lambda array, axis: np.delete(array, position, axis))

    def _edit_axis(self, inputs: Mapping[str, Data], key: str, edit: Callable[[Array, int], Array]) -> Inputs:
        changed = dict(inputs)
        for leaf, axis in list(self._dimension_occurrences(inputs, key)):
            changed = replace_leaf(changed, leaf, edit(leaf_value(changed, leaf), axis))
        return changed

    def with_equal_sizes(self, inputs: Mapping[str, Data]) -> Inputs | None:
        """Inputs in which all dimensions without a name have one size; None: they have.

        A signature does not tell which of them must agree: inputs that fail only with different sizes show no fault.
        """
        sizes = {key: self.size_of(inputs, key) for key in self.dimensions if key not in self._names}
        known = {key: size for key, size in sizes.items() if size is not None}
        if len(set(known.values())) <= 1:
            return None
        changed = dict(inputs)
        for key in known:
            low, high = self.dimensions[key]
            changed = self.resize(changed, key, min(max(*known.values(), low), high))
        return self.enforce(changed)

    def enforce(self, inputs: Inputs) -> Inputs:
        """Return inputs with the properties that the constraints enforce, and trip counts in range."""
        for name in self.trip_counts:
            if isinstance(inputs.get(name), np.ndarray) and (inputs[name] > MAX_TRIP_COUNT).any():
                inputs = {**inputs, name: np.minimum(inputs[name], MAX_TRIP_COUNT).astype(inputs[name].dtype)}
        return {name: self.constraints.enforce(name, value) for name, value in inputs.items()}

    def admits(self, inputs: Mapping[str, Data]) -> bool:
        """Whether inputs fit the signature, the sizes and the conditions."""
        named: dict[str, int] = {}
        ports = {port.name: port for port in self.ports}
        try:
            for name, value in inputs.items():
                check_value(name, ports[name].type, value, named)
        except InputError:
            return False
        sizes = ((self.size_of(inputs, key), bounds) for key, bounds in self.dimensions.items())
        fits = all(size is None or low <= size <= high for size, (low, high) in sizes)
        return fits and self.constraints.admits(inputs)


# -- the tensors in inputs


def tensor_type(declared: ValueType) -> TensorType:
    """The type of the tensors in a value."""
    while not isinstance(declared, TensorType):
        declared = declared.element
    return declared


def leaves(inputs: Mapping[str, Data]) -> Iterator[Leaf]:
    """The tensors in inputs."""
    for name, value in inputs.items():
        if isinstance(value, list):
            yield from ((name, k) for k in range(len(value)))
        elif value is not None:
            yield name, None


def leaf_value(inputs: Mapping[str, Data], leaf: Leaf) -> Array:
    """A tensor in inputs."""
    name, k = leaf
    return np.asarray(inputs[name] if k is None else inputs[name][k])


def replace_leaf(inputs: Mapping[str, Data], leaf: Leaf, array: Array) -> Inputs:
    """Inputs with another tensor."""
    name, k = leaf
    if k is None:
        return {**inputs, name: array}
    return {**inputs, name: [*inputs[name][:k], array, *inputs[name][k + 1 :]]}


def _wrap_in_declared_type(declared: ValueType, array: Array) -> Data:
    if isinstance(declared, OptionalType):
        return _wrap_in_declared_type(declared.element, array)
    return [array, array] if isinstance(declared, SequenceType) else array


def _leaf_shapes(value: Data) -> list[tuple[int, ...]]:
    return [leaf_value({"": value}, leaf).shape for leaf in leaves({"": value})]


def _resize_axis(array: Array, axis: int, size: int) -> Array:
    length = array.shape[axis]
    if size <= length:
        return np.take(array, range(size), axis)
    if length == 0:
        kind = element_kind(array.dtype)
        shape = (*array.shape[:axis], size, *array.shape[axis + 1 :])
        return to_array([{"b": False, "s": ""}.get(kind, 0)] * int(np.prod(shape)), array.dtype, shape)
    return np.concatenate([array, np.repeat(np.take(array, [-1], axis), size - length, axis)], axis)


def _rearrange_elements(flat: Array, choice: int, position: int, source: int) -> Array:
    """Make elements equal, sort them, or exchange two of them."""
    if choice == 9:
        flat[position] = flat[source]
    elif choice == 10:
        order = np.argsort(flat.astype(str) if flat.dtype.hasobject else flat.astype(np.float64), kind="stable")
        flat = flat[order if position % 2 else order[::-1]]
    else:
        flat[[position, source]] = flat[[source, position]]
    return flat


def _convert_number(value: Any, kind: str) -> Any:
    """Convert a number of another dtype."""
    if kind == "s":
        return str(value)
    if isinstance(value, str):
        return 0
    if kind == "i":
        return int(value) if np.isfinite(value) else 0
    return {"b": bool, "f": float, "c": complex}[kind](value)


# -- elements


def _draw_elements(dtype: np.dtype[Any], count: int, random: np.random.Generator, pool: Sequence[Any]) -> list[Any]:
    """Draw elements in one of several styles: usual values, all equal, sorted, with ties, with edge cases."""
    kind = element_kind(dtype)
    edges = edge_values(dtype)
    style = random.integers(8)

    def draw_usual() -> list[Any]:
        if kind in "bs":
            return [edges[k] for k in random.integers(len(edges), size=count)]
        if kind == "i":
            low, high = integer_range(dtype)
            return [min(max(int(k), low), high) for k in random.integers(-3, 10, size=count)]
        return [float(np.float32(number)) for number in random.standard_normal(count) * 2]

    def draw_from_pool() -> Any:
        values = [_convert_number(value, kind) for value in pool] or list(edges)
        return values[random.integers(len(values))]

    if style == 0:
        return [edges[random.integers(len(edges))]] * count
    if style == 1:
        return [draw_from_pool()] * count
    if style == 2 and kind in "if":
        start = int(random.integers(-2, 3))
        return [start + k for k in range(count)]
    if style == 3 and kind in "if":
        return [int(k) for k in random.integers(-1, 3, size=count)]
    if style == 4:
        return [draw_from_pool() for _ in range(count)]
    if style == 5:
        return [edges[k] for k in random.integers(len(edges), size=count)]
    elements = draw_usual()
    if style == 6 and count:
        elements[random.integers(count)] = edges[random.integers(len(edges))]
    return elements


def _trip_count_inputs(graph: Graph) -> frozenset[str]:
    """The inputs that are the trip count of a loop."""
    producers = ProducerMap.for_graph(graph)
    names = {value.name for value in graph.inputs}
    trip_counts = set()
    for loop in loops(graph):
        value = loop.trip_count
        while value is not None and value in producers and producers[value].op_type in _VALUE_PRESERVING_OPS:
            value = producers[value].inputs[0]
        if value is not None and value.name in names and value in graph.inputs:
            trip_counts.add(value.name)
    return frozenset(trip_counts)
