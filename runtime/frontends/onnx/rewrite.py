"""Writes copies of an ONNX file with changed constants, initial values, trip counts and conditions."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...atomic_file import atomic_binary, write_bytes
from ...errors import ModelError, UnsupportedError
from ...graph import Array, Graph, Loop, Node, TensorType, Value, walk
from ..model_edits import ModelEdits
from .model_file import read_source
from .name_scope import NameScope
from .proto import FunctionProto
from .source_map import OnnxNodeLocation, OnnxSourceMap

#: Before this version of the IR every initializer has to be listed as an input.
_MIN_IR_INITIALIZERS_ALONE = 4


def write_edited_copy(source: Path, graph: Graph, changes: ModelEdits, target: Path) -> Path:
    """Write an edited copy; external data stay in the source's folder.

    Raises:
        OSError: a file cannot be written.
        ModelError: the file changed since it was opened.
        UnsupportedError: a value cannot be changed in the file.
    """
    model = read_source(source)
    editor = _OnnxEditor(OnnxSourceMap(model, source, graph), graph)
    for value, data in changes.constants.items():
        editor.set_constant(value, data)
    for (loop, param), data in changes.initial_values.items():
        editor.set_input(loop, loop.body.inputs.index(param), data, param.name)
    for loop, count in changes.trip_counts.items():
        editor.set_input(loop, 0, _scalar_like(loop.trip_count, count, np.int64), "trip_count")
    for loop, condition in changes.initial_conditions.items():
        editor.set_input(loop, 1, _scalar_like(loop.initial_condition, condition, np.bool_), "condition")
    write_bytes(target, model.SerializeToString())
    return target


def _scalar_like(value: Value | None, number: Any, default: Any) -> Array:
    """A number of a value's declared type."""
    kind = value.type if value is not None and isinstance(value.type, TensorType) else TensorType()
    return np.full((1,) * len(kind.shape or ()), number, default if kind.dtype is None else kind.dtype)


class _OnnxEditor:
    """Edits the messages of a model."""

    def __init__(self, source_map: OnnxSourceMap, graph: Graph) -> None:
        self.source_map = source_map
        self.producers = {value: node for node in walk(graph) for value in node.outputs if value is not None}
        self.used_names = set(_all_names(source_map.source))

    def set_constant(self, value: Value, data: Array) -> None:
        """Replace the data of a constant."""
        node = self.producers.get(value)
        if node is not None:
            self._require_single_call(self._locate(node).scope, f"'{value.name}'")
            _set_constant(self._locate(node).proto, data)
            return
        for scope in self.source_map.all_scopes():
            graph = self.source_map.scope_message(scope)
            if isinstance(graph, GraphProto) and self._replace_initializer(graph, scope, value, data):
                return
        raise UnsupportedError(f"'{value.name}' is in the file in no form that can be changed")

    def _replace_initializer(self, graph: GraphProto, scope: NameScope, value: Value, data: Array) -> bool:
        for name in self.source_map.names_for_value(scope, value):
            for tensor in graph.initializer:
                if tensor.name == name:
                    self._fill_tensor(graph, tensor, data)
                    return True
            for k, sparse in enumerate(graph.sparse_initializer):
                if sparse.values.name == name:
                    del graph.sparse_initializer[k]
                    graph.initializer.append(numpy_helper.from_array(data, name))
                    return True
        return False

    def _fill_tensor(self, graph: GraphProto, tensor: TensorProto, data: Array) -> None:
        reshaped = list(tensor.dims) != list(data.shape)
        replacement = numpy_helper.from_array(data, tensor.name)
        replacement.doc_string = tensor.doc_string
        tensor.CopyFrom(replacement)
        for info in (*graph.input, *graph.value_info) if reshaped else ():
            if info.name == tensor.name:
                info.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto())
                for size in data.shape:
                    info.type.tensor_type.shape.dim.add(dim_value=size)

    def set_input(self, loop: Loop, k: int, data: Array, role: str) -> None:
        """Connect a constant to an input port of a loop."""
        location = self._locate(loop)
        if (
            location.proto.op_type not in ("Loop", "Scan")
            or loop.derived_from
            or (loop.op_type, loop.version) == ("Scan", 8)
        ):
            raise UnsupportedError(f"the file has {location.proto.op_type} '{loop.name}' in place of a loop")
        self._require_single_call(location.scope, f"loop '{loop.name}'")
        name = self._unused_name(f"{role}_set")
        while len(location.proto.input) <= k:
            location.proto.input.append("")
        location.proto.input[k] = name
        tensor = numpy_helper.from_array(data, name)
        outer_message = self.source_map.scope_message(location.scope)
        if not isinstance(outer_message, GraphProto):
            node = onnx.helper.make_node("Constant", [], [name], value=tensor)
            outer_message.node.insert(0, node)
            return
        outer_message.initializer.append(tensor)
        if self.source_map.source.ir_version < _MIN_IR_INITIALIZERS_ALONE:
            kind = onnx.helper.np_dtype_to_tensor_dtype(data.dtype)
            outer_message.input.append(onnx.helper.make_tensor_value_info(name, kind, data.shape))

    def _locate(self, node: Node) -> OnnxNodeLocation:
        location = self.source_map.locate(node)
        if location is None:
            raise UnsupportedError(f"the file has no node of {node.describe()}")
        return location

    def _require_single_call(self, scope: NameScope, name: str) -> None:
        """Reject a change to a function that is called several times."""
        while scope.parent is not None:
            scope = scope.parent
        if not isinstance(scope.proto, FunctionProto):
            return
        calls = sum(other_scope.proto is scope.proto for other_scope in self.source_map.all_scopes())
        if calls > 1:
            raise UnsupportedError(
                f"{name} is in the function '{scope.proto.name}', which is called {calls} times; inline the functions"
                " of the model (onnx.inliner), and change it there"
            )

    def _unused_name(self, base: str) -> str:
        name, number = base, 1
        while name in self.used_names:
            number += 1
            name = f"{base}_{number}"
        self.used_names.add(name)
        return name


