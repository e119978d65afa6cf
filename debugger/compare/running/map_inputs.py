"""Maps the inputs of a model or a reference to those of another model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....runtime.errors import InputError
from ....runtime.model import Data, Model, Port
from .value_comparison import dtype_kind


def map_inputs(inputs: Mapping[str, Data], model: Model, names: Mapping[str, str]) -> dict[str, Data]:
    """Map inputs to another model: by given names, by name, the rest by position.

    Raises:
        InputError: a number does not fit the dtype of the other model.
    """
    ports = [port.name for port in model.inputs]
    mapped = {names[name]: value for name, value in inputs.items() if names.get(name) in ports}
    mapped.update(
        (name, value)
        for name, value in inputs.items()
        if name in ports and name not in mapped and names.get(name) not in ports
    )
    for name, value in inputs.items():
        if name in ports or names.get(name) in ports:
            continue
        dtype = getattr(value, "dtype", None)
        free = [port for port in model.inputs if port.name not in mapped and port.dtype in (None, dtype)]
        if free:
            mapped[free[0].name] = value
    return {
        name: _cast_to_port(value, next(p for p in model.inputs if p.name == name)) for name, value in mapped.items()
    }


def unmapped_right_ports(left: Model, right: Model, names: Mapping[str, str]) -> list[Port]:
    """The inputs of the right model that none of the left one is mapped to."""
    samples = {port.name: np.zeros((), np.float32 if port.dtype is None else port.dtype) for port in left.inputs}
    mapped = map_inputs(samples, right, names)
    return [port for port in right.inputs if port.name not in mapped]


def inputs_of_model(inputs: Mapping[str, Data], model: Model) -> dict[str, Data]:
    """Those of the inputs of several models that one has."""
    ports = {port.name for port in model.inputs}
    return {name: value for name, value in inputs.items() if name in ports}


def _cast_to_port(value: Data, port: Port) -> Data:
    """Cast a value to the dtype that the other model declares, if it has the same kind.

    Raises:
        InputError: a number does not fit the dtype.
    """
    dtype, target = getattr(value, "dtype", None), port.dtype
    if dtype is None or target is None or dtype == target or dtype_kind(dtype) != dtype_kind(target):
        return value
    with np.errstate(all="ignore"):
        cast = np.asarray(value).astype(target)
    same_finite = dtype_kind(target) != "f" or np.array_equal(
        np.isfinite(np.asarray(value).astype(np.float64)), np.isfinite(cast.astype(np.float64))
    )
    if not same_finite or (dtype_kind(target) == "i" and not np.array_equal(cast, value)):
        raise InputError(
            f"input '{port.name}' is {target.name}, which does not hold all numbers of the {dtype.name} given"
        )
    return cast
