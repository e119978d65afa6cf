"""``.npz``: values under their names, written so that they can be given as inputs again."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...runtime.dtypes import is_foreign, saved
from ...runtime.graph import Array
from ...runtime.inputs import Data
from .pieces import pieces


def write_npz(path: Path, values: Mapping[str, Data]) -> list[str]:
    """Write a file of that very name; returns what there is to say about it, one line each.

    The elements of a sequence are saved as NAME.0, NAME.1, ... An empty optional has nothing that could be saved.

    Raises:
        OSError: the file cannot be written.
    """
    arrays, remarks = pieces(values)
    # Not np.savez: it appends a suffix, and no output of its could be called "file".
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            write_member(archive, name, array)
    return [f"{path}: {remark}" for remark in remarks]


def write_member(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    """One array of an archive."""
    if array.dtype.hasobject:
        # Strings: as objects they would be pickled.
        array = array.astype(str)
    elif is_foreign(array.dtype):
        array = array.copy().view(saved(array.dtype))
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
