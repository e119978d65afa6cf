"""Exports a tensor, or a part of one, as NumPy source text or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.atomic_file import atomic_binary
from ...runtime.dtypes import is_ml_dtype, npy_storage_dtype
from ...runtime.errors import UsageError, file_error
from ...runtime.graph import Array
from ...runtime.text import group_digits
from .tensor_statistics import CHUNK_ELEMENTS, TensorRef

#: The most elements written as text.
MAX_TEXT_ELEMENTS = 10_000


def numpy_text(array: Array) -> str:
    """A NumPy expression (with ``np`` and ``ml_dtypes``) that evaluates to the array.

    Raises:
        UsageError: the array is too large for text.
    """
    if array.size > MAX_TEXT_ELEMENTS:
        raise UsageError(
            f"{group_digits(array.size)} elements are too many for text (at most {group_digits(MAX_TEXT_ELEMENTS)});"
            " take a slice, or save it",
            expected=f"at most {MAX_TEXT_ELEMENTS} elements",
            got=str(array.size),
        )
    name = array.dtype.name
    if array.dtype.kind in "OUST":
        dtype = "object"
    elif is_ml_dtype(array.dtype):
        dtype = f"ml_dtypes.{name}"
    else:
        dtype = "bool" if name == "bool" else f"np.{name}"
    body = _list_text(array.astype(np.float64) if is_ml_dtype(array.dtype) and "int" not in name else array)
    text = f"np.array({body}, dtype={dtype})"
    return f"{text}.reshape({array.shape})" if not array.size and array.ndim > 1 else text


def _list_text(array: Array) -> str:
    if array.ndim == 0:
        return _element_text(array[()])
    return "[" + ", ".join(_list_text(row) if array.ndim > 1 else _element_text(row) for row in array) + "]"


def _element_text(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) and not is_ml_dtype(value.dtype) else value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, bool | str | int):
        return repr(value)
    if isinstance(value, complex):
        return f"complex({_element_text(value.real)}, {_element_text(value.imag)})"
    if isinstance(value, float):
        text = repr(value)
        return text.replace("nan", "np.nan").replace("inf", "np.inf")
    return str(int(value))


def save_npy(path: Path, tensor: TensorRef) -> None:
    """Write a tensor as ``.npy``, part by part. ``bfloat16`` and similar types are saved as bytes, as NumPy does.

    Raises:
        UsageError: the file has another suffix, already exists or cannot be written.
    """
    if path.suffix != ".npy":
        raise UsageError(f"{path}: name it .npy", name=str(path), expected=".npy")
    if path.exists():
        raise UsageError(f"{path}: is there already; give another name", name=str(path), expected="a new file")
    dtype = tensor.dtype
    strings: Array | None = None
    if dtype.hasobject:
        # Strings: as objects they would be pickled.
        strings = np.asarray(tensor).astype(str)
        dtype = strings.dtype
    header = {
        "descr": np.lib.format.dtype_to_descr(npy_storage_dtype(dtype)),
        "fortran_order": False,
        "shape": tensor.shape,
    }
    try:
        with atomic_binary(path) as file:
            np.lib.format.write_array_header_1_0(file, header)
            if strings is not None:
                file.write(np.ascontiguousarray(strings).tobytes())
            else:
                for _, part in tensor.chunks(size=16 * CHUNK_ELEMENTS):
                    file.write(part.tobytes())
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None
