"""Reads tensor data from files in the model's folder ("External Data" of the IR specification)."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...graph import Array
from ...safe_file_reading import StableFile, file_changed_error, path_inside_folder
from .proto import TensorProto

#: Element types of which several are packed into a byte.
ELEMENTS_PER_BYTE = {"int4": 2, "uint4": 2, "float4_e2m1fn": 2, "int2": 4, "uint2": 4}


class ExternalDataReader:
    """Reads files of a model's folder. They are opened one at a time: a model may have one for each tensor."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        #: The stamp of each file when it was first opened, to detect changes.
        self._stamps: dict[str, tuple[int, int]] = {}

    def read_tensor(self, tensor: TensorProto, dtype: np.dtype[Any]) -> Array:
        """Read the bytes of a tensor.

        Raises:
            OSError: the file is not in the folder or below, cannot be read, or has changed since the last time.
            ValueError: the number of bytes does not match the tensor.
        """
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location, start = entries.get("location", ""), int(entries.get("offset", 0))
        with StableFile(self._external_file_path(location)) as file:
            if self._stamps.setdefault(location, file.stamp) != file.stamp:
                raise file_changed_error(location)
            count = int(entries.get("length", file.size - start))
            if start < 0 or count < 0 or start + count > file.size:
                raise ValueError(f"{count} bytes from byte {start} on are asked for, and the file has {file.size}")
            needed = -(-prod(tensor.dims) // ELEMENTS_PER_BYTE.get(dtype.name, 1)) * dtype.itemsize
            if count != needed:
                raise ValueError(f"it has {count} bytes, and {dtype.name}{list(tensor.dims)} has {needed}")
            out = np.empty(count, np.uint8)
            file.read_into(start, out)
        out.flags.writeable = False
        return out

    def _external_file_path(self, name: str) -> Path:
        path = path_inside_folder(self._folder, name)
        if ".." in Path(name).parts or path.is_symlink():
            raise OSError(f"'{name}' is a link, or leads out of the folder and back")
        return path
