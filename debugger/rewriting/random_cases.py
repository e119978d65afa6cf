"""Inputs on which a rewrite is verified: random ones of several sizes, and edge cases first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ...runtime.errors import InputError
from ...runtime.model import Data, Model
from ...runtime.random_inputs import DimensionSizes, random_input

#: Sizes of unknown dimensions, one after another.
_SIZES = (3, 1, 2, 4, 5, 7)
#: Numbers that rewrites get wrong.
_SPECIAL = (np.nan, -0.0, np.inf, -np.inf, 0.0, 1.0, -1.0)


def random_inputs(model: Model, count: int, seed: int = 0) -> Iterator[Mapping[str, Data]]:
    """Inputs for the signature of a model: edge cases, then random ones with several sizes of unknown dimensions.

    Edge cases are integers of 0 and of -1 (no iteration, where they are trip counts), false conditions, empty tensors,
    and zeros, infinities and NaN among floats.

    Args:
        model: the model.
        count: how many at most; edge cases that equal a random input are left out.
        seed: of the first random input.
    """
    return islice(_draw_inputs(model, count, seed), count)


def _draw_inputs(model: Model, count: int, seed: int) -> Iterator[Mapping[str, Data]]:
    for number in range(count):
        try:
            values = _random_values(model, _SIZES[number % len(_SIZES)], (seed, number))
        except InputError:
            continue  # too large
        yield values
        if number == 0:
            yield from _edge_cases(model, values, (seed, number))


def _edge_cases(model: Model, values: Mapping[str, Data], seed: tuple[int, ...]) -> Iterator[Mapping[str, Data]]:
    for edit in (
        _integer_setter(0),
        _integer_setter(-1),
        _set_booleans,
        _special_value_setter(0),
        _special_value_setter(1),
    ):
        changed = {name: edit(value) for name, value in values.items()}
        if any(changed[name] is not value for name, value in values.items()):
            yield changed
    empty = _random_values(model, 0, seed)
    if any(np.shape(empty[name]) != np.shape(value) for name, value in values.items() if not isinstance(value, list)):
        yield empty


def _random_values(model: Model, size: int, seed: tuple[int, ...]) -> dict[str, Data]:
    """One value for each input; ``size``: of unknown dimensions."""
    ports = [port for port in model.inputs if not port.optional]
    unknown = [
        dim if isinstance(dim, str) else f"{port.name}:{axis}"
        for port in ports
        for axis, dim in enumerate(port.shape or ())
        if not isinstance(dim, int)
    ]
    settings = [f"{name}={size}" for name in dict.fromkeys(unknown)]
    dims = DimensionSizes(settings, ports, {}, model.graph.usual_shapes)
    usual = model.graph.usual_values
    return {
        port.name: usual[port.name] if port.name in usual else random_input(port, dims, (*seed, index))
        for index, port in enumerate(ports)
    }


def _integer_setter(number: int) -> Any:
    def edit(value: Data) -> Data:
        is_integer = isinstance(value, np.ndarray) and value.dtype.kind in ("i" if number < 0 else "iu")
        return np.full_like(value, number) if is_integer else value

    return edit


def _set_booleans(value: Data) -> Data:
    return np.zeros_like(value) if isinstance(value, np.ndarray) and value.dtype == np.bool_ else value


def _special_value_setter(first: int) -> Any:
    numbers = (*_SPECIAL[first:], *_SPECIAL[:first])

    def edit(value: Data) -> Data:
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.size:
            return value
        return np.resize(np.asarray(numbers, value.dtype), value.shape)

    return edit
