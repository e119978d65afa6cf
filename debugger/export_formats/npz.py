"""``.npz``: values under their names, written so that they can be given as inputs again."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ...runtime.atomic_file import atomic_binary
from ...runtime.dtypes import is_ml_dtype, npy_storage_dtype
from ...runtime.graph import Array, ValueType
from ...runtime.input_validation import Data
from .flatten_values import flatten_values

_NUMPY_KINDS = "biufc"


def write(path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType] = MappingProxyType({})) -> list[str]:
    """Write a file of that very name; returns what there is to say about it, one line each.

    The elements of a sequence are saved as NAME.0, NAME.1, ... An empty optional has nothing that could be saved.

    Raises:
        OSError: the file cannot be written.
    """
    arrays, remarks = flatten_values(values)
    # Not np.savez: it appends a suffix, and no output of its could be called "file".
    with atomic_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            write_npz_member(archive, name, array)
    return [f"{path}: {remark}" for remark in remarks]


class NpzWriter:
    """An ``.npz`` that is written array by array: ``with ArrayFile.create(path) as file``. What NumPy has no type for
    becomes float32 or int8, and text is text."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @classmethod
    @contextmanager
    def create(cls, path: Path) -> Iterator[NpzWriter]:
        """A file that appears when the block ends without an exception.

        Raises:
            OSError: the file cannot be written.
        """
        # Not np.savez: it holds everything in memory first.
        with (
            atomic_binary(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, allowZip64=True) as archive,
        ):
            yield cls(archive)

    def write_array(self, name: str, array: Array) -> None:
        """Write one array."""
        write_npz_member(self._archive, name, _numpy_array(array))

    def write_stacked(self, name: str, shape: tuple[int, ...], parts: Iterable[Array]) -> int:
        """Write one array that comes in parts; returns how many there were."""
        count = 0
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            for part in map(_numpy_array, parts):
                if not count:
                    kind = np.lib.format.dtype_to_descr(part.dtype)
                    header = {"descr": kind, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_2_0(file, header)
                file.write(part.tobytes())
                count += 1
        return count

    def remarks(self) -> list[str]:
        """Everything has room here."""
        return []


def _numpy_array(array: Array) -> Array:
    """What ``.npy`` knows: strings as such, bfloat16, float8, int4 and the like as float32 or int8."""
    if array.dtype.kind in "OUST":
        return array.astype(str)
    if array.dtype.kind in _NUMPY_KINDS and not is_ml_dtype(array.dtype):
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


def write_npz_member(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    """One array of an archive."""
    if array.dtype.hasobject:
        # Strings: as objects they would be pickled.
        array = array.astype(str)
    elif is_ml_dtype(array.dtype):
        array = array.copy().view(npy_storage_dtype(array.dtype))
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
