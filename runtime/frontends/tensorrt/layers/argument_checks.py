"""What the layer families ask of arguments and types, in one voice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import Dim, TensorType
from ....ops.operator_helpers import is_float, is_integer
from ..checked_attribute import Check, ownerless_check
from ..dims import sizes_of
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..script_location import ArgumentError, caller_location


def number_argument(value: Any, what: str) -> float:
    """An argument that has to be a number.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, bool | str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise ArgumentError(f"{caller_location()}: {what} must be a number, not {value!r:.60}")
    return float(value)


def int_argument(value: Any, what: str) -> int:
    """An argument that has to be a whole number.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise ArgumentError(f"{caller_location()}: {what} must be a whole number, not {value!r:.60}")
    return int(value.__index__())


def bool_argument(value: Any, what: str) -> bool:
    """An argument that has to be true or false.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{caller_location()}: {what} must be True or False, not {value!r:.60}")
    return bool(value)


def enum_check(kind: type[Any]) -> Check:
    """The check of an attribute that has to be of an enum."""
    return ownerless_check(lambda given, what: enum_argument(kind, given, what))


def ints_argument(value: Any, what: str) -> tuple[int, ...]:
    """An argument that has to be Dims or another sequence of whole numbers.

    Raises:
        ArgumentError: it is something else.
    """
    return sizes_of(value, what)


def require_dtype_kind(layer: ILayer, index: int, kind: TensorType, wanted: str) -> None:
    """Hold an input to a kind of types: ``float``, ``number`` (floats and integers), ``integer``, ``bool``.

    Raises:
        ModelError: it has another one.
    """
    dtype = kind.dtype
    if dtype is None:
        return
    whole = is_integer(dtype)
    fits = {
        "float": is_float(dtype),
        "number": is_float(dtype) or whole,
        "integer": whole,
        "index": dtype in (np.int32, np.int64),
        "bool": dtype == np.bool_,
    }[wanted]
    if not fits:
        words = {
            "float": "a floating-point type",
            "number": "floating-point numbers or integers",
            "integer": "integers",
            "index": "int32 or int64",
            "bool": "bool",
        }
        raise layer.error(
            f"it takes {words[wanted]}, and {layer.required_input(index)} is {dtype.name}; add_cast converts"
        )


def require_equal_dtypes(layer: ILayer, types: Sequence[TensorType]) -> None:
    """Hold the inputs that are there to one type.

    Raises:
        ModelError: two differ.
    """
    known = [(k, kind.dtype) for k, kind in enumerate(types) if kind.dtype is not None]
    for k, dtype in known[1:]:
        if dtype != known[0][1]:
            first = layer.required_input(known[0][0])
            raise layer.error(
                f"its inputs must be of one type, and {first} is {known[0][1].name}, {layer.required_input(k)} "
                f"{dtype.name};"
                " add_cast converts"
            )


def checked_rank(layer: ILayer, index: int, kind: TensorType, least: int, most: int | None = None) -> int | None:
    """The rank of an input, if it is known.

    Raises:
        ModelError: it is another one than the layer takes.
    """
    if kind.shape is None:
        return None
    rank = len(kind.shape)
    if rank < least or (most is not None and rank > most):
        wanted = f"{least}" if most == least else f"at least {least}" if most is None else f"{least} to {most}"
        raise layer.error(
            f"it takes {wanted} dimensions, and {layer.required_input(index)} has the shape {kind.shape_text()}"
        )
    return rank


def axis_argument(layer: ILayer, axis: int, rank: int, what: str = "its axis") -> int:
    """An axis from 0 to rank - 1.

    Raises:
        ModelError: there is none such.
    """
    if not 0 <= axis < rank:
        has = f"it may be 0 to {rank - 1}" if rank else "a scalar has none"
        raise layer.error(f"{what} is {axis}, and {layer.required_input(0)} has {rank} dimensions; {has}")
    return axis


def third_from_end(layer: ILayer) -> int:
    """The axis of layers whose axis was not set."""
    return max(0, len(layer.required_input(0).type.shape or ()) - 3)


def axes_from_mask(layer: ILayer, mask: int, rank: int) -> tuple[int, ...]:
    """The axes of a mask: bit k stands for axis k.

    Raises:
        ModelError: it names none, or one that is not there.
    """
    axes = tuple(k for k in range(mask.bit_length()) if mask >> k & 1)
    if mask <= 0 or axes[-1] >= rank:
        raise layer.error(
            f"its axes are the mask {mask:#b}, and {layer.required_input(0)} has {rank} dimensions: bit k stands for "
            "axis k, as"
            f" in 1 << {max(rank - 1, 0)}"
        )
    return axes


def static_shape(shape: Sequence[Dim] | None) -> tuple[int, ...] | None:
    """A shape of numbers only; None where something of it is not known."""
    if shape is None:
        return None
    sizes = tuple(size for size in shape if isinstance(size, int))
    return sizes if len(sizes) == len(shape) else None


def tensors_argument(network: Any, tensors: Any, what: str) -> list[ITensor]:
    """An argument that has to be a list or tuple of tensors.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(tensors, ITensor) or not isinstance(tensors, list | tuple):
        raise ArgumentError(f"{caller_location()}: {what} takes a list of tensors, not {type(tensors).__name__}")
    return [tensor_argument(network, tensor, f"{what}: tensor {k}") for k, tensor in enumerate(tensors)]
