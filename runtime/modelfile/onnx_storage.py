"""Reads and writes ONNX models of any size.

Protobuf messages are limited to 2 GiB. A large model therefore has its tensor data in a file next to it ("External
Data" of the IR specification). In memory, the data stay in files of a folder, and are copied when the model is written.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.external_data_helper
import onnx.helper
import onnx.numpy_helper
from google.protobuf.message import EncodeError  # type: ignore[import-untyped]
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto

from ..atomic_file import atomic_binary, write_bytes
from ..errors import ModelError, UnsupportedError, UsageError, one_line
from ..frontends.onnx.external_data import ELEMENTS_PER_BYTE
from ..graph import Array
from ..record import record
from ..safe_file_reading import StableFile, path_inside_folder
from .scratch_folder import DATA_FILE, ScratchFolder, pad_to_alignment

#: Limit for the tensor data of one message; beyond it, tensors of MIN_EXTERNAL_BYTES and larger are external. Writing
#: and reading a message takes four times its size in memory.
MAX_INLINE_BYTES = 1 << 28
#: The same for a model in memory whose tensors are copied: a message is copied again by each reader and writer.
MAX_COPIED_BYTES = 1 << 24
MIN_EXTERNAL_BYTES = 1 << 10
_CHUNK_BYTES = 1 << 24
_TYPES_WITHOUT_RAW_DATA = (TensorProto.UNDEFINED, TensorProto.STRING)


@record(frozen=True, eq=False)
class OnnxModel:
    """A model in memory.

    ``folder``: contains the files of tensors with external data; None: there is no such tensor. ``scratch``: keeps that
    folder alive, if it is a temporary one.
    """

    proto: ModelProto
    folder: Path | None = None
    scratch: ScratchFolder | None = None


class TensorWriter:
    """Creates tensors from arrays: inline while they are few and small, else in a scratch folder.

    ``scratch``: a folder that several models share; None: one of its own.
    """

    def __init__(self, scratch: ScratchFolder | None = None) -> None:
        self._scratch = scratch or ScratchFolder()
        self._has_external = False
        self._inline_bytes = 0

    def tensor(self, array: Array, name: str = "") -> TensorProto:
        """Create a tensor with the data of an array.

        Raises:
            UsageError: the scratch folder cannot be written.
        """
        is_small = array.dtype.hasobject or array.nbytes < MIN_EXTERNAL_BYTES
        if is_small or self._inline_bytes + array.nbytes <= MAX_COPIED_BYTES:
            self._inline_bytes += array.nbytes
            return onnx.numpy_helper.from_array(array, name)
        tensor = TensorProto(name=name, data_type=onnx.helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        try:
            _set_external_location(tensor, DATA_FILE, *self._scratch.append_array(array))
        except OSError as error:
            raise _no_scratch_error(error) from None
        self._has_external = True
        return tensor

    def model(self, proto: ModelProto) -> OnnxModel:
        """The model that contains the tensors."""
        return OnnxModel(proto, self._scratch.path, self._scratch) if self._has_external else OnnxModel(proto)


def read_model(path: Path) -> OnnxModel:
    """Read the model of a file, in any format that ``onnx.load`` reads. External data that are not large are inlined.

    Raises:
        ModelError: it cannot be read.
    """
    source = OnnxModel(read_without_external_data(path), path.parent)
    try:
        return _inline_external_data(source)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def read_without_external_data(path: Path) -> ModelProto:
    """Read a file, in any format that ``onnx.load`` reads, without external data.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # "The onnxtxt format is experimental"
            return onnx.load(path, load_external_data=False)
    except MemoryError:
        raise
    except Exception as error:  # each parser has its own error classes
        raise ModelError(f"{path}: cannot be read: {one_line(error)}") from None


def serialize_model(model: OnnxModel) -> bytes | None:
    """Serialize a model as one message; None: it is large, and has to be written to a file.

    Raises:
        ModelError: a file with its data cannot be read.
        UnsupportedError: it has too much data that cannot be external.
    """
    if is_large(model.proto):
        return None
    return _encode_message(
        _inline_external_data(OnnxModel(_copy_model(model.proto), model.folder)).proto if model.folder else model.proto
    )


