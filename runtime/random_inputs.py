"""Random inputs for a signature: standard normal floats, small integers, true.

Typical sizes and values declared by the model (TensorRT's optimization profiles) have precedence.
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
    """The sizes of unknown dimensions, by precedence: ``settings`` (``N=5``, ``x:0=4``), other inputs, typical sizes,
    1.

    ``option``: the name of the settings in errors.

    Raises:
        UsageError: a setting lacks its name or its number.
        InputError: no input has the dimension.
    """

    def __init__(
        self,
        settings: Sequence[str],
        ports: Sequence[Port],
        named: dict[str, int],
        typical: Mapping[str, tuple[int, ...]] | None = None,
        option: str = "dimension",
    ) -> None:
        dims = {f"{port.name}:{axis}": dim for port in ports for axis, dim in enumerate(_tensor_shape(port.type))}
        names = [dim for dim in dims.values() if isinstance(dim, str)]
        self._sizes: dict[str, int] = {}
        self._named_sizes = named
        self._usual_shapes = typical or {}
        for setting in settings:
            name, _, number = setting.rpartition("=")
            if not name or not number.isdecimal():
                raise UsageError(
                    f"{option} {setting}: expected NAME=N or INPUT:AXIS=N",
                    name=setting,
                    expected="NAME=N or INPUT:AXIS=N",
                )
            if name not in names and not isinstance(dims.get(name), str | None):
                raise InputError(f"{option} {setting}: the model fixes that dimension to {dims[name]}", name=name)
            if name not in names and name not in dims:
                candidates = [*dict.fromkeys(names), *(axis_name for axis_name, dim in dims.items() if dim is None)]
                suggestion = did_you_mean(name, candidates) or f"; unknown are {', '.join(candidates) or 'none'}"
                raise InputError(f"{option} {setting}: no input has such a dimension{suggestion}", name=name)
            self._sizes[name] = int(number)

    def size(self, port: str, axis: int, dim: Dim, minimum: int = 1) -> int:
        """The size of a dimension of an input; ``minimum``: the default."""
        if isinstance(dim, int):
            return dim
        if f"{port}:{axis}" in self._sizes:
            return self._sizes[f"{port}:{axis}"]
        typical = self._usual_shapes.get(port, ())
        default = typical[axis] if axis < len(typical) and typical[axis] >= 0 else minimum
        if dim is None:
            return default
        return self._sizes.get(dim, self._named_sizes.get(dim, default))


def random_input(port: Port, dims: DimensionSizes, seed: tuple[int, ...]) -> Data:
    """A value that matches the signature; depends only on the seed, not on other inputs.

    Raises:
        InputError: it is too large.
    """
    try:
        return _random_value(port.name, port.type, dims, np.random.default_rng(seed))
    except (ValueError, MemoryError):
        raise InputError(
            f"input '{port.name}' ({port.type}) is too large to be made; give it another size",
            name=port.name,
            expected=str(port.type),
        ) from None


def _random_value(name: str, declared: ValueType, dims: DimensionSizes, random: np.random.Generator) -> Data:
    if isinstance(declared, OptionalType):
        return _random_value(name, declared.element, dims, random)
    if isinstance(declared, SequenceType):
        return [_random_value(name, declared.element, dims, random) for _ in range(2)]
    minimums = {
        axis: max(low, 1) if high is None else min(max(low, 1), high) for axis, (low, high) in declared.bounds.items()
    }
    shape = tuple(dims.size(name, axis, dim, minimums.get(axis, 1)) for axis, dim in enumerate(declared.shape or ()))
    return _random_tensor(np.dtype(np.float32) if declared.dtype is None else declared.dtype, shape, random)


def _random_tensor(dtype: np.dtype[Any], shape: tuple[int, ...], random: np.random.Generator) -> Array:
    if dtype.hasobject:
        letters = np.array(list("abcdefgh"), dtype=object)
        return np.asarray(letters[random.integers(0, len(letters), shape)], dtype=object).reshape(shape)
    if dtype == np.bool_:
        # A single boolean is usually a loop condition, and false would run nothing.
        return random.integers(0, 2, shape).astype(bool) if np.prod(shape) != 1 else np.ones(shape, bool)
    if "int" in dtype.name:
        # From 1, since a trip count of 0 runs nothing; the maximum of int2 is 1, of int4 7.
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
