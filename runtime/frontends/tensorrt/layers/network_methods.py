"""The network's ``add_...`` methods as rows: the layer, and the parameters with their checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..enums import PybindEnum
from ..layer import ITensor, enum_argument, tensor_argument
from ..network import INetworkDefinition
from .argument_checks import bool_argument, int_argument, number_argument, tensors_argument

Layer = TypeVar("Layer", bound=type)

#: Default of a parameter without default.
REQUIRED = object()
TENSORS = Sequence[ITensor]


class Parameter(NamedTuple):
    """A parameter of a method.

    ``kind``: a type; ``label``: the name in errors, by default ``add_x: name``; ``attribute``: the attribute of the
    layer that gets the argument, if its name differs; ``check``: instead of the one of the type.
    """

    kind: Any
    default: Any = REQUIRED
    label: str = ""
    attribute: str = ""
    check: Callable[[Any, str], Any] | None = None

    def check_argument(self, network: INetworkDefinition, value: Any) -> Any:
        """The argument to store; raises for an invalid one."""
        kind, label = self.kind, self.label
        if self.check is not None:
            return self.check(value, label)
        if kind is ITensor:
            return tensor_argument(network, value, label)
        if kind is TENSORS:
            return tensors_argument(network, value, label)
        if kind in _SCALAR_CHECKS:
            return _SCALAR_CHECKS[kind](value, label)
        return enum_argument(kind, value, label) if kind is not Any else value


_SCALAR_CHECKS: dict[Any, Callable[[Any, str], Any]] = {bool: bool_argument, int: int_argument, float: number_argument}


def network_method(name: str, doc: str, /, *tensors: str, **parameters: Any) -> Callable[[Layer], Layer]:
    """Add a method to the network that adds a layer of the decorated class.

    ``tensors``: the names of the first parameters; ``parameters``: each a :class:`Parameter`, its type, or a default.
    Tensors are the inputs of the layer, other arguments its attributes. Names with an underscore are attributes with a
    fixed value.
    """
    fixed = {key: value for key, value in parameters.items() if key.startswith("_")}
    rows = {key: Parameter(ITensor) for key in tensors}
    rows |= {key: _as_parameter(value) for key, value in parameters.items() if key not in fixed}
    rows = {key: row._replace(label=row.label or f"{name}: {key}") for key, row in rows.items()}

    def decorate(layer: Layer) -> Layer:
        bind = _argument_binder(name, rows, layer.__name__)

        @functools.wraps(bind)
        def add(*args: Any, **kwargs: Any) -> Any:
            arguments = bind(*args, **kwargs)
            network = arguments["network"]
            inputs: list[ITensor] = []
            attributes = dict(fixed)
            for key, row in rows.items():
                value = row.check_argument(network, arguments[key])
                if row.kind is ITensor:
                    inputs.append(value)
                elif row.kind is TENSORS:
                    inputs += value
                else:
                    attributes[row.attribute or key] = value
            return layer(network, inputs, **attributes)

        add.__doc__ = doc
        register_method(add)
        return layer

    return decorate


def _argument_binder(name: str, rows: Mapping[str, Parameter], result: str) -> Callable[..., dict[str, Any]]:
    """A function that returns its arguments by name. As in dataclasses, it is compiled: Python checks each call."""
    parameters = ["network: INetworkDefinition"]
    for key, row in rows.items():
        kind = "Sequence[ITensor]" if row.kind is TENSORS else row.kind.__name__
        parameters.append(f"{key}: {kind}" + ("" if row.default is REQUIRED else f" = rows['{key}'].default"))
    namespace: dict[str, Any] = {"rows": rows}
    exec(f"def {name}({', '.join(parameters)}) -> {result}: return locals()", namespace)
    binder: Callable[..., dict[str, Any]] = namespace[name]
    return binder


def unchecked(value: Any, label: str) -> Any:
    """The check of a parameter that is checked later, with the layer's inputs."""
    return value


def register_method(add: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a method of the network; it leaves no layers behind where it raises."""

    @functools.wraps(add)
    def add_with_rollback(network: INetworkDefinition, *args: Any, **kwargs: Any) -> Any:
        count = len(network.layers)
        try:
            return add(network, *args, **kwargs)
        except Exception:
            del network.layers[count:]
            raise

    setattr(INetworkDefinition, add.__name__, add_with_rollback)
    return add


def _as_parameter(row: Any) -> Parameter:
    if isinstance(row, Parameter):
        return row
    return Parameter(type(row), default=row) if isinstance(row, PybindEnum) else Parameter(row)
