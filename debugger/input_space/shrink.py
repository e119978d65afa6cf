"""Shrink steps: inputs that are simpler by one step, and the search for inputs of which no step keeps a failure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime.graph import Array, OptionalType
from ...runtime.input_validation import Data
from .element_candidates import element_cost, element_kind, simpler_values, to_array, to_python_scalar
from .space import Inputs, InputSpace, Leaf, leaf_value, leaves, replace_leaf

#: Where more elements of a tensor are not zero, they become zero in parts, and none is simplified by itself.
MAX_SINGLE_ELEMENTS = 256


def simpler_inputs(space: InputSpace, inputs: Mapping[str, Data]) -> Iterator[Inputs]:
    """All inputs that are one step simpler, the largest steps first."""
    cost = _input_complexity(inputs)
    for candidate in _smaller_inputs(space, dict(inputs)):
        enforced = space.enforce(candidate)
        if _input_complexity(enforced) < cost and space.admits(enforced):
            yield enforced


def shrink(
    space: InputSpace,
    inputs: Inputs,
    fails: Callable[[Inputs], bool],
    max_tests: int = 3000,
    max_seconds: float = math.inf,
) -> tuple[Inputs, bool, int]:
    """Search simpler inputs that still fail.

    Returns:
        The inputs, whether no single step keeps the failure, and the number of tests.
    """
    tests, start = 0, time.monotonic()
    refuted: set[tuple[Any, ...]] = set()
    while True:
        for candidate in simpler_inputs(space, inputs):
            key = input_key(candidate)
            if key in refuted:
                continue
            if tests >= max_tests or time.monotonic() - start > max_seconds:
                return inputs, False, tests
            tests += 1
            if fails(candidate):
                inputs = candidate
                break
            refuted.add(key)
        else:
            return inputs, _has_few_nonzero_elements(inputs), tests


def input_key(inputs: Mapping[str, Data]) -> tuple[Any, ...]:
    """A hashable key, equal for inputs with the same bits."""
    return tuple(
        (leaf, array.dtype.name, array.shape, str(array.tolist()) if array.dtype.hasobject else array.tobytes())
        for leaf in leaves(inputs)
        for array in (leaf_value(inputs, leaf),)
    ) + tuple((name, None if value is None else len(value)) for name, value in inputs.items() if not _is_array(value))


def _is_array(value: Data) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _has_few_nonzero_elements(inputs: Mapping[str, Data]) -> bool:
    return all(len(_nonzero_positions(leaf_value(inputs, leaf))) <= MAX_SINGLE_ELEMENTS for leaf in leaves(inputs))


def _nonzero_positions(array: Array) -> Array:
    """The positions of the elements that are not zero (nor false, nor empty), in flat order; -0.0 is not zero."""
    if element_kind(array.dtype) == "s":
        return np.flatnonzero(array.ravel() != "")
    return np.flatnonzero(np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8).any(axis=1))


def _input_complexity(inputs: Mapping[str, Data]) -> tuple[Any, ...]:
    """How complicated inputs are: the number of tensors and elements, then the elements, largest first."""
    arrays = [leaf_value(inputs, leaf) for leaf in leaves(inputs)]
    count = sum(array.size for array in arrays)
    sizes = len(inputs), len(arrays), count, sum(sum(array.shape) for array in arrays)
    nonzero = [_nonzero_positions(array) for array in arrays]
    if not _has_few_nonzero_elements(inputs):
        return *sizes, sum(map(len, nonzero)), ()
    costs = [
        element_cost(to_python_scalar(element, kind), kind)
        for array, positions in zip(arrays, nonzero, strict=True)
        for kind in (element_kind(array.dtype),)
        for element in array.ravel()[positions]
    ]
    return *sizes, 0, tuple(sorted(costs, reverse=True))


def _smaller_inputs(space: InputSpace, inputs: Inputs) -> Iterator[Inputs]:
    yield from _inputs_without_parts(space, inputs)
    for key, (low, _) in space.dimensions.items():
        size = space.size_of(inputs, key)
        if size is not None and size > low:
            yield from (space.resize(inputs, key, n) for n in dict.fromkeys((low, 1, size // 2)) if low <= n < size)
            for position in reversed(range(min(size, 16))):
                yield space.remove_part(inputs, key, position)
    for leaf in leaves(inputs):
        yield from _inputs_with_simpler_tensor(inputs, leaf)


def _inputs_without_parts(space: InputSpace, inputs: Inputs) -> Iterator[Inputs]:
    """Inputs without an optional one, or without an element of a sequence."""
    for port in space.ports:
        value = inputs.get(port.name)
        if port.optional and port.name in inputs:
            yield {name: other for name, other in inputs.items() if name != port.name}
        if isinstance(port.type, OptionalType) and value is not None:
            yield {**inputs, port.name: None}
        if isinstance(value, list):
            for k in reversed(range(len(value))):
                yield {**inputs, port.name: value[:k] + value[k + 1 :]}


def _inputs_with_simpler_tensor(inputs: Inputs, leaf: Leaf) -> Iterator[Inputs]:
    array = leaf_value(inputs, leaf)
    dtype, kind, positions = array.dtype, element_kind(array.dtype), _nonzero_positions(array)

    def with_elements(chosen: Array, values: Any) -> Inputs:
        flat = array.ravel().copy()
        flat[chosen] = values
        return replace_leaf(inputs, leaf, flat.reshape(array.shape))

    yield from (with_elements(positions[part], "" if kind == "s" else 0) for part in _parts(len(positions)))
    if len(positions) > MAX_SINGLE_ELEMENTS:
        return
    elements = [to_python_scalar(element, kind) for element in array.ravel()[positions]]
    if len(elements) > 1:
        for value in dict.fromkeys(map(repr, elements)):
            same = [k for k, element in enumerate(elements) if repr(element) == value]
            for simple in simpler_values(elements[same[0]], kind):
                yield with_elements(positions[same], to_array([simple], dtype, (1,)))
    for k, element in enumerate(elements):
        for simple in simpler_values(element, kind):
            yield with_elements(positions[k : k + 1], to_array([simple], dtype, (1,)))


def _parts(size: int) -> Iterator[slice]:
    """All of a sequence, its halves, quarters ..., at least one element each."""
    parts = 1
    while parts <= size:
        yield from (slice(k * size // parts, (k + 1) * size // parts) for k in range(parts))
        parts *= 2
