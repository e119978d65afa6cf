"""What a run is given: inputs checked against a signature, and the variables that a model keeps from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .array_interop import to_checked_array
from .errors import InputError, Remedy, UsageError
from .graph import Array, Graph, OptionalType, SequenceType, TensorType, Value, ValueType
from .text import did_you_mean

#: What a model takes and gives: an array, a list of them (a sequence), None (an empty optional).
Data = Any


def variable_inputs(graph: Graph, state: Mapping[str, Data]) -> Iterator[tuple[Value, Data]]:
    """What a graph gets for its variables; those that ``state`` does not have are what they are at first.

    Raises:
        InputError: the model has no such variable, or what is given does not fit it.
    """
    variables = {variable.name: variable for variable in graph.variables}
    for name in state:
        if name not in variables:
            have = ", ".join(f"'{one}'" for one in variables) or "none"
            near = did_you_mean(name, list(variables))
            raise InputError(f"the model has no variable '{name}'{near or f'; it has {have}'}")
    for name, variable in variables.items():
        held = state.get(name)
        if held is None:
            yield variable.state, graph.defaults[variable.state.name]
        else:
            yield variable.state, check_value(name, variable.state.type, held, what="variable")
        if variable.known is not None:
            yield variable.known, np.array(held is not None)


def check_value(
    name: str, declared: ValueType, value: Data, named: dict[str, int] | None = None, *, what: str = "input"
) -> Data:
    """One input checked against its declared type; arrays come back as arrays of the declared dtype.

    ``named`` collects what named dimensions turned out to be, so that two inputs must agree.

    Raises:
        InputError: it does not fit; the text says what is needed and how to give it.
    """
    named = {} if named is None else named
    if isinstance(declared, OptionalType):
        return None if value is None else check_value(name, declared.element, value, named, what=what)
    if isinstance(declared, SequenceType):
        if not isinstance(value, list | tuple):
            raise InputError(f"{what} '{name}' is a sequence ({declared}); give a list of arrays")
        return [check_value(f"{name}[{k}]", declared.element, element, what=what) for k, element in enumerate(value)]
    array = _coerce(f"{what} '{name}'", declared, value)
    _check_shape(name, declared, array, named, what)
    return array


def _coerce(whose: str, declared: TensorType, value: Data) -> Array:
    wanted = declared.dtype
    exact = isinstance(value, np.ndarray | np.generic)
    array = _read_array(whose, declared, value)
    if array.dtype.hasobject and not (
        array.dtype == wanted or all(isinstance(item, str | bytes) for item in array.flat)
    ):
        raise InputError(f"{whose} needs {declared}, got {value!r:.60}")
    if wanted is None:
        return array
    if wanted.hasobject:
        if array.dtype.kind not in "OS":
            raise InputError(f"{whose} needs strings, got {array.dtype.name}")
        return array.astype(object)
    if array.dtype == wanted:
        return array
    if exact:
        raise InputError(
            f"{whose} needs {declared}, got {array.dtype.name} {list(array.shape)}; convert it with "
            f"x.astype('{wanted.name}')"
        )
    if array.dtype.kind not in "biufc" and array.size:
        raise InputError(f"{whose} needs {declared}, got {value!r:.60}")
    with np.errstate(all="ignore"):
        converted = array.astype(wanted)
        if wanted.kind in "iub" and not np.array_equal(converted.astype(array.dtype), array):
            raise InputError(f"{whose} needs {declared}, and {value!r:.60} cannot be given as {wanted.name}")
    return converted


def _read_array(whose: str, declared: TensorType, value: Data) -> Array:
    """What is given as an array, whatever its dtype; a tensor of another framework shares its memory."""
    try:
        found: Array = to_checked_array(value)
    except UsageError as error:
        what = "the rows of the given list have different lengths" if "inhomogeneous" in str(error) else str(error)
        raise InputError(f"{whose} ({declared}): {what}") from None
    return found


def _check_shape(name: str, declared: TensorType, array: Array, named: dict[str, int], what: str) -> None:
    if declared.shape is None:
        return
    fits = len(declared.shape) == array.ndim
    if fits:
        for axis, (least, most) in declared.bounds.items():
            fits = fits and least <= array.shape[axis] and (most is None or array.shape[axis] <= most)
        for wanted, have in zip(declared.shape, array.shape, strict=True):
            if isinstance(wanted, int) and wanted != have:
                fits = False
            elif isinstance(wanted, str) and named.setdefault(wanted, have) != have:
                raise InputError(
                    f"{what} '{name}' {list(array.shape)}: its dimension '{wanted}' is {have}, but another input has "
                    f"{named[wanted]} there"
                )
    if not fits:
        have_text = "a scalar" if array.ndim == 0 else f"shape {list(array.shape)}"
        need = "a scalar" if not declared.shape else f"shape {declared.shape_text()}"
        dtype = "" if declared.dtype is None else f" {declared.dtype.name}"
        remedy = None if what != "input" else Remedy.GIVE_ARRAY if declared.shape else Remedy.GIVE_INPUT
        raise InputError(f"{what} '{name}' needs {need}{dtype}, got {have_text}", remedy, name=name)
