"""``.safetensors``: a JSON header followed by the bytes of named tensors (huggingface.co/docs/safetensors)."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ...runtime.atomic_file import atomic_binary
from ...runtime.graph import Array, ValueType
from ...runtime.input_validation import Data
from .flatten_values import flatten_values

#: NumPy dtype name -> dtype name of the format.
_DTYPE_NAMES = {
    **{"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "int32": "I32", "uint32": "U32"},
    **{"int64": "I64", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"},
    **{"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "complex64": "C64"},
}
#: The header is padded to a multiple of this.
_HEADER_ALIGNMENT_BYTES = 8
_COPY_CHUNK_BYTES = 1 << 20


class SafetensorsWriter:
    """A file that is written tensor by tensor: ``with SafetensorsWriter(path) as file``. ``omitted``: reasons of
    unsupported arrays by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: dict[str, Any] = {}
        self._data_end = 0
        self.omitted: dict[str, str] = {}

    def __enter__(self) -> Self:
        # The header precedes the data but is complete only at the end.
        self._data = tempfile.TemporaryFile(dir=self._path.absolute().parent)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        with self._data:
            if kind is None:
                self._write_file()

    def write_array(self, name: str, array: Array) -> None:
        """Write one tensor."""
        self.write_stacked(name, array.shape, [array])

    def write_stacked(self, name: str, shape: tuple[int, ...], parts: Iterable[Array]) -> int:
        """Write one tensor that comes in parts; return the number of parts."""
        start, count, dtype_name = self._data_end, 0, None
        for part in parts:
            count += 1
            dtype_name = _DTYPE_NAMES.get(part.dtype.name)
            if dtype_name is None:
                self.omitted[name] = "text" if part.dtype.kind in "OSUT" else part.dtype.name
                continue
            self._data_end += self._data.write(np.ascontiguousarray(part).tobytes())
        if dtype_name is not None:
            self._header[name] = {"dtype": dtype_name, "shape": list(shape), "data_offsets": [start, self._data_end]}
        return count

    def remarks(self) -> list[str]:
        """Remarks on omitted arrays."""
        return [
            f"'{name}' is {kind}, for which safetensors has no type: left out" for name, kind in self.omitted.items()
        ]

    def _write_file(self) -> None:
        header = json.dumps(self._header, separators=(",", ":")).encode()
        header += b" " * (-len(header) % _HEADER_ALIGNMENT_BYTES)
        with atomic_binary(self._path) as file:
            file.write(len(header).to_bytes(8, "little"))
            file.write(header)
            self._data.seek(0)
            while piece := self._data.read(_COPY_CHUNK_BYTES):
                file.write(piece)


def write(path: Path, values: Mapping[str, Data], types: Mapping[str, ValueType]) -> list[str]:
    """Write named values; the elements of a sequence become NAME.0, NAME.1, ...

    Raises:
        OSError: the file cannot be written.
    """
    arrays, remarks = flatten_values(values)
    with SafetensorsWriter(path) as file:
        for name, array in arrays.items():
            file.write_array(name, array)
    return [f"{path}: {remark}" for remark in (*remarks, *file.remarks())]
