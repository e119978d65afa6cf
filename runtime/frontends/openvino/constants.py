"""Reads the constants of OpenVINO IR: ``Const`` layers and the ``.bin`` with their data.

Data are copied, as another program may write the file while a model is open.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ... import dtypes
from ...errors import ModelError, UnsupportedError, one_line
from ...graph import Array, TensorType
from ...safe_file_reading import StableFile
from .ir_document import IrLayer, IrXml

Bytes = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]
#: Two elements per byte, the first in the low four bits (docs/semantics.md 7.2).
_NIBBLES = ("int4", "uint4", "float4_e2m1fn")
#: Levels of nf4: quantiles of the normal distribution.
_NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022833334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
#: Types of constants only -> the dtype that they are read as, and how many numbers are packed into how many bytes.
_PACKED_TYPES = {
    "u1": ("uint8", 8, 1),
    "bin": ("uint8", 8, 1),
    "u2": ("uint2", 4, 1),
    "u3": ("uint8", 8, 3),
    "u6": ("uint8", 4, 3),
    "nf4": ("float32", 2, 1),
}
#: Values of `element_type` or `precision` for a type that is unknown before the model runs.
_DYNAMIC = ("dynamic", "undefined", "unspecified")


#: Limit for the total size of overlapping constants: a multiple of the file size, and a constant.
_MAX_OVERLAP_FACTOR, _OVERLAP_SLACK_BYTES = 2, 1 << 26


class IrConstantReader:
    """Reads constants from the ``.bin`` of a model, or ``weights``; a context manager that opens the file on first
    use."""

    def __init__(self, document: IrXml, weights: Path | None = None) -> None:
        self.document = document
        self.path = document.path.with_suffix(".bin") if weights is None else weights
        self._file: StableFile | None = None
        #: Cache: (offset, size) -> bytes, as writers store equal constants once.
        self._bytes_by_range: dict[tuple[int, int], Bytes] = {}
        self._bytes_read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._file is None:
            return
        try:
            self._file.__exit__(kind, error, trace)
        except OSError as changed:
            raise ModelError(f"{self.path}: cannot be read: {changed.strerror}") from None

    def read_constant(self, layer: IrLayer) -> Array:
        """The data of a ``Const`` (or ``Constant``) layer, read-only.

        Element type and shape come from ``<data>``, or else from the output port (docs/semantics.md 7.2).

        Raises:
            ModelError: an attribute is missing, the ``.bin`` is missing or too short, or the size too small.
            UnsupportedError: an element type without a NumPy or ``ml_dtypes`` counterpart, or strings.
        """
        type_text = _element_type_text(layer).lower()
        packing = _PACKED_TYPES.get(type_text)
        declared = declared_type(self.document, layer, packing[0] if packing else None)
        dtype, shape = declared.dtype, declared.shape
        if dtype is None:
            raise self.document.error(layer.element, f"{layer}: a constant needs an element_type")
        dims = [dim for dim in shape or () if isinstance(dim, int)]
        if shape is None or len(dims) != len(shape):
            raise self.document.error(layer.element, f"{layer}: a constant needs a shape without unknown dimensions")
        if dtype.hasobject:
            raise self.document.unsupported(
                layer.element,
                f"{layer}: string constants are not supported; give the strings as a model input",
            )
        count = prod(dims)
        is_nibbles = dtype.name in _NIBBLES
        needed = (count + 1) // 2 if is_nibbles else count * dtype.itemsize
        if packing:
            needed = -(-count // packing[1]) * packing[2]
        raw = self._constant_bytes(layer, needed, declared)
        if packing:
            array = _unpack_sub_byte(type_text, raw)[:count].astype(dtype)
        elif is_nibbles:
            array = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(-1)[:count]
            # ml_dtypes stores a four-bit number in a byte and reads only the low four bits.
            array = (((array ^ 8) - 8).view(np.int8) if dtype.name == "int4" else array).view(dtype)
        elif dtype == np.bool_:
            array = raw != 0  # NumPy miscomputes with bytes other than 0 and 1
        else:
            array = raw.view(dtype)
        array.flags.writeable = False
        return array.reshape(dims)

    def _constant_bytes(self, layer: IrLayer, needed: int, declared: TensorType) -> Bytes:
        """The bytes of a constant, checked against the size of its type and of the file."""
        document = self.document
        offset, size = (self._integer_attribute(layer, attribute) for attribute in ("offset", "size"))
        if offset < 0 or size < 0:
            raise document.error(layer.element, f"{layer}: offset {offset}, size {size} cannot be negative")
        if size < needed:
            raise document.error(
                layer.element, f"{layer}: a constant {declared} needs {needed} bytes, its size says {size}"
            )
        if needed == 0:
            return np.empty(0, np.uint8)
        if self._file is None:
            self._file = self._open_weights(layer)
        if offset + size > self._file.size:
            raise document.error(
                layer.element,
                f"{layer}: offset {offset} + size {size} reach beyond the end of {self.path} "
                f"({self._file.size} bytes); is it cut short, or of another model?",
            )
        data = self._bytes_by_range.get((offset, needed))
        if data is None:
            data = self._bytes_by_range[offset, needed] = self._read_bytes(layer, self._file, offset, needed)
        return data

    def _read_bytes(self, layer: IrLayer, file: StableFile, offset: int, size: int) -> Bytes:
        self._bytes_read += size
        if self._bytes_read > _MAX_OVERLAP_FACTOR * file.size + _OVERLAP_SLACK_BYTES:
            raise self.document.error(
                layer.element, f"{layer}: the constants up to here lie in each other, and are larger than {self.path}"
            )
        try:
            out = np.empty(size, np.uint8)
            file.read_into(offset, out)
        except (OSError, MemoryError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or one_line(error)
            raise self.document.error(layer.element, f"{layer}: {self.path} cannot be read: {reason}") from None
        out.flags.writeable = False
        return out

    def _integer_attribute(self, layer: IrLayer, attribute: str) -> int:
        data = layer.element.find("data")
        if data is None:
            raise self.document.error(layer.element, f"{layer} lacks its <data> with offset and size")
        return self.document.integer(data, attribute, str(layer))

    def _open_weights(self, layer: IrLayer) -> StableFile:
        try:
            return StableFile(self.path)
        except FileNotFoundError:
            raise self.document.error(
                layer.element,
                f"{layer} has its data in {self.path}, which does not exist; put the .bin next to the .xml, "
                "or name it as the weights",
            ) from None
        except OSError as error:
            raise self.document.error(
                layer.element, f"{self.path} cannot be read: {error.strerror or one_line(error)}"
            ) from None


def element_type(document: IrXml, layer: IrLayer, type_text: str | None) -> np.dtype[Any] | None:
    """The dtype of ``f32`` or ``FP32``; None for a dynamic type.

    Raises:
        UnsupportedError: an unsupported type; the message names the layer.
    """
    if not type_text or type_text.lower() in _DYNAMIC:
        return None
    try:
        return dtypes.dtype_from_openvino(type_text)
    except UnsupportedError as error:
        raise document.unsupported(layer.element, f"{layer}: {error}; store it as another type") from None


def _element_type_text(layer: IrLayer) -> str:
    port = layer.outputs[0] if layer.outputs else None
    return layer.data.get("element_type") or (port.precision if port else None) or ""


def _unpack_sub_byte(type_text: str, raw: Bytes) -> Array:
    """Unpack numbers that are not whole bytes (docs/semantics.md 7.2)."""
    if type_text in ("u1", "bin"):
        return np.unpackbits(raw)
    if type_text == "u2":
        return np.stack([raw >> shift & 3 for shift in (0, 2, 4, 6)], -1).reshape(-1)
    if type_text == "nf4":
        levels = np.array(_NF4, np.float32)
        return levels[np.stack([raw & 15, raw >> 4], -1).reshape(-1)]
    # Two bytes with the low bits of the numbers, then one with their high bits, the highest bit first.
    low, high = raw.reshape(-1, 3)[:, :2], raw.reshape(-1, 3)[:, 2:]
    width = 2 if type_text == "u3" else 4
    parts = [low >> shift & (1 << width) - 1 for shift in range(8 - width, -1, -width)]
    high_width = 1 if type_text == "u3" else 2
    tops = [high >> shift & (1 << high_width) - 1 for shift in range(8 - high_width, -1, -high_width)]
    numbers = np.stack(parts, -1).reshape(len(raw) // 3, -1) | np.concatenate(tops, -1) << width
    return np.asarray(numbers.reshape(-1))


def declared_type(document: IrXml, layer: IrLayer, stored: str | None = None) -> TensorType:
    """The type of a Parameter or a Const: ``<data>`` first, then its output port (docs/semantics.md 7.2).

    ``stored``: the name of the dtype that a packed constant is read as.
    """
    port = layer.outputs[0] if layer.outputs else None
    shape = layer.data.get("shape")
    return TensorType(
        dtypes.dtype_from_name(stored) if stored else element_type(document, layer, _element_type_text(layer)),
        # A port without <dim> is a scalar here; a type of any rank has the shape "..." in <data>.
        document.shape(layer, shape) if shape is not None else (port.dims if port else ()),
        {} if shape is None else document.bounds(layer, shape),
    )
