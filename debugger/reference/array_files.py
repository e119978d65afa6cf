"""Values from files: ``.npy``, ``.npz``, and folders of ONNX test data."""

from __future__ import annotations

import errno
import io
import os
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...runtime.dtypes import npy_storage_dtype
from ...runtime.errors import InputError, file_error, one_line
from ...runtime.graph import ANY_TYPE, Array, OptionalType, SequenceType, TensorType, ValueType
from ...runtime.model import Data, Port
from ...runtime.safe_file_reading import open_regular_file, path_inside_folder
from ...runtime.text import count_text

#: The name of float8_e5m2 in the header of an array.
_FLOAT8_E5M2_HEADER = "'<f1'"
#: Exceptions of NumPy, the zip archive, its compression and the header parser for a broken file.
_READ_ERRORS = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, RuntimeError, SyntaxError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)


def read_arrays(path: Path) -> dict[str, Array]:
    """Return all arrays of an ``.npz`` file, by name, unconverted; for dtypes that NumPy lacks, the bytes.

    Raises:
        InputError: the file cannot be read, is no archive, or contains pickled data or something that is no array.
    """
    with open_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; save arrays by name with np.savez")
        return {name: read_archive_array(path, archive, name, ANY_TYPE) for name in archive.files}


def read_test_outputs(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Return the outputs of a folder of ONNX test data: ``output_K.pb`` is output K; empty if there are none.

    Raises:
        InputError: more files than the model has outputs, or an unreadable one.
    """
    return _read_numbered_tensors(path, "output", ports)


def read_test_inputs(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Return the inputs of a folder of ONNX test data: ``input_K.pb`` is input K.

    Raises:
        InputError: no files, more than the model has inputs, or an unreadable one.
    """
    values = _read_numbered_tensors(path, "input", ports)
    if not values and ports:
        sets = sorted(inner.name for inner in path.glob("test_data_set_*"))
        hint = f"; give one of its folders, such as {path / sets[0]}" if sets else ""
        raise InputError(f"{path}: the folder holds no input_0.pb{hint}")
    return values


def read_npz(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Return all values of an ``.npz`` file, by name. A sequence NAME has the entries NAME.0, NAME.1, ...

    Raises:
        InputError: the file or a required entry cannot be read, or is pickled.
    """
    with open_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; give it as the value of one input")
        types = {name: port.type for port in ports for name in (port.name, *port.aliases)}
        values: dict[str, Data] = {}
        elements: dict[str, dict[int, Data]] = {}
        for entry in archive.files:
            name, _, number = entry.rpartition(".")
            if entry in types or not (isinstance(_unwrap_optional(types.get(name)), SequenceType) and number.isdigit()):
                # Values that are not in the model are not read; only their names are reported.
                values[entry] = read_archive_array(path, archive, entry, types[entry]) if entry in types else None
            else:
                elements.setdefault(name, {})[int(number)] = read_archive_array(path, archive, entry, types[name])
        for name, parts in elements.items():
            values[name] = [parts[number] for number in sorted(parts)]
        return values


def _unwrap_optional(port_type: ValueType | None) -> ValueType | None:
    return port_type.element if isinstance(port_type, OptionalType) else port_type


def _read_numbered_tensors(path: Path, prefix: str, ports: Sequence[Port]) -> dict[str, Data]:
    """The tensors of a folder of test data whose file names begin with ``prefix``, by their names in the model."""
    files = {}
    for file in path.iterdir():
        match = re.fullmatch(rf"{prefix}_(\d+)\.pb", file.name)
        if match:
            files[int(match[1])] = file
    excess = [files[number] for number in sorted(files) if number >= len(ports)]
    if excess:
        count = count_text(len(ports), prefix)
        raise InputError(
            f"{excess[0]}: the model has only {count}; this folder belongs to another model",
            name=str(excess[0]),
            expected=str(count),
        )
    return {ports[number].name: _read_protobuf_value(files[number], ports[number].type) for number in sorted(files)}


@contextmanager
def open_arrays(path: Path) -> Iterator[Any]:
    """Open a file with ``np.load`` without pickle support; close it at the end.

    Raises:
        InputError: it cannot be read.
    """
    try:
        file = open_regular_file(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise file_error(InputError, path, "cannot be read", error) from None
    with file:
        try:
            loaded = _load_npy(file)
        except MemoryError:
            raise InputError(f"{path}: too large for the memory, or damaged", name=str(path)) from None
        except _READ_ERRORS as error:
            raise InputError(f"{path}: {_read_error_text(error)}") from None
        with nullcontext(loaded) if isinstance(loaded, np.ndarray) else loaded:
            yield loaded


def read_archive_array(path: Path, archive: Any, name: str, port_type: ValueType) -> Array:
    """Return one array of an archive.

    Raises:
        InputError: it cannot be read, is no array, or is pickled.
    """
    try:
        array = _read_archive_member(archive, name)
    except MemoryError:
        raise InputError(f"{path}: '{name}' is too large for the memory, or damaged", name=str(path)) from None
    except _READ_ERRORS as error:
        raise InputError(f"{path}: '{name}' cannot be read: {_read_error_text(error)}") from None
    if not isinstance(array, np.ndarray):  # an entry that is no array is returned as bytes
        raise InputError(f"{path}: '{name}' is no array; save it with np.savez", name=name)
    return view_as_declared(array, port_type)


def _load_npy(file: IO[bytes]) -> Any:
    """Load an array; of float8_e5m2, which NumPy writes but cannot read, the bytes."""
    try:
        return np.load(file, allow_pickle=False)
    except ValueError as error:
        if _FLOAT8_E5M2_HEADER not in str(error):
            raise
        file.seek(0)
        return np.load(io.BytesIO(_replace_header_dtype(file.read())), allow_pickle=False)


def _read_archive_member(archive: Any, name: str) -> Any:
    try:
        return archive[name]
    except ValueError as error:
        if _FLOAT8_E5M2_HEADER not in str(error):
            raise
        return np.load(io.BytesIO(_replace_header_dtype(archive.zip.read(f"{name}.npy"))), allow_pickle=False)


def _replace_header_dtype(data: bytes) -> bytes:
    """Replace the type in the header of an ``.npy`` file by one of the same length."""
    return data.replace(_FLOAT8_E5M2_HEADER.encode(), b"'|V1'", 1)


def _read_error_text(error: Exception) -> str:
    text = one_line(error)
    if "pickle" in text:
        return (
            "not plain arrays but pickled objects, or no NumPy file at all; pickles could run code, save plain arrays"
        )
    return f"not a readable .npy or .npz file ({text})"


def view_as_declared(array: Array, port_type: ValueType) -> Array:
    """Convert to the machine's byte order; a saved ``bfloat16`` is two untyped bytes and is reinterpreted."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    tensor_type = port_type
    while not isinstance(tensor_type, TensorType):
        tensor_type = tensor_type.element
    raw = array.dtype.kind == "V" and array.dtype.names is None
    if raw and tensor_type.dtype is not None and npy_storage_dtype(tensor_type.dtype) == array.dtype:
        return array.view(tensor_type.dtype)
    return array


def _read_protobuf_value(path: Path, port_type: ValueType) -> Data:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import numpy_helper

    types: dict[type, tuple[Any, Any]] = {
        TensorType: (onnx.TensorProto, numpy_helper.to_array),
        SequenceType: (onnx.SequenceProto, numpy_helper.to_list),
        OptionalType: (onnx.OptionalProto, numpy_helper.to_optional),
    }
    message, convert = types[type(port_type)]
    try:
        with open_regular_file(path) as file:
            proto = message.FromString(file.read())
        for tensor in _walk_tensors(proto):
            _load_external_data(tensor, path)
        return convert(proto)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or one_line(error)}") from None
    except (DecodeError, ValueError, TypeError, LookupError, RuntimeError) as error:  # protobuf's and onnx's own
        raise InputError(f"{path}: not a {message.__name__}: {one_line(error)}") from None


def _walk_tensors(message: Any) -> Iterator[Any]:
    """The tensors in a message of test data."""
    if not hasattr(message, "elem_type"):
        yield message
        return
    for _, value in message.ListFields():
        if hasattr(value, "ListFields"):
            yield from _walk_tensors(value)
        elif not isinstance(value, int | str | bytes):
            for item in value:
                yield from _walk_tensors(item)


def _load_external_data(tensor: Any, path: Path) -> None:
    """Load the external data of a tensor, only from the folder of its own file.

    Raises:
        OSError: no such file, it is outside of the folder, or it is too short.
    """
    settings = {entry.key: entry.value for entry in getattr(tensor, "external_data", ())}
    if getattr(tensor, "data_location", 0) != 1:
        return
    name = settings.get("location", "")
    offset, length = int(settings.get("offset") or 0), settings.get("length")
    try:
        with open_regular_file(path_inside_folder(path.parent, name)) as file:
            size = os.fstat(file.fileno()).st_size
            count = size - offset if length is None else int(length)
            if offset < 0 or count < 0 or offset + count > size:
                raise OSError(errno.EINVAL, f"it has {size} bytes, of which {count} from {offset} on are asked for")
            file.seek(offset)
            tensor.raw_data = file.read(count)
    except OSError as error:
        raise OSError(error.errno, f"its data in '{name}': {error.strerror or one_line(error)}") from None
    tensor.data_location = 0
    del tensor.external_data[:]
