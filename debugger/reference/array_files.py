"""Values out of files: ``.npy``, ``.npz``, and folders of ONNX test data."""

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
from ...runtime.errors import InputError, one_line
from ...runtime.graph import ANY_TYPE, Array, OptionalType, SequenceType, TensorType, ValueType
from ...runtime.model import Data, Port
from ...runtime.stable_file import open_regular_file, path_inside_folder
from ...runtime.text import count_text

#: How the header of an array calls float8_e5m2.
_FLOAT8_E5M2_HEADER = "'<f1'"
#: What NumPy, the zip archive, what it is packed with and the parser of an array's header raise on a broken file.
_READ_ERRORS = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, RuntimeError, SyntaxError, OverflowError),
    *(zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError),
)


def read_arrays(path: Path) -> dict[str, Array]:
    """Everything that an ``.npz`` file holds, by name, as it is there. Of dtypes that NumPy lacks, the bytes.

    Raises:
        InputError: the file cannot be read, is no archive, or holds something that is no array, or is pickled.
    """
    with open_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; save arrays by name with np.savez")
        return {name: read_entry(path, archive, name, ANY_TYPE) for name in archive.files}


def read_test_outputs(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """The outputs of a folder of ONNX test data: ``output_K.pb`` holds the model's output K; empty where it has none.

    Raises:
        InputError: there are more than the model has outputs, or one cannot be read.
    """
    return _read_numbered(path, "output", ports)


def read_test_inputs(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """The inputs of a folder of ONNX test data: ``input_K.pb`` holds the model's input K.

    Raises:
        InputError: there are none, more than the model has inputs, or one cannot be read.
    """
    found = _read_numbered(path, "input", ports)
    if not found and ports:
        sets = sorted(inner.name for inner in path.glob("test_data_set_*"))
        hint = f"; give one of its folders, such as {path / sets[0]}" if sets else ""
        raise InputError(f"{path}: the folder holds no input_0.pb{hint}")
    return found


def read_npz(path: Path, ports: Sequence[Port]) -> dict[str, Data]:
    """Everything that an ``.npz`` file holds, by name. A sequence NAME stands there as NAME.0, NAME.1, ...

    Raises:
        InputError: the file or a needed entry of it cannot be read, or is pickled.
    """
    with open_arrays(path) as archive:
        if isinstance(archive, np.ndarray):
            raise InputError(f"{path}: holds one array without a name; give it as the value of one input")
        types = {name: port.type for port in ports for name in (port.name, *port.aliases)}
        found: dict[str, Data] = {}
        elements: dict[str, dict[int, Data]] = {}
        for entry in archive.files:
            name, _, number = entry.rpartition(".")
            if entry in types or not (isinstance(_unwrap_optional(types.get(name)), SequenceType) and number.isdigit()):
                # What the model does not ask for may be anything, and is only named.
                found[entry] = read_entry(path, archive, entry, types[entry]) if entry in types else None
            else:
                elements.setdefault(name, {})[int(number)] = read_entry(path, archive, entry, types[name])
        for name, parts in elements.items():
            found[name] = [parts[number] for number in sorted(parts)]
        return found


def _unwrap_optional(declared: ValueType | None) -> ValueType | None:
    return declared.element if isinstance(declared, OptionalType) else declared


def _read_numbered(path: Path, what: str, ports: Sequence[Port]) -> dict[str, Data]:
    """The tensors of a folder of test data that are called ``what``, by the names that the model has for them."""
    files = {}
    for file in path.iterdir():
        match = re.fullmatch(rf"{what}_(\d+)\.pb", file.name)
        if match:
            files[int(match[1])] = file
    beyond = [files[number] for number in sorted(files) if number >= len(ports)]
    if beyond:
        count = count_text(len(ports), what)
        raise InputError(f"{beyond[0]}: the model has only {count}; this folder belongs to another model")
    return {ports[number].name: _read_pb(files[number], ports[number].type) for number in sorted(files)}


@contextmanager
def open_arrays(path: Path) -> Iterator[Any]:
    """What ``np.load`` makes of a file, nothing pickled; the file is closed in the end.

    Raises:
        InputError: it cannot be read.
    """
    try:
        file = open_regular_file(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None
    with file:
        try:
            loaded = _load_npy(file)
        except MemoryError:
            raise InputError(f"{path}: too large for the memory, or damaged") from None
        except _READ_ERRORS as error:
            raise InputError(f"{path}: {_read_error_text(error)}") from None
        with nullcontext(loaded) if isinstance(loaded, np.ndarray) else loaded:
            yield loaded


def read_entry(path: Path, archive: Any, name: str, declared: ValueType) -> Array:
    """One array of an archive.

    Raises:
        InputError: it cannot be read, is no array, or is pickled.
    """
    try:
        array = _read_member(archive, name)
    except MemoryError:
        raise InputError(f"{path}: '{name}' is too large for the memory, or damaged") from None
    except _READ_ERRORS as error:
        raise InputError(f"{path}: '{name}' cannot be read: {_read_error_text(error)}") from None
    if not isinstance(array, np.ndarray):  # an entry that is no array comes as bytes
        raise InputError(f"{path}: '{name}' is no array; save it with np.savez")
    return view_as_declared(array, declared)


def _load_npy(file: IO[bytes]) -> Any:
    """What ``np.load`` makes of it, and of an array of float8_e5m2, which NumPy writes and cannot read, its bytes."""
    try:
        return np.load(file, allow_pickle=False)
    except ValueError as error:
        if _FLOAT8_E5M2_HEADER not in str(error):
            raise
        file.seek(0)
        return np.load(io.BytesIO(_as_raw_bytes(file.read())), allow_pickle=False)


def _read_member(archive: Any, name: str) -> Any:
    try:
        return archive[name]
    except ValueError as error:
        if _FLOAT8_E5M2_HEADER not in str(error):
            raise
        return np.load(io.BytesIO(_as_raw_bytes(archive.zip.read(f"{name}.npy"))), allow_pickle=False)


def _as_raw_bytes(whole: bytes) -> bytes:
    """An ``.npy`` file with another type in its header, of the same length."""
    return whole.replace(_FLOAT8_E5M2_HEADER.encode(), b"'|V1'", 1)


def _read_error_text(error: Exception) -> str:
    text = one_line(error)
    if "pickle" in text:
        return (
            "not plain arrays but pickled objects, or no NumPy file at all; pickles could run code, save plain arrays"
        )
    return f"not a readable .npy or .npz file ({text})"


def view_as_declared(array: Array, declared: ValueType) -> Array:
    """In this machine's byte order; what is saved of a ``bfloat16`` is two bytes without a type, which are it."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    wanted = declared
    while not isinstance(wanted, TensorType):
        wanted = wanted.element
    raw = array.dtype.kind == "V" and array.dtype.names is None
    if raw and wanted.dtype is not None and npy_storage_dtype(wanted.dtype) == array.dtype:
        return array.view(wanted.dtype)
    return array


def _read_pb(path: Path, declared: ValueType) -> Data:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import numpy_helper

    readers: dict[type, tuple[Any, Any]] = {
        TensorType: (onnx.TensorProto, numpy_helper.to_array),
        SequenceType: (onnx.SequenceProto, numpy_helper.to_list),
        OptionalType: (onnx.OptionalProto, numpy_helper.to_optional),
    }
    message, convert = readers[type(declared)]
    try:
        with open_regular_file(path) as file:
            found = message.FromString(file.read())
        for tensor in _walk_tensors(found):
            _load_external_data(tensor, path)
        return convert(found)
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
            for one in value:
                yield from _walk_tensors(one)


def _load_external_data(tensor: Any, path: Path) -> None:
    """Bring the data of a tensor into it that is in a file beside its own, and nowhere else.

    Raises:
        OSError: there is no such file, it leads out of the folder, or it is too short.
    """
    told = {entry.key: entry.value for entry in getattr(tensor, "external_data", ())}
    if getattr(tensor, "data_location", 0) != 1:
        return
    name = told.get("location", "")
    offset, length = int(told.get("offset") or 0), told.get("length")
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
