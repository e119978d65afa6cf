"""User operators: Python functions for operators without implementation.

Packages provide operators through an entry point of the group ``loopdbg.operators``, a module that registers them when
it is imported::

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
    """Register a Python function for an operator that loopdbg does not implement.

    >>> @loopdbg.operator("my.domain", "Clamp")
    ... def clamp(x, limit=None, *, low=0.0):
    ...     return np.clip(x, low, limit)

    The function receives the inputs by position, as read-only arrays (a list for a sequence, None for an absent one),
    and the attributes by name (those of an OpenVINO layer as text). It returns an array, or a tuple with one per
    output. It must be deterministic: time travel runs it again. A class of ``onnx.reference`` (an ``OpRun`` with a
    method ``_run``) is accepted too: ``_run`` is called with the inputs and the attributes. A later function for the
    same operator replaces the earlier one in models compiled from then on.

    Args:
        domain: Domain of the operator; for an OpenVINO layer its ``version``, such as ``extension``.
        name: Type of the operator.

    Returns:
        A decorator that registers the function and returns it unchanged.

    Raises:
        UsageError: the name is missing, or the registered object is not a function.
    """
    if not name or callable(name):
        raise UsageError(
            'an operator has a domain and a name: @loopdbg.operator("my.domain", "Clamp")',
            expected="a domain and a name",
        )

    def register(function: F) -> F:
        _FUNCTIONS["" if domain == "ai.onnx" else domain, name] = _to_operator_function(function, name)
        return function

    return register


def registered_operators() -> dict[tuple[str, str], Function]:
    """The registered functions by domain and name."""
    return dict(_FUNCTIONS)


def _to_operator_function(target: Any, name: str) -> Function:
    """Convert a registered object to a function.

    Raises:
        UsageError: it is not a function.
    """
    if isinstance(target, type):
        run = getattr(target, "_run", None)
        if run is None:
            raise UsageError(
                f"the operator '{name}' is registered as the class {target.__name__}; register a function",
                name=name,
                expected="a function",
                got=target.__name__,
            )
        if run.__module__ == "onnx.reference.op_run":  # that of OpRun, which raises
            raise UsageError(
                f"the operator '{name}' is registered as {target.__name__}, which has no _run of its own",
                name=name,
                expected="an OpRun class with _run",
                got=target.__name__,
            )
        return _from_reference_class(target, run)
    if not callable(target):
        raise UsageError(
            f"the operator '{name}' is registered as {type(target).__name__}; register a function",
            name=name,
            expected="a function",
            got=type(target).__name__,
        )
    function: Function = target
    return function


def _from_reference_class(reference_class: type, run: Any) -> Function:
    """Wrap an ``onnx.reference`` class as a function. The instance lacks its node, which only the evaluator has."""
    signature = inspect.signature(run)

    def function(*inputs: Any, **attributes: Any) -> Any:
        instance: Any = object.__new__(reference_class)
        vars(instance).update(attributes)
        return run(instance, *inputs, **attributes)

    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )
    return function


def resolve_user_operator(node: Operation) -> Callable[..., tuple[Any, ...]] | None:
    """A function that runs a node by a registered function; None if none is registered.

    Raises:
        ModelError: the function does not accept the node's inputs or attributes.
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
        raise ModelError(
            f"{node.describe()}: the function registered for it does not fit: {error}", **node.error_fields
        ) from None
    except ValueError:  # a built-in function without a signature
        pass

    def run(p: Any, *inputs: Any) -> tuple[Any, ...]:
        result = function(*map(_read_only_input, inputs), **attributes)
        return tuple(map(_owned_result, result)) if isinstance(result, tuple) else (_owned_result(result),)

    return run


def _read_only_input(value: Any) -> Any:
    """A read-only view of an input, which other nodes may share."""
    if isinstance(value, list):
        return [_read_only_input(part) for part in value]
    if value is None:
        return None
    view = value.view()
    view.flags.writeable = False
    return view


def _owned_result(value: Any) -> Any:
    """A copy of a result that shares no memory."""
    if isinstance(value, list):
        return [_owned_result(part) for part in value]
    if value is None:
        return None
    array = np.array(value, order="C")
    return array.astype(object) if array.dtype.kind in "UST" else array


@cache
def load_entry_points() -> tuple[str, ...]:
    """Import the entry point modules of installed packages; returns error messages of failed imports."""
    from importlib.metadata import entry_points  # lazy: takes 11 ms

    broken = []
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry.load()
        except Exception as error:
            broken.append(f"the operators of '{entry.name}' ({entry.value}) cannot be imported: {one_line(error)}")
    return tuple(broken)
