"""The data of tensors that is in files beside the model ("External Data" of the IR specification)."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...graph import Array
from ...stable_file import StableFile, file_changed_error, path_inside_folder
from .proto import TensorProto

#: Element types of which several are packed into a byte.
ELEMENTS_PER_BYTE = {"int4": 2, "uint4": 2, "float4_e2m1fn": 2, "int2": 4, "uint2": 4}


class ExternalDataReader:
    """The files of a model's folder. They are opened one at a time: a model may have one for each tensor."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        #: What told, when it was first opened, whether a file is still the same.
        self._stamps: dict[str, tuple[int, int]] = {}

    def read_tensor(self, tensor: TensorProto, dtype: np.dtype[Any]) -> Array:
        """The bytes of a tensor.

        Raises:
            OSError: there is no such file in the folder or below, it cannot be read, or it changed since the last time.
            ValueError: they are not as many as the tensor needs.
        """
        said = {entry.key: entry.value for entry in tensor.external_data}
        where, start = said.get("location", ""), int(said.get("offset", 0))
        with StableFile(self._path(where)) as file:
            if self._stamps.setdefault(where, file.stamp) != file.stamp:
                raise file_changed_error(where)
            count = int(said.get("length", file.size - start))
            if start < 0 or count < 0 or start + count > file.size:
                raise ValueError(f"{count} bytes from byte {start} on are asked for, and the file has {file.size}")
            needed = -(-prod(tensor.dims) // ELEMENTS_PER_BYTE.get(dtype.name, 1)) * dtype.itemsize
            if count != needed:
                raise ValueError(f"it has {count} bytes, and {dtype.name}{list(tensor.dims)} has {needed}")
            out = np.empty(count, np.uint8)
            file.read_into(start, out)
        out.flags.writeable = False
        return out

    def _path(self, name: str) -> Path:
        path = path_inside_folder(self._folder, name)
        if ".." in Path(name).parts or path.is_symlink():
            raise OSError(f"'{name}' is a link, or leads out of the folder and back")
        return path
