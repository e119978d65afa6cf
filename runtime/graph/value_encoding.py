"""Bit-exact serialization of values: tensors of every dtype, strings, sequences, and None (an empty optional).

Nothing is pickled: decoding an untrusted file yields only data.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import dtype_from_name as dtype_of
from .loop_graph import Array

#: Pseudo-dtypes.
STRING = "string"
SEQUENCE = "sequence"
NONE = "none"

_HEADER_LENGTH_BYTES = 8  # size of the length field of a sequence's header


class EncodedValue(NamedTuple):
    """A value in a form that a file or a database can store.

    ``dtype``: the dtype's name, or ``string``, ``sequence``, ``none``. ``shape``: None for ``none``; ``(count,)`` for a
    sequence. ``data``: a tensor's elements in C order, little-endian, each of ``itemsize`` bytes (an int4 takes one
    byte); of strings a JSON list of all elements in C order; of a sequence a header and its elements' data.
    """

    dtype: str
    shape: tuple[int, ...] | None
    data: bytes | str | None


def encode_value(value: Any) -> EncodedValue:
    """Encode any value of a model."""
    if value is None:
        return EncodedValue(NONE, None, None)
    if isinstance(value, list | tuple):
        return _encode_sequence(value)
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        return EncodedValue(
            STRING, array.shape, json.dumps([_json_string(e) for e in array.reshape(-1)], ensure_ascii=True)
        )
    return EncodedValue(array.dtype.name, array.shape, to_little_endian(array).tobytes())


def to_little_endian(array: Array) -> Array:
    """The array with little-endian elements."""
    swapped = array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big")
    return array.astype(array.dtype.newbyteorder("<")) if swapped else array


def decode_value(dtype: str, shape: tuple[int, ...] | None, data: bytes | str | None) -> Any:
    """Decode a value into a new array (or list).

    Raises:
        ValueError: the data do not fit dtype and shape.
    """
    if dtype == NONE:
        return None
    if shape is None or data is None:
        raise ValueError(f"a value of type {dtype} has no data")
    if dtype == SEQUENCE:
        return _decode_sequence(shape, data)
    if dtype == STRING:
        return _decode_strings(shape, data)
    if isinstance(data, str):
        raise ValueError(f"a value of type {dtype} has text for data")
    kind = dtype_of(dtype)
    if len(data) != kind.itemsize * math.prod(shape):
        raise ValueError(f"{len(data)} bytes are no {dtype} {list(shape)}")
    array = np.frombuffer(data, kind.newbyteorder("<")).astype(kind, copy=True)
    return array.reshape(shape)


def _json_string(element: Any) -> Any:
    return {"bytes": element.hex()} if isinstance(element, bytes) else str(element)


def _decode_strings(shape: tuple[int, ...], data: bytes | str) -> Array:
    elements = json.loads(data)
    if not isinstance(elements, list) or len(elements) != math.prod(shape):
        raise ValueError(f"the data are no strings of shape {list(shape)}")
    array = np.empty(len(elements), object)
    for k, element in enumerate(elements):
        array[k] = bytes.fromhex(element["bytes"]) if isinstance(element, dict) else str(element)
    return array.reshape(shape)


def _encode_sequence(elements: list[Any] | tuple[Any, ...]) -> EncodedValue:
    header, parts = [], []
    for element in elements:
        dtype, shape, data = encode_value(element)
        raw = data.encode() if isinstance(data, str) else data or b""
        header.append([dtype, shape, len(raw)])
        parts.append(raw)
    text = json.dumps(header).encode()
    return EncodedValue(
        SEQUENCE, (len(elements),), b"".join((len(text).to_bytes(_HEADER_LENGTH_BYTES, "little"), text, *parts))
    )


def _decode_sequence(shape: tuple[int, ...], data: bytes | str) -> list[Any]:
    raw = data.encode() if isinstance(data, str) else data
    start = _HEADER_LENGTH_BYTES + int.from_bytes(raw[:_HEADER_LENGTH_BYTES], "little")
    header = json.loads(raw[_HEADER_LENGTH_BYTES:start])
    if not isinstance(header, list) or len(header) != math.prod(shape):
        raise ValueError(f"the data are no sequence of {list(shape)}")
    values = []
    for dtype, dims, size in header:
        part = raw[start : start + size]
        values.append(decode_value(dtype, None if dims is None else tuple(dims), part))
        start += size
    return values
