"""A model file in memory that rewrites edit in place: an ONNX message, or the elements of an OpenVINO IR.

What a rewrite does not touch is written as it was read: names, metadata, documentation, and external data, which stay
in their own files.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import onnx.checker
from lxml import etree
from onnx import ModelProto

from ...runtime.atomic_file import atomic_folder, scratch_folder, write_bytes
from ...runtime.dtypes import dtype_to_openvino
from ...runtime.errors import ModelError, UnsupportedError, file_error
from ...runtime.frontends.onnx.reader import from_proto
from ...runtime.frontends.openvino.ir_document import IrXml
from ...runtime.graph import Array
from ...runtime.model import Model, load
from ...runtime.modelfile.ir_graph import Element, IrGraph, add_port, port_precision, set_port_shape
from ...runtime.modelfile.onnx_graph import sort_nodes
from ...runtime.modelfile.onnx_storage import copy_external_data, is_external, read_without_external_data, tensors
from ...runtime.modelfile.openvino_ir import ALIGNMENT_BYTES, write_ir

#: ONNX's checker takes one message.
_MAX_CHECKED_BYTES = 1 << 28


class EditableModel(ABC):
    """A model file in memory. ``path``: the file that it was read from."""

    path: Path

    @abstractmethod
    def copy(self) -> Self:
        """A copy, to be edited."""

    @abstractmethod
    def load(self) -> Model:
        """Load it as a model.

        Raises:
            ModelError: its specification rejects it.
        """

    @abstractmethod
    def save(self, path: Path, folder: Path) -> list[Path]:
        """Write it to a path that will be moved to ``folder``; returns the files written, the model first.

        Raises:
            OSError, ModelError: a file cannot be written.
        """

    def is_valid(self) -> bool:
        """Whether the checker of its format accepts it; True where it has none."""
        return True

    def write(self, path: Path) -> list[Path]:
        """Write it, with its data files; returns the files written, the model first.

        Raises:
            ModelError: a file cannot be written.
        """
        try:
            with atomic_folder(path.parent) as folder:
                files = self.save(folder / path.name, path.parent)
            return [path.parent / file.relative_to(folder) for file in files]
        except OSError as error:
            raise file_error(ModelError, path, "cannot be written", error) from None


class EditableOnnx(EditableModel):
    """An ONNX model. ``proto``: its message, without external data."""

    def __init__(self, path: Path, proto: ModelProto) -> None:
        self.path, self.proto = path, proto

    def copy(self) -> EditableOnnx:
        proto = ModelProto()
        proto.CopyFrom(self.proto)
        return EditableOnnx(self.path, proto)

    def load(self) -> Model:
        return Model(from_proto(self.proto, str(self.path), self.path.parent))

    def save(self, path: Path, folder: Path) -> list[Path]:
        write_bytes(path, self.proto.SerializeToString())
        return [path, *copy_external_data(self.proto, self.path.parent, path.parent, folder)]

    def is_valid(self) -> bool:
        if self.proto.ByteSize() > _MAX_CHECKED_BYTES or any(map(is_external, tensors(self.proto))):
            return True
        try:
            onnx.checker.check_model(self.proto)
        except Exception:  # also protobuf's
            return False
        return True


class EditableIr(EditableModel):
    """An OpenVINO IR. ``root``: its ``<net>``; ``weights``: its .bin, to which new constants are appended."""

    def __init__(self, path: Path, weights: Path, root: Element, appended: bytes = b"") -> None:
        self.path, self.weights, self.root = path, weights, root
        self._weights_size = weights.stat().st_size if weights.exists() else 0
        self._appended = bytearray(appended)

    @property
    def net(self) -> IrGraph:
        """The main graph."""
        return IrGraph(self.root)

    def add_constant(self, net: IrGraph, name: str, data: Array) -> Element:
        """Add a Const to a graph; its output port is 0."""
        layer = net.add_layer("Const", name)
        start = self._weights_size + len(self._appended)
        padding = -start % ALIGNMENT_BYTES
        self._appended += bytes(padding) + data.tobytes()
        facts = {
            "element_type": dtype_to_openvino(data.dtype),
            "shape": ",".join(map(str, data.shape)),
            "offset": str(start + padding),
            "size": str(data.nbytes),
        }
        etree.SubElement(layer, "data", facts)
        port = add_port(layer, "output", "0", precision=port_precision(facts["element_type"]))
        set_port_shape(port, data.shape)
        return layer

    def copy(self) -> EditableIr:
        return EditableIr(self.path, self.weights, copy.deepcopy(self.root), bytes(self._appended))

    def load(self) -> Model:
        with scratch_folder() as folder:
            path = folder / self.path.name
            if not self._appended:
                write_bytes(path, self._serialized_xml())
                return load(path, self.weights if self.weights.exists() else None)
            return load(self.save(path, folder)[0])

    def save(self, path: Path, folder: Path) -> list[Path]:
        return write_ir(path, self._serialized_xml(), self.weights, self._appended)

    def _serialized_xml(self) -> Any:
        return etree.tostring(self.root, xml_declaration=True, encoding="utf-8")


def open_editable(path: Path, weights: Path | None = None, *, sorts_nodes: bool = False) -> EditableModel:
    """Read a model file that is to be edited.

    Args:
        path: the file.
        weights: the constants of an IR, if not the .bin next to it.
        sorts_nodes: whether the nodes of an ONNX model are brought into topological order.

    Raises:
        ModelError: it cannot be read.
        UnsupportedError: it is neither ONNX nor an OpenVINO IR.
    """
    if path.suffix == ".xml":
        return EditableIr(path, path.with_suffix(".bin") if weights is None else weights, IrXml(path).root)
    if path.suffix == ".py":
        raise UnsupportedError(
            f"{path}: a script is not rewritten; give an ONNX model or an OpenVINO IR",
            name=str(path),
            expected="an ONNX model or an OpenVINO IR",
            got="a script",
        )
    proto = read_without_external_data(path)
    if sorts_nodes:
        sort_nodes(proto.graph)
    return EditableOnnx(path, proto)
