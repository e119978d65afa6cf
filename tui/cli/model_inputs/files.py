"""Inputs from files: ``.npy``, ``.npz``, and folders of ONNX test data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....debugger.reference.array_files import (
    open_arrays,
    read_npz,
    read_test_inputs,
    read_test_outputs,
    view_as_declared,
)
from ....runtime.errors import InputError
from ....runtime.graph import Array, TensorType

__all__ = ["read_npy", "read_npz", "read_test_inputs", "read_test_outputs"]


def read_npy(path: Path, declared: TensorType) -> Array:
    """The array of an ``.npy`` file.

    Raises:
        InputError: The file cannot be read, or holds several arrays or pickled objects.
    """
    with open_arrays(path) as loaded:
        if not isinstance(loaded, np.ndarray):
            raise InputError(f"{path}: holds several arrays; give it as --inputs {path}", name=str(path))
        return view_as_declared(loaded, declared)
