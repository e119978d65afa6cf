"""Values as arrays with names, for files that hold nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...runtime.graph import Array
from ...runtime.input_validation import Data


def flatten_values(values: Mapping[str, Data]) -> tuple[dict[str, Array], list[str]]:
    """The arrays, and what is to be said about the rest, one line each: the elements of a sequence become NAME.0,
    NAME.1, ..., and an empty optional has nothing that could be saved."""
    arrays: dict[str, Array] = {}
    remarks = []
    for name, value in values.items():
        if isinstance(value, list):
            arrays.update((f"{name}.{k}", np.asarray(element)) for k, element in enumerate(value))
            last = f" to {name}.{len(value) - 1}" if len(value) > 1 else ""
            told = f"saved as {name}.0{last}" if value else "is empty and not saved"
            remarks.append(f"the sequence '{name}' {told}")
        elif value is None:
            remarks.append(f"'{name}' is an empty optional and not saved")
        else:
            arrays[name] = np.asarray(value)
    return arrays, remarks
