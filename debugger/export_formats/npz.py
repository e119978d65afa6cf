"""``.npz``: values under their names, which can be read back as inputs."""

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
    """Write a file with exactly this name; return remarks, one line each.

    The elements of a sequence are saved as NAME.0, NAME.1, ...; an empty optional is omitted.

    Raises:
        OSError: the file cannot be written.
    """
    arrays, remarks = flatten_values(values)
    # Not np.savez: it appends a suffix, and does not accept an array named "file".
    with atomic_binary(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            write_npz_member(archive, name, array)
    return [f"{path}: {remark}" for remark in remarks]


class NpzWriter:
    """An ``.npz`` that is written array by array: ``with NpzWriter.create(path) as file``. Types that NumPy lacks are
    converted to float32 or int8, and text to strings."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @classmethod
    @contextmanager
    def create(cls, path: Path) -> Iterator[NpzWriter]:
        """Create a file that becomes visible when the block ends without an exception.

        Raises:
            OSError: the file cannot be written.
        """
        # Not np.savez: it keeps all arrays in memory.
        with (
            atomic_binary(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1, allowZip64=True) as archive,
        ):
            yield cls(archive)

    def write_array(self, name: str, array: Array) -> None:
        """Write one array."""
        write_npz_member(self._archive, name, _numpy_array(array))

    def write_stacked(self, name: str, shape: tuple[int, ...], parts: Iterable[Array]) -> int:
        """Write one array that comes in parts; return the number of parts."""
        count = 0
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as file:
            for part in map(_numpy_array, parts):
                if not count:
                    descr = np.lib.format.dtype_to_descr(part.dtype)
                    header = {"descr": descr, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_2_0(file, header)
                file.write(part.tobytes())
                count += 1
        return count

    def remarks(self) -> list[str]:
        """No remarks: the format holds every value."""
        return []


def _numpy_array(array: Array) -> Array:
    """Convert to types of ``.npy``: text to strings, bfloat16, float8, int4 and similar types to float32 or int8."""
    if array.dtype.kind in "OUST":
        return array.astype(str)
    if array.dtype.kind in _NUMPY_KINDS and not is_ml_dtype(array.dtype):
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


def write_npz_member(archive: zipfile.ZipFile, name: str, array: Array) -> None:
    """Write one array of an archive."""
    if array.dtype.hasobject:
        # Strings: object arrays would be pickled.
        array = array.astype(str)
    elif is_ml_dtype(array.dtype):
        array = array.copy().view(npy_storage_dtype(array.dtype))
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
