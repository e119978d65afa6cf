"""Inputs of one model, or of a reference, as another model takes them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....runtime.errors import InputError
from ....runtime.model import Data, Model, Port
from .value_comparison import dtype_kind


def map_inputs(given: Mapping[str, Data], model: Model, names: Mapping[str, str]) -> dict[str, Data]:
    """The same inputs for another model: by the names that are given, by name, what is left over by position.

    Raises:
        InputError: one holds a number that the dtype of the other model does not.
    """
    ports = [port.name for port in model.inputs]
    found = {names[name]: value for name, value in given.items() if names.get(name) in ports}
    found.update(
        (name, value)
        for name, value in given.items()
        if name in ports and name not in found and names.get(name) not in ports
    )
    for name, value in given.items():
        if name in ports or names.get(name) in ports:
            continue
        dtype = getattr(value, "dtype", None)
        free = [port for port in model.inputs if port.name not in found and port.dtype in (None, dtype)]
        if free:
            found[free[0].name] = value
    return {
        name: _cast_to_port(value, next(p for p in model.inputs if p.name == name)) for name, value in found.items()
    }


def _cast_to_port(value: Data, port: Port) -> Data:
    """A value in the dtype that the other model declares, where that is another of the same kind.

    Raises:
        InputError: it holds a number that this dtype does not.
    """
    given, wanted = getattr(value, "dtype", None), port.dtype
    if given is None or wanted is None or given == wanted or dtype_kind(given) != dtype_kind(wanted):
        return value
    with np.errstate(all="ignore"):
        fitted = np.asarray(value).astype(wanted)
    finite = dtype_kind(wanted) != "f" or np.array_equal(
        np.isfinite(np.asarray(value).astype(np.float64)), np.isfinite(fitted.astype(np.float64))
    )
    if not finite or (dtype_kind(wanted) == "i" and not np.array_equal(fitted, value)):
        raise InputError(
            f"input '{port.name}' is {wanted.name}, which does not hold all numbers of the {given.name} given"
        )
    return fitted
