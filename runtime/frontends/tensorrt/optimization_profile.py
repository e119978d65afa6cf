"""Optimisation profiles: between which sizes inputs may lie, and which are usual."""

from __future__ import annotations

from typing import Any

from .dims import Dims, sizes_of
from .script_location import ArgumentError, caller_location

_MinOptMax = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class IOptimizationProfile:
    """Sizes of inputs, and values of shape inputs: least, usual, greatest."""

    def __init__(self) -> None:
        self._shapes: dict[str, _MinOptMax] = {}
        self._values: dict[str, _MinOptMax] = {}
        self.extra_memory_target = 1.0

    def set_shape(self, input: str, min: Any, opt: Any, max: Any) -> None:
        """The sizes of an input."""
        self._shapes[_name(input)] = _min_opt_max(input, min, opt, max)

    def set_shape_input(self, input: str, min: Any, opt: Any, max: Any) -> None:
        """The values of an input that is a shape, or a trip count."""
        self._values[_name(input)] = _min_opt_max(input, min, opt, max)

    def get_shape(self, input: str) -> list[Dims]:
        """The three of set_shape; none where there are none."""
        return [Dims(shape) for shape in self._shapes.get(_name(input), ())]

    def get_shape_input(self, input: str) -> list[list[int]]:
        """The three of set_shape_input."""
        return [list(values) for values in self._values.get(_name(input), ())]

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> IOptimizationProfile:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _name(given: Any) -> str:
    if not isinstance(given, str):
        raise ArgumentError(
            f"{caller_location()}: a profile takes the name of an input, not {given!r:.60}; give tensor.name"
        )
    return given


def _min_opt_max(name: str, *given: Any) -> _MinOptMax:
    least, usual, most = (sizes_of(one, f"the profile of '{name}'") for one in given)
    if not len(least) == len(usual) == len(most):
        raise ValueError(
            f"{caller_location()}: the profile of '{name}' has min {least}, opt {usual} and max {most}: not one rank"
        )
    for axis, (low, middle, high) in enumerate(zip(least, usual, most, strict=True)):
        if not low <= middle <= high:
            raise ValueError(
                f"{caller_location()}: the profile of '{name}' has min {low}, opt {middle} and max {high} at {axis}; "
                "they have to"
                " be in order"
            )
    return least, usual, most
