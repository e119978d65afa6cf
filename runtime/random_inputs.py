"""Inputs made from the signature: standard normal floats, small integers, true.

Where the model itself says which sizes and values are usual (TensorRT's optimisation profiles), those are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import InputError, UsageError
from .graph import Array, Dim, OptionalType, SequenceType, TensorType, ValueType
from .model import Data, Port
from .text import did_you_mean


class DimensionSizes:
    """The sizes of unknown dimensions: what ``words`` say (``N=5``, ``x:0=4``), what other inputs have there, what is
    usual, else 1. ``option``: what an error calls the words.

    Raises:
        UsageError: one of them lacks its name or its number.
        InputError: no input has such a dimension.
    """

    def __init__(
        self,
        words: Sequence[str],
        ports: Sequence[Port],
        named: dict[str, int],
        usual: Mapping[str, tuple[int, ...]] | None = None,
        option: str = "dimension",
    ) -> None:
        places = {f"{port.name}:{axis}": dim for port in ports for axis, dim in enumerate(_tensor_shape(port.type))}
        names = [dim for dim in places.values() if isinstance(dim, str)]
        self._sizes: dict[str, int] = {}
        self._named_sizes = named
        self._usual_shapes = usual or {}
        for word in words:
            name, _, number = word.rpartition("=")
            if not name or not number.isdecimal():
                raise UsageError(f"{option} {word}: expected NAME=N or INPUT:AXIS=N")
            if name not in names and not isinstance(places.get(name), str | None):
                raise InputError(f"{option} {word}: the model fixes that dimension to {places[name]}")
            if name not in names and name not in places:
                known = [*dict.fromkeys(names), *(place for place, dim in places.items() if dim is None)]
                have = did_you_mean(name, known) or f"; unknown are {', '.join(known) or 'none'}"
                raise InputError(f"{option} {word}: no input has such a dimension{have}")
            self._sizes[name] = int(number)

    def size(self, port: str, axis: int, dim: Dim, least: int = 1) -> int:
        """The size of one dimension of one input; ``least``: of one that nothing else settles."""
        if isinstance(dim, int):
            return dim
        if f"{port}:{axis}" in self._sizes:
            return self._sizes[f"{port}:{axis}"]
        usual = self._usual_shapes.get(port, ())
        otherwise = usual[axis] if axis < len(usual) and usual[axis] >= 0 else least
        if dim is None:
            return otherwise
        return self._sizes.get(dim, self._named_sizes.get(dim, otherwise))


def random_input(port: Port, dims: DimensionSizes, seed: tuple[int, ...]) -> Data:
    """A value that fits the signature; the same for the same seed, whatever the other inputs are.

    Raises:
        InputError: it would be larger than any memory.
    """
    try:
        return _random_value(port.name, port.type, dims, np.random.default_rng(seed))
    except (ValueError, MemoryError):
        raise InputError(f"input '{port.name}' ({port.type}) is too large to be made; give it another size") from None


def _random_value(name: str, declared: ValueType, dims: DimensionSizes, random: np.random.Generator) -> Data:
    if isinstance(declared, OptionalType):
        return _random_value(name, declared.element, dims, random)
    if isinstance(declared, SequenceType):
        return [_random_value(name, declared.element, dims, random) for _ in range(2)]
    least = {
        axis: max(low, 1) if most is None else min(max(low, 1), most) for axis, (low, most) in declared.bounds.items()
    }
    shape = tuple(dims.size(name, axis, dim, least.get(axis, 1)) for axis, dim in enumerate(declared.shape or ()))
    return _random_tensor(np.dtype(np.float32) if declared.dtype is None else declared.dtype, shape, random)


def _random_tensor(dtype: np.dtype[Any], shape: tuple[int, ...], random: np.random.Generator) -> Array:
    if dtype.hasobject:
        letters = np.array(list("abcdefgh"), dtype=object)
        return np.asarray(letters[random.integers(0, len(letters), shape)], dtype=object).reshape(shape)
    if dtype == np.bool_:
        # A single boolean is most often a loop's condition, and false would show nothing.
        return random.integers(0, 2, shape).astype(bool) if np.prod(shape) != 1 else np.ones(shape, bool)
    if "int" in dtype.name:
        # From 1, since a trip count of 0 shows nothing either; int2 ends at 1, int4 at 7.
        return random.integers(1, 1 + {"int2": 1, "uint2": 3, "int4": 7}.get(dtype.name, 9), shape).astype(dtype)
    numbers = random.standard_normal(shape)
    if dtype.kind == "c":
        return (numbers + 1j * random.standard_normal(shape)).astype(dtype)
    if dtype.name == "float8_e8m0fnu":  # has no sign
        numbers = np.abs(numbers)
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(dtype)


def _tensor_shape(declared: ValueType) -> tuple[Dim, ...]:
    while not isinstance(declared, TensorType):
        declared = declared.element
    return declared.shape or ()
