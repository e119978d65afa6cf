"""Flattens values to named arrays, for file formats that hold nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...runtime.graph import Array
from ...runtime.input_validation import Data


def flatten_values(values: Mapping[str, Data]) -> tuple[dict[str, Array], list[str]]:
    """The arrays, and remarks on other values: the elements of a sequence become NAME.0, NAME.1, ...; an empty optional
    is omitted."""
    arrays: dict[str, Array] = {}
    remarks = []
    for name, value in values.items():
        if isinstance(value, list):
            arrays.update((f"{name}.{k}", np.asarray(element)) for k, element in enumerate(value))
            range_text = f" to {name}.{len(value) - 1}" if len(value) > 1 else ""
            remark = f"saved as {name}.0{range_text}" if value else "is empty and not saved"
            remarks.append(f"the sequence '{name}' {remark}")
        elif value is None:
            remarks.append(f"'{name}' is an empty optional and not saved")
        else:
            arrays[name] = np.asarray(value)
    return arrays, remarks