def _set_constant(node: NodeProto, data: Array) -> None:
    """Replace the data of a Constant node; its other attributes are kept."""
    other_attributes = [
        AttributeProto.FromString(attribute.SerializeToString())
        for attribute in node.attribute
        if attribute.name not in _VALUE_ATTRIBUTES
    ]
    del node.attribute[:]
    node.attribute.extend([onnx.helper.make_attribute("value", numpy_helper.from_array(data)), *other_attributes])


_VALUE_ATTRIBUTES = frozenset(
    ("value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings")
)


def _all_names(model: ModelProto) -> Iterator[str]:
    def names(graph: Any) -> Iterator[str]:
        for node in graph.node:
            yield from (*node.input, *node.output)
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    yield from (info.name for info in (*attribute.g.input, *attribute.g.initializer))
                    yield from names(attribute.g)

    yield from (info.name for info in (*model.graph.input, *model.graph.initializer, *model.graph.output))
    for graph in (model.graph, *model.functions):
        yield from names(graph)


def copy_external_data(model: Path, source: Path, target: Path) -> list[Path]:
    """Copy the external data files of a model to the folder of ``model``, which will be moved to the folder ``target``;
    returns the copies. A file that already exists in ``target`` is not copied.

    Raises:
        OSError: a file cannot be copied.
        ModelError: a different file of that name exists.
    """
    if os.path.realpath(source) == os.path.realpath(target):
        return []
    copies = []
    for name in dict.fromkeys(_external_locations(read_source(model))):
        existing, copy = target / name, model.parent / name
        if existing.exists() and not filecmp.cmp(source / name, existing, shallow=False):
            raise ModelError(
                f"{existing}: is there already, and the model keeps its data under that name; choose a folder"
            )
        if not existing.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with open(source / name, "rb") as data, atomic_binary(copy) as file:
                shutil.copyfileobj(data, file)
            copies.append(copy)
    return copies


def _external_locations(message: Any) -> Iterator[str]:
    """The locations of the external data of a message's tensors."""
    for field, content in message.ListFields():
        if field.message_type is None:
            continue
        for part in content if isinstance(content, Iterable) else [content]:
            if isinstance(part, TensorProto):
                if part.data_location == TensorProto.EXTERNAL:
                    yield next(entry.value for entry in part.external_data if entry.key == "location")
            else:
                yield from _external_locations(part)
