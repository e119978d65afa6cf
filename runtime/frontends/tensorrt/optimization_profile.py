"""Optimisation profiles: minimum, optimum and maximum sizes of inputs; the optimum is the typical size in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import Graph, TensorType
from .dims import Dims, sizes_from_shape
from .inert_properties import InertContext
from .script_location import argument_error, caller_location

_MinOptMax = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class IOptimizationProfile(InertContext):
    """Sizes of inputs, and values of shape inputs: minimum, optimum, maximum."""

    def __init__(self) -> None:
        self._shapes: dict[str, _MinOptMax] = {}
        self._values: dict[str, _MinOptMax] = {}
        self.extra_memory_target = 1.0

    def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:
        """Set the sizes of an input."""
        self._shapes[_check_name(input)] = _min_opt_max(input, min, opt, max)

    def set_shape_input(self, input: str, min: Any, opt: Any, max: Any) -> None:
        """Set the values of an input that is a shape or a trip count."""
        self._values[_check_name(input)] = _min_opt_max(input, min, opt, max)

    def get_shape(self, input: str) -> list[Dims]:
        """The three shapes of set_shape; empty where it was not called."""
        return [Dims(shape) for shape in self._shapes.get(_check_name(input), ())]

    def get_shape_input(self, input: str) -> list[list[int]]:
        """The three values of set_shape_input."""
        return [list(values) for values in self._values.get(_check_name(input), ())]

    def __bool__(self) -> bool:
        return True


def _check_name(name: Any) -> str:
    if not isinstance(name, str):
        raise argument_error(f"a profile takes the name of an input, not {name!r:.60}; give tensor.name")
    return name


def _min_opt_max(name: str, *sizes: Any) -> _MinOptMax:
    lows, opts, highs = (sizes_from_shape(shape, f"the profile of '{name}'") for shape in sizes)
    if not len(lows) == len(opts) == len(highs):
        raise ValueError(
            f"{caller_location()}: the profile of '{name}' has min {lows}, opt {opts} and max {highs}: not one rank"
        )
    for axis, (low, middle, high) in enumerate(zip(lows, opts, highs, strict=True)):
        if not low <= middle <= high:
            raise ValueError(
                f"{caller_location()}: the profile of '{name}' has min {low}, opt {middle} and max {high} at {axis}; "
                "they have to be in order"
            )
    return lows, opts, highs


def apply_profiles(graph: Graph, profiles: Sequence[IOptimizationProfile]) -> None:
    """Set typical sizes and values of inputs; the first profile that has an input takes precedence."""
    for value in graph.inputs:
        kind = value.type
        if not isinstance(kind, TensorType) or kind.shape is None:
            continue
        shapes = [profile._shapes[value.name] for profile in profiles if value.name in profile._shapes]
        if shapes and len(shapes[0][1]) == len(kind.shape):
            graph.usual_shapes[value.name] = shapes[0][1]
        values = [profile._values[value.name] for profile in profiles if value.name in profile._values]
        if not values or kind.dtype is None or len(kind.shape) > 1:
            continue
        typical = np.array(values[0][1], kind.dtype)
        graph.usual_values[value.name] = typical.reshape(()) if not kind.shape and typical.size == 1 else typical