def write_model(model: OnnxModel, path: Path) -> None:
    """Write a model; the tensor data of a large one go to ``PATH.data`` next to it.

    Raises:
        OSError: a file cannot be written.
        ModelError: a file with its data cannot be read.
        UnsupportedError: it has too much data that cannot be external.
    """
    data = serialize_model(model)
    if data is not None:
        write_bytes(path, data)
        return
    moved: list[tuple[TensorProto, TensorProto]] = []
    location = f"{path.name}.data"
    try:
        with atomic_binary(path.with_name(location)) as file:
            for tensor in tensors(model.proto):
                external = is_external(tensor)
                if not external and (tensor_byte_count(tensor) < MIN_EXTERNAL_BYTES or not tensor.HasField("raw_data")):
                    continue
                original = TensorProto()
                original.CopyFrom(tensor)
                moved.append((tensor, original))
                start = pad_to_alignment(file)
                if external:
                    for chunk in _read_external_chunks(model, tensor):
                        file.write(chunk.data)
                else:
                    file.write(tensor.raw_data)
                    tensor.ClearField("raw_data")
                _set_external_location(tensor, location, start, file.tell() - start)
        write_bytes(path, _encode_message(model.proto))
    finally:
        for tensor, original in moved:
            tensor.CopyFrom(original)


def scratch_file(model: OnnxModel) -> tuple[Path, ScratchFolder]:
    """Write a model to a file for another process; it exists as long as the returned folder.

    Raises:
        UsageError: the temporary folder cannot be written.
        ModelError, UnsupportedError: as :func:`write_model`.
    """
    try:
        scratch = model.scratch or ScratchFolder()
        path = scratch.next_model_path()
        if model.scratch is None:
            write_model(model, path)
        else:
            write_bytes(path, _encode_message(model.proto))
    except OSError as error:
        raise _no_scratch_error(error) from None
    return path, scratch


def is_large(proto: ModelProto) -> bool:
    """Whether the tensor data, including external data, do not fit into one message."""
    return sum(map(tensor_byte_count, tensors(proto))) > MAX_INLINE_BYTES


def is_external(tensor: TensorProto) -> bool:
    """Whether the data of a tensor are external."""
    return bool(onnx.external_data_helper.uses_external_data(tensor))


