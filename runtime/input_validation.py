"""Validation of run inputs against the signature, and of a model's persistent variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from .array_interop import to_checked_array
from .errors import InputError, Remedy, UsageError
from .graph import Array, Graph, OptionalType, SequenceType, TensorType, Value, ValueType
from .text import did_you_mean

#: Model inputs and outputs: an array; seldom a list of arrays (a sequence) or None (an empty optional). Any covers
#: these, so that callers need no isinstance for the usual case.
Data: TypeAlias = Array | Any


def variable_inputs(graph: Graph, state: Mapping[str, Data]) -> Iterator[tuple[Value, Data]]:
    """The inputs of a graph for its variables; those missing in ``state`` have their initial values.

    Raises:
        InputError: a variable is unknown, or its value does not match.
    """
    variables = {variable.name: variable for variable in graph.variables}
    for name in state:
        if name not in variables:
            available = ", ".join(f"'{variable_name}'" for variable_name in variables) or "none"
            suggestion = did_you_mean(name, list(variables))
            raise InputError(f"the model has no variable '{name}'{suggestion or f'; it has {available}'}", name=name)
    for name, variable in variables.items():
        given_value = state.get(name)
        if given_value is None:
            yield variable.state, graph.defaults[variable.state.name]
        else:
            yield variable.state, check_value(name, variable.state.type, given_value, what="variable")
        if variable.known is not None:
            yield variable.known, np.array(given_value is not None)


def check_value(
    name: str, declared: ValueType, value: Data, named: dict[str, int] | None = None, *, what: str = "input"
) -> Data:
    """Check an input against its declared type; returns arrays of the declared dtype.

    ``named`` collects the sizes of named dimensions, so that inputs must agree.

    Raises:
        InputError: it does not match; the message states the requirement and the remedy.
    """
    named = {} if named is None else named
    if isinstance(declared, OptionalType):
        return None if value is None else check_value(name, declared.element, value, named, what=what)
    if isinstance(declared, SequenceType):
        if not isinstance(value, list | tuple):
            raise InputError(
                f"{what} '{name}' is a sequence ({declared}); give a list of arrays",
                name=name,
                expected=str(declared),
                got=type(value).__name__,
            )
        return [check_value(f"{name}[{k}]", declared.element, element, what=what) for k, element in enumerate(value)]
    array = _coerce_to_array(name, declared, value, what)
    _check_shape(name, declared, array, named, what)
    return array


def _coerce_to_array(name: str, declared: TensorType, value: Data, what: str) -> Array:
    def mismatch(problem: str, got: str) -> InputError:
        return InputError(f"{subject} {problem}", name=name, expected=str(declared), got=got)

    subject = f"{what} '{name}'"
    dtype = declared.dtype
    is_array = isinstance(value, np.ndarray | np.generic)
    array = _read_array(name, subject, declared, value)
    if array.dtype.hasobject and not (
        array.dtype == dtype or all(isinstance(item, str | bytes) for item in array.flat)
    ):
        raise mismatch(f"needs {declared}, got {value!r:.60}", f"{value!r:.60}")
    if dtype is None:
        return array
    if dtype.hasobject:
        if array.dtype.kind not in "OS":
            raise mismatch(f"needs strings, got {array.dtype.name}", array.dtype.name)
        return array.astype(object)
    if array.dtype == dtype:
        return array
    if is_array:
        got = f"{array.dtype.name} {list(array.shape)}"
        raise mismatch(f"needs {declared}, got {got}; convert it with x.astype('{dtype.name}')", got)
    if array.dtype.kind not in "biufc" and array.size:
        raise mismatch(f"needs {declared}, got {value!r:.60}", f"{value!r:.60}")
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
        if dtype.kind in "iub" and not np.array_equal(converted.astype(array.dtype), array):
            raise mismatch(f"needs {declared}, and {value!r:.60} cannot be given as {dtype.name}", f"{value!r:.60}")
    return converted


def _read_array(name: str, subject: str, declared: TensorType, value: Data) -> Array:
    """Convert a value to an array of any dtype; a tensor of another framework shares its memory."""
    try:
        array: Array = to_checked_array(value)
    except UsageError as error:
        problem = "the rows of the given list have different lengths" if "inhomogeneous" in str(error) else str(error)
        raise InputError(f"{subject} ({declared}): {problem}", name=name, expected=str(declared)) from None
    return array


def _check_shape(name: str, declared: TensorType, array: Array, named: dict[str, int], what: str) -> None:
    if declared.shape is None:
        return
    fits = len(declared.shape) == array.ndim
    if fits:
        for axis, (minimum, maximum) in declared.bounds.items():
            fits = fits and minimum <= array.shape[axis] and (maximum is None or array.shape[axis] <= maximum)
        for declared_size, size in zip(declared.shape, array.shape, strict=True):
            if isinstance(declared_size, int) and declared_size != size:
                fits = False
            elif isinstance(declared_size, str) and named.setdefault(declared_size, size) != size:
                raise InputError(
                    f"{what} '{name}' {list(array.shape)}: its dimension '{declared_size}' is {size}, but another "
                    f"input has {named[declared_size]} there",
                    name=name,
                    expected=f"{declared_size}={named[declared_size]}",
                    got=f"{declared_size}={size}",
                )
    if not fits:
        have_text = "a scalar" if array.ndim == 0 else f"shape {list(array.shape)}"
        expected = "a scalar" if not declared.shape else f"shape {declared.shape_text()}"
        dtype = "" if declared.dtype is None else f" {declared.dtype.name}"
        remedy = None if what != "input" else Remedy.GIVE_ARRAY if declared.shape else Remedy.GIVE_INPUT
        raise InputError(
            f"{what} '{name}' needs {expected}{dtype}, got {have_text}",
            remedy,
            name=name,
            expected=str(declared),
            got=have_text,
        )


def resolve_aliases(graph: Graph, inputs: Mapping[str, Data]) -> Mapping[str, Data]:
    """Replace aliases of inputs by their names."""
    if inputs.keys() <= {value.name for value in graph.inputs}:
        return inputs
    aliases = {alias: name for alias, name in graph.aliases.items() if name not in inputs}
    return {aliases.get(name, name): value for name, value in inputs.items()}
