"""The data of tensors that is in files beside the model ("External Data" of the IR specification)."""

from __future__ import annotations

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ...files import Held, changed, inside
from ...graph import Array
from .proto import TensorProto

#: Element types of which several are packed into a byte.
ELEMENTS_PER_BYTE = {"int4": 2, "uint4": 2, "float4_e2m1fn": 2, "int2": 4, "uint2": 4}


class Beside:
    """The files of a model's folder. They are opened one at a time: a model may have one for each tensor."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        #: What told, when it was first opened, whether a file is still the same.
        self._states: dict[str, tuple[int, int]] = {}

    def data(self, tensor: TensorProto, dtype: np.dtype[Any]) -> Array:
        """The bytes of a tensor.

        Raises:
            OSError: there is no such file in the folder or below, it cannot be read, or it changed since the last time.
            ValueError: they are not as many as the tensor needs.
        """
        said = {entry.key: entry.value for entry in tensor.external_data}
        where, start = said.get("location", ""), int(said.get("offset", 0))
        with Held(self._path(where)) as file:
            if self._states.setdefault(where, file.state) != file.state:
                raise changed(where)
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
        path = inside(self._folder, name)
        if ".." in Path(name).parts or path.is_symlink():
            raise OSError(f"'{name}' is a link, or leads out of the folder and back")
        return path