def tensor_byte_count(tensor: TensorProto) -> int:
    """The size of a tensor's data, from its type and shape; 0 for strings, whose data cannot be external."""
    if tensor.data_type in _TYPES_WITHOUT_RAW_DATA:
        return 0
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError:  # a type unknown to this version of the onnx package
        return 0
    elements = int(prod(tensor.dims))
    return -(-elements // ELEMENTS_PER_BYTE.get(dtype.name, 1)) * int(dtype.itemsize)


def tensors(proto: ModelProto) -> Iterator[TensorProto]:
    """All tensors of a model whose data can be external: initializers and attributes, also in inner graphs and
    functions."""
    yield from _tensors_of_graph(proto.graph)
    for function in proto.functions:
        yield from tensors_of_attributes(function.attribute_proto)
        for node in function.node:
            yield from tensors_of_attributes(node.attribute)


def external_locations(message: Any) -> Iterator[str]:
    """The locations of the external data of all tensors in a message."""
    for field, content in message.ListFields():
        if field.message_type is None:
            continue
        for part in content if isinstance(content, Iterable) else [content]:
            if isinstance(part, TensorProto):
                if part.data_location == TensorProto.EXTERNAL:
                    yield next(entry.value for entry in part.external_data if entry.key == "location")
            else:
                yield from external_locations(part)


def copy_external_data(proto: ModelProto, folder: Path, scratch: Path, target: Path) -> list[Path]:
    """Copy the external data files of a model in ``folder`` to ``scratch``, which will be moved to ``target``; returns
    the copies. A file that is already in ``target`` is not copied.

    Raises:
        OSError: a file cannot be copied.
        ModelError: a different file of that name exists.
    """
    if os.path.realpath(folder) == os.path.realpath(target):
        return []
    copies = []
    for name in dict.fromkeys(external_locations(proto)):
        original, existing, copy = folder / name, target / name, scratch / name
        if not existing.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with open(original, "rb") as data, atomic_binary(copy) as file:
                shutil.copyfileobj(data, file)
            copies.append(copy)
        elif not filecmp.cmp(original, existing, shallow=False):
            raise ModelError(
                f"{existing}: is there already, and the model keeps its data under that name; choose a folder",
                name=str(existing),
            )
    return copies


def without_external_data(proto: ModelProto) -> ModelProto:
    """A copy in which tensors with external data are empty, for tools that would open the files."""
    copy = _copy_model(proto)
    for tensor in tensors(copy):
        if is_external(tensor):
            del tensor.external_data[:]
            tensor.ClearField("data_location")
            tensor.dims[:] = [0]
    return copy


def _tensors_of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        yield from tensors_of_attributes(node.attribute)


def tensors_of_attributes(attributes: Iterable[AttributeProto]) -> Iterator[TensorProto]:
    """The tensors of attributes, also in inner graphs."""
    for attribute in attributes:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            yield from _tensors_of_graph(graph)


def _inline_external_data(model: OnnxModel) -> OnnxModel:
    """The model with its external data inlined in place, unless they are large."""
    external = [tensor for tensor in tensors(model.proto) if is_external(tensor)]
    if not external:
        return OnnxModel(model.proto)
    if is_large(model.proto):
        return model
    assert model.folder is not None
    for tensor in external:
        load_external_data(tensor, model.folder)
    return OnnxModel(model.proto)


def load_external_data(tensor: TensorProto, folder: Path) -> None:
    """Inline the external data of a tensor.

    Raises:
        ModelError: the file is missing, or too short.
    """
    try:
        onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise _unreadable_error(tensor, error) from None
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _read_external_chunks(model: OnnxModel, tensor: TensorProto) -> Iterator[Array]:
    """The external data of a tensor, in chunks."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    assert model.folder is not None
    try:
        with StableFile(path_inside_folder(model.folder, entries.get("location", ""))) as source:
            start = int(entries.get("offset", 0))
            length = int(entries.get("length", source.size - start))
            if start < 0 or length < 0 or start + length > source.size:
                raise ValueError(f"{length} bytes from byte {start} on, and the file has {source.size}")
            for first in range(0, length, _CHUNK_BYTES):
                chunk = np.empty(min(_CHUNK_BYTES, length - first), np.uint8)
                source.read_into(start + first, chunk)
                yield chunk
    except (OSError, ValueError) as error:
        raise _unreadable_error(tensor, error) from None


def _unreadable_error(tensor: TensorProto, error: Exception) -> ModelError:
    return ModelError(
        f"the data of '{tensor.name}' cannot be read: {one_line(error)}", name=tensor.name, got=one_line(error)
    )


def _set_external_location(tensor: TensorProto, location: str, offset: int, length: int) -> None:
    del tensor.external_data[:]
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    tensor.data_location = TensorProto.EXTERNAL


def _copy_model(proto: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(proto)
    return copy


def _encode_message(proto: ModelProto) -> bytes:
    try:
        data: bytes = proto.SerializeToString()
    except (EncodeError, ValueError) as error:  # protobuf's two implementations differ
        raise UnsupportedError(
            f"the model is too large for one protobuf message, and not all of its data can be in another file:"
            f" {one_line(error)}"
        ) from None
    return data


def _no_scratch_error(error: OSError) -> UsageError:
    return UsageError(
        f"the data of a large model cannot be written to the temporary folder {tempfile.gettempdir()}:"
        f" {error.strerror or one_line(error)}; set TMPDIR to a folder with more space",
        name=tempfile.gettempdir(),
        expected="a folder with more space",
    )
