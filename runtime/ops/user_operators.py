"""Operators that a user brings along: Python functions for what nothing here implements.

Packages bring theirs by an entry point of the group ``loopdbg.operators``, a module that registers them when it is
imported::

    [project.entry-points."loopdbg.operators"]
    anything = "my_package.operators"
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ..errors import ModelError, UsageError, one_line
from ..graph import Operation

ENTRY_POINT_GROUP = "loopdbg.operators"
Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
_FUNCTIONS: dict[tuple[str, str], Function] = {}


def operator(domain: str, name: str) -> Callable[[F], F]:
    """Register a Python function for the nodes of an operator that loopdbg has no implementation of.

    >>> @loopdbg.operator("my.domain", "Clamp")
    ... def clamp(x, limit=None, *, low=0.0):
    ...     return np.clip(x, low, limit)

    ``domain``: as the model has it; of an OpenVINO layer its ``version``, such as ``extension``. The function gets the
    inputs by position, as arrays that must not be written to (a list for a sequence, None for an absent one), and the
    attributes by name (those of an OpenVINO layer as text). It returns an array, or a tuple with one for each output.
    It has to give the same for the same inputs: going back in time runs it again.

    A class of ``onnx.reference`` (an ``OpRun`` with a method ``_run``) is taken as well: its ``_run`` is called with
    the inputs and the attributes.

    A later function for the same operator takes the earlier one's place, for models that are compiled from then on.

    Raises:
        UsageError: there is no name, or what is registered is no function.
    """
    if not name or callable(name):
        raise UsageError('an operator has a domain and a name: @loopdbg.operator("my.domain", "Clamp")')

    def register(function: F) -> F:
        _FUNCTIONS["" if domain == "ai.onnx" else domain, name] = _check_function(function, name)
        return function

    return register


def registered_operators() -> dict[tuple[str, str], Function]:
    """What is registered now: by domain and name."""
    return dict(_FUNCTIONS)


def _check_function(given: Any, name: str) -> Function:
    """What is called for a node.

    Raises:
        UsageError: it is no function.
    """
    if isinstance(given, type):
        run = getattr(given, "_run", None)
        if run is None:
            raise UsageError(f"the operator '{name}' is registered as the class {given.__name__}; register a function")
        if run.__module__ == "onnx.reference.op_run":  # that of OpRun, which raises
            raise UsageError(f"the operator '{name}' is registered as {given.__name__}, which has no _run of its own")
        return _from_reference_class(given, run)
    if not callable(given):
        raise UsageError(f"the operator '{name}' is registered as {type(given).__name__}; register a function")
    function: Function = given
    return function


def _from_reference_class(kind: type, run: Any) -> Function:
    """A class of ``onnx.reference`` as a function. It is made without its node, which only its own evaluator has."""
    signature = inspect.signature(run)

    def function(*inputs: Any, **attributes: Any) -> Any:
        made: Any = object.__new__(kind)
        vars(made).update(attributes)
        return run(made, *inputs, **attributes)

    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return function


def resolve_user_operator(node: Operation) -> Callable[..., tuple[Any, ...]] | None:
    """What runs a node by a registered function; None where there is none.

    Raises:
        ModelError: the function does not take what the node has.
    """
    key = node.domain, node.op_type
    if key not in _FUNCTIONS:
        load_entry_points()
    if key not in _FUNCTIONS:
        return None
    return _bind_arguments(node, _FUNCTIONS[key], dict(node.attributes))


def _bind_arguments(
    node: Operation, function: Function, attributes: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    try:
        inspect.signature(function).bind(*node.inputs, **attributes)
    except TypeError as error:
        raise ModelError(f"{node.describe()}: the function registered for it does not fit: {error}") from None
    except ValueError:  # a built-in function without a signature
        pass

    def run(p: Any, *inputs: Any) -> tuple[Any, ...]:
        result = function(*map(_read_only_input, inputs), **attributes)
        return tuple(map(_owned_result, result)) if isinstance(result, tuple) else (_owned_result(result),)

    return run


def _read_only_input(value: Any) -> Any:
    """An input as a function gets it: what others read too is not to be written to."""
    if isinstance(value, list):
        return [_read_only_input(part) for part in value]
    if value is None:
        return None
    view = value.view()
    view.flags.writeable = False
    return view


def _owned_result(value: Any) -> Any:
    """A result that shares memory with nothing."""
    if isinstance(value, list):
        return [_owned_result(part) for part in value]
    if value is None:
        return None
    array = np.array(value, order="C")
    return array.astype(object) if array.dtype.kind in "UST" else array


@cache
def load_entry_points() -> tuple[str, ...]:
    """Import the modules that installed packages name; returns what is wrong with those that cannot be imported."""
    from importlib.metadata import entry_points  # 11 ms, which only models with unknown operators pay

    broken = []
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            broken.append(f"the operators of '{entry.name}' ({entry.value}) cannot be imported: {one_line(error)}")
    return tuple(broken)
