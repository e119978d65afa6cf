"""Checks of arguments and types, with consistent messages, for the layer families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....graph import Dim, TensorType
from ....ops.operator_helpers import is_float, is_integer
from ..checked_attribute import Check, ownerless_check
from ..layer import ILayer, InputCheck, ITensor, enum_argument, tensor_argument
from ..script_location import argument_error


def number_argument(value: Any, label: str) -> float:
    """Check that an argument is a number.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, bool | str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise argument_error(
            f"{label} must be a number, not {value!r:.60}", name=label, expected="a number", got=repr(value)
        )
    return float(value)


def int_argument(value: Any, label: str) -> int:
    """Check that an argument is an integer.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise argument_error(
            f"{label} must be a whole number, not {value!r:.60}", name=label, expected="a whole number", got=repr(value)
        )
    return int(value.__index__())


def bool_argument(value: Any, label: str) -> bool:
    """Check that an argument is a Boolean.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(value, bool | np.bool_):
        raise argument_error(
            f"{label} must be True or False, not {value!r:.60}", name=label, expected="True or False", got=repr(value)
        )
    return bool(value)


def enum_check(kind: type[Any]) -> Check:
    """A check that an attribute is a member of an enum."""
    return ownerless_check(lambda value, label: enum_argument(kind, value, label))


#: Kinds of types: a description and a test.
_DTYPE_KINDS: dict[str, tuple[str, Callable[[np.dtype[Any]], bool]]] = {
    "float": ("a floating-point type", is_float),
    "number": ("floating-point numbers or integers", lambda dtype: is_float(dtype) or is_integer(dtype)),
    "index": ("int32 or int64", lambda dtype: dtype in (np.int32, np.int64)),
    "bool": ("bool", lambda dtype: dtype == np.bool_),
}


def type_and_rank_check(index: int, dtypes: str = "", low: int = 0, high: int | None = None) -> InputCheck:
    """A check of an input: its kind of type (:func:`require_dtype_kind`), if one is named, and its rank."""

    def check(layer: ILayer, types: Sequence[TensorType]) -> None:
        if index < len(types):
            if dtypes:
                require_dtype_kind(layer, index, types[index], dtypes)
            checked_rank(layer, index, types[index], low, high)

    return check


def same_types_check(*indices: int) -> InputCheck:
    """A check that inputs, by default all, have the same type."""

    def check(layer: ILayer, types: Sequence[TensorType]) -> None:
        compared = [kind if not indices or k in indices else TensorType() for k, kind in enumerate(types)]
        require_equal_dtypes(layer, compared)

    return check


def sizes_differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes are known and different."""
    return isinstance(a, int) and isinstance(b, int) and a != b


def require_dtype_kind(layer: ILayer, index: int, kind: TensorType, expected: str) -> None:
    """Check the kind of an input's type: a key of ``_DTYPE_KINDS``.

    Raises:
        ModelError: it has a type of another kind.
    """
    description, fits = _DTYPE_KINDS[expected]
    if kind.dtype is not None and not fits(kind.dtype):
        raise layer.error(
            f"it takes {description}, and {layer.required_input(index)} is {kind.dtype.name}; add_cast converts"
        )


def require_equal_dtypes(layer: ILayer, types: Sequence[TensorType]) -> None:
    """Check that all present inputs have the same type.

    Raises:
        ModelError: two types differ.
    """
    known = [(k, kind.dtype) for k, kind in enumerate(types) if kind.dtype is not None]
    for k, dtype in known[1:]:
        if dtype != known[0][1]:
            first = layer.required_input(known[0][0])
            raise layer.error(
                f"its inputs must be of one type, and {first} is {known[0][1].name}, {layer.required_input(k)} "
                f"{dtype.name}; add_cast converts"
            )


def checked_rank(layer: ILayer, index: int, kind: TensorType, low: int, high: int | None = None) -> int | None:
    """Check the rank of an input; returns it, if it is known.

    Raises:
        ModelError: the layer does not accept the rank.
    """
    if kind.shape is None:
        return None
    rank = len(kind.shape)
    if rank < low or (high is not None and rank > high):
        expected = f"{low}" if high == low else f"at least {low}" if high is None else f"{low} to {high}"
        raise layer.error(
            f"it takes {expected} dimensions, and {layer.required_input(index)} has the shape {kind.shape_text()}"
        )
    return rank


def axis_argument(layer: ILayer, axis: int, rank: int, label: str = "its axis") -> int:
    """Check that an axis is from 0 to rank - 1.

    Raises:
        ModelError: the axis is out of range.
    """
    if not 0 <= axis < rank:
        allowed = f"it may be 0 to {rank - 1}" if rank else "a scalar has none"
        raise layer.error(
            f"{label} is {axis}, and {layer.required_input(0)} has {rank} dimensions; {allowed}",
            name=label,
            expected=allowed,
            got=str(axis),
        )
    return axis


def third_axis_from_end(layer: ILayer) -> int:
    """The default axis of layers: the third from the end."""
    return max(0, len(layer.required_input(0).type.shape or ()) - 3)


def axes_from_mask(layer: ILayer, mask: int, rank: int) -> tuple[int, ...]:
    """The axes of a mask: bit k means axis k.

    Raises:
        ModelError: the mask is empty, or has an axis that is out of range.
    """
    axes = tuple(k for k in range(mask.bit_length()) if mask >> k & 1)
    if mask <= 0 or axes[-1] >= rank:
        raise layer.error(
            f"its axes are the mask {mask:#b}, and {layer.required_input(0)} has {rank} dimensions: bit k means axis k,"
            f" as in 1 << {max(rank - 1, 0)}"
        )
    return axes


def static_shape(shape: Sequence[Dim] | None) -> tuple[int, ...] | None:
    """A shape of known sizes; None where a size is unknown."""
    if shape is None:
        return None
    sizes = tuple(size for size in shape if isinstance(size, int))
    return sizes if len(sizes) == len(shape) else None


def tensors_argument(network: Any, tensors: Any, label: str) -> list[ITensor]:
    """Check that an argument is a list or tuple of tensors.

    Raises:
        ArgumentError: it is something else.
    """
    if isinstance(tensors, ITensor) or not isinstance(tensors, list | tuple):
        raise argument_error(
            f"{label} takes a list of tensors, not {type(tensors).__name__}",
            name=label,
            expected="a list of tensors",
            got=type(tensors).__name__,
        )
    return [tensor_argument(network, tensor, f"{label}: tensor {k}") for k, tensor in enumerate(tensors)]
