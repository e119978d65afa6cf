"""A temporary folder for the data of large models."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..frontends.onnx.external_data import ELEMENTS_PER_BYTE
from ..graph import Array

#: The file with the data of all tensors.
DATA_FILE = "tensors.data"
#: Tensors are page-aligned, so that runtimes can map the file into memory.
_ALIGNMENT_BYTES = 1 << 12
_CHUNK_BYTES = 1 << 24


class ScratchFolder:
    """A temporary folder for the data of large tensors, created on first use and removed with the last reference to it.

    Models that share it share the data: an array is written once.
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._model_count = 0
        #: By identity, each array with its offset and size in the file; the reference keeps the identity in use.
        self._written: dict[int, tuple[Array, int, int]] = {}

    @property
    def path(self) -> Path:
        """The folder.

        Raises:
            OSError: it cannot be created.
        """
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="loopdbg-")
        return Path(self._folder.name)

    def next_model_path(self) -> Path:
        """An unused path for a model file.

        Raises:
            OSError: the folder cannot be created.
        """
        self._model_count += 1
        return self.path / f"model{self._model_count}.onnx"

    def append_array(self, array: Array) -> tuple[int, int]:
        """Write the data of an array, unless they are there already; returns their offset and size in the file.

        Raises:
            OSError: the file cannot be written.
        """
        if id(array) not in self._written:
            if array.dtype.name in ELEMENTS_PER_BYTE:
                import onnx.numpy_helper

                data = np.frombuffer(onnx.numpy_helper.from_array(array).raw_data, np.uint8)
            else:
                data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            with (self.path / DATA_FILE).open("ab") as file:
                start = pad_to_alignment(file)
                for first in range(0, data.size, _CHUNK_BYTES):
                    file.write(data[first : first + _CHUNK_BYTES].data)
            self._written[id(array)] = array, start, data.size
        _, start, size = self._written[id(array)]
        return start, size


def pad_to_alignment(file: BinaryIO) -> int:
    """Pad a file to the alignment of the next tensor; returns its offset."""
    end = file.seek(0, os.SEEK_END)
    start = -(-end // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
    file.write(bytes(start - end))
    return start
