"""Inputs out of files: ``.npy``, ``.npz``, and folders of ONNX test data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...debugger.reference.array_files import as_declared, opened_arrays, read_folder, read_npz, read_outputs
from ...runtime.errors import InputError
from ...runtime.graph import Array, TensorType

__all__ = ["read_folder", "read_npy", "read_npz", "read_outputs"]


def read_npy(path: Path, declared: TensorType) -> Array:
    """The array of an ``.npy`` file.

    Raises:
        InputError: it cannot be read, or holds more than one array, or pickled objects.
    """
    with opened_arrays(path) as loaded:
        if not isinstance(loaded, np.ndarray):
            raise InputError(f"{path}: holds several arrays; give it as --inputs {path}")
        return as_declared(loaded, declared)
