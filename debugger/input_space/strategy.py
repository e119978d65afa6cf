"""Inputs of a model as a Hypothesis strategy. Hypothesis is imported on the first call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.api_boundary import public
from ...runtime.dtypes import is_ml_dtype
from ...runtime.errors import UsageError, one_line
from ...runtime.graph import Array, OptionalType, SequenceType, ValueType
from ...runtime.input_validation import Data
from ...runtime.model import Model, load
from .element_candidates import edge_values, element_kind, integer_range, to_array
from .space import MAX_TRIP_COUNT, InputSpace

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Larger tensors are one element everywhere, and a few exceptions: Hypothesis draws few elements well.
_MAX_FREE_ELEMENTS, _MAX_EXCEPTIONS = 64, 8
_MAX_SEQUENCE_LENGTH = 4


@public
def inputs(model: Any, *, dims: Sequence[str] = (), where: Sequence[str] = ()) -> SearchStrategy[dict[str, Data]]:
    """Return a Hypothesis strategy for the inputs of a model.

    The inputs fit the signature: dtypes, fixed sizes, and one size for each named dimension. The edge cases of each
    dtype are among them (NaN, infinities, -0.0, subnormal, extreme and negative numbers), as are empty axes, equal
    elements, absent optional inputs, and for the trip count of a loop 0, 1, 2, negative ones and up to 64. Failing
    inputs shrink to small sizes and simple numbers.

    Args:
        model: a path, a model, or any other argument of :func:`loopdbg.load`.
        dims: sizes of unknown dimensions, as ``N=5``, ``N=0..8`` (the default) or ``x:0=4``.
        where: constraints: ``x in 0..1``, ``x finite``, ``x sorted``, ``x unique`` or ``x sum 1``, which are enforced,
            the last three along the last axis; or a condition over the inputs in the language of ``break if``, which
            is a filter.

    Returns:
        A strategy of inputs by name, for ``@given``.

    Raises:
        UsageError: Hypothesis is not installed, or a setting is invalid.

    Examples:
        >>> from hypothesis import find
        >>> find(loopdbg.inputs(model, where=["a in 0..9"]), lambda values: values["a"] >= 9)["a"]
        array(9., dtype=float32)
    """
    strategies = _import_strategies()
    space = InputSpace(model if isinstance(model, Model) else load(model), dims, where)

    @strategies.composite  # type: ignore[untyped-decorator]
    def draw_inputs(draw: Any) -> dict[str, Data]:
        sizes = {key: draw(strategies.integers(*bounds)) for key, bounds in space.dimensions.items()}
        values: dict[str, Data] = {}
        for port in space.ports:
            if not port.optional or draw(strategies.booleans()):
                shape = space.shape_of(port, sizes)
                values[port.name] = draw(_value_strategy(strategies, space, port.name, port.type, shape))
        return space.enforce(values)

    result: SearchStrategy[dict[str, Data]] = draw_inputs().filter(space.admits)
    return result


def _import_strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise UsageError(
            f"a strategy of inputs needs the package hypothesis, which is not there ({one_line(error)}): "
            "pip install 'loopdbg[fuzz]'",
            name="hypothesis",
            got=one_line(error),
        ) from None
    return strategies


def _value_strategy(
    strategies: Any, space: InputSpace, name: str, declared: ValueType, shape: tuple[int, ...]
) -> SearchStrategy[Data]:
    if isinstance(declared, OptionalType):
        return strategies.none() | _value_strategy(strategies, space, name, declared.element, shape)  # type: ignore[no-any-return]
    if isinstance(declared, SequenceType):
        elements = _value_strategy(strategies, space, name, declared.element, shape)
        return strategies.lists(elements, max_size=_MAX_SEQUENCE_LENGTH)  # type: ignore[no-any-return]
    dtype = np.dtype(np.float32) if declared.dtype is None else declared.dtype
    elements = _element_strategy(strategies, space, name, dtype)
    count = math.prod(shape)

    def as_array(values: list[Any]) -> Array:
        return to_array(values, dtype, shape)

    def with_exceptions(drawn: tuple[Any, Mapping[int, Any]]) -> Array:
        value, exceptions = drawn
        return to_array([exceptions.get(k, value) for k in range(count)], dtype, shape)

    equal = elements.map(lambda value: to_array([value] * count, dtype, shape))
    if count <= _MAX_FREE_ELEMENTS:
        free = strategies.lists(elements, min_size=count, max_size=count).map(as_array)
        return free if count < 2 else free | equal  # type: ignore[no-any-return]
    exceptions = strategies.dictionaries(strategies.integers(0, count - 1), elements, max_size=_MAX_EXCEPTIONS)
    return strategies.tuples(elements, exceptions).map(with_exceptions)  # type: ignore[no-any-return]


def _element_strategy(strategies: Any, space: InputSpace, name: str, dtype: np.dtype[Any]) -> Any:
    """A strategy of the elements of an input, as Python numbers."""
    kind = element_kind(dtype)
    if kind == "b":
        return strategies.booleans()
    if kind == "s":
        return strategies.text(max_size=8)
    bounds = space.constraints.range_of(name)
    if kind == "i":
        low, high = integer_range(dtype)
        if bounds is not None:
            low, high = max(low, math.ceil(bounds[0])), min(high, math.floor(bounds[1]))
        if name in space.trip_counts:
            low, high = max(low, -1), min(high, MAX_TRIP_COUNT)
        edges = [value for value in edge_values(dtype) if low <= value <= high]
        whole = strategies.integers(low, high)
        return whole | strategies.sampled_from(edges) if edges else whole
    if kind == "c":
        return strategies.complex_numbers(width=64) | strategies.sampled_from(edge_values(dtype))
    width = 32 if is_ml_dtype(dtype) else dtype.itemsize * 8
    if bounds is not None:
        small = strategies.floats(*bounds, allow_nan=False)
        return small | strategies.sampled_from([float(bounds[0]), float(bounds[1])])
    return strategies.floats(width=width) | strategies.sampled_from(edge_values(dtype))
