"""A copy of an ONNX file with changed constants, initial values, trip counts and conditions; all else is as it was."""

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

#: Before this version of the IR every initializer has to stand among the inputs.
_MIN_IR_INITIALIZERS_ALONE = 4


def write_edited_copy(source: Path, graph: Graph, changes: ModelEdits, target: Path) -> Path:
    """Write the copy; its data in files beside the source stay there.

    Raises:
        OSError: a file cannot be written.
        ModelError: the file changed since it was opened.
        UnsupportedError: a value has no place in the file where it could be changed.
    """
    model = read_source(source)
    writer = _OnnxEditor(OnnxSourceMap(model, source, graph), graph)
    for value, data in changes.constants.items():
        writer.set_constant(value, data)
    for (loop, param), data in changes.initial_values.items():
        writer.set_input(loop, loop.body.inputs.index(param), data, param.name)
    for loop, count in changes.trip_counts.items():
        writer.set_input(loop, 0, _scalar_like(loop.trip_count, count, np.int64), "trip_count")
    for loop, condition in changes.initial_conditions.items():
        writer.set_input(loop, 1, _scalar_like(loop.initial_condition, condition, np.bool_), "condition")
    write_bytes(target, model.SerializeToString())
    return target


def _scalar_like(value: Value | None, number: Any, usual: Any) -> Array:
    """A number of the type that a value declares."""
    kind = value.type if value is not None and isinstance(value.type, TensorType) else TensorType()
    return np.full((1,) * len(kind.shape or ()), number, usual if kind.dtype is None else kind.dtype)


class _OnnxEditor:
    """Changes the messages of a model."""

    def __init__(self, places: OnnxSourceMap, graph: Graph) -> None:
        self.source_map = places
        self.producers = {value: node for node in walk(graph) for value in node.outputs if value is not None}
        self.used_names = set(_all_names(places.source))

    def set_constant(self, value: Value, data: Array) -> None:
        """Let a constant hold something else."""
        node = self.producers.get(value)
        if node is not None:
            self._require_single_call(self._locate(node).scope, f"'{value.name}'")
            _set_constant(self._locate(node).proto, data)
            return
        for scope in self.source_map.all_scopes():
            graph = self.source_map.scope_message(scope)
            if isinstance(graph, GraphProto) and self._replace_initializer(graph, scope, value, data):
                return
        raise UnsupportedError(f"'{value.name}' stands in the file in no form in which it could be changed")

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
        made = numpy_helper.from_array(data, tensor.name)
        made.doc_string = tensor.doc_string
        tensor.CopyFrom(made)
        for info in (*graph.input, *graph.value_info) if reshaped else ():
            if info.name == tensor.name:
                info.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto())
                for size in data.shape:
                    info.type.tensor_type.shape.dim.add(dim_value=size)

    def set_input(self, loop: Loop, k: int, data: Array, role: str) -> None:
        """Give a loop a constant at an input port."""
        place = self._locate(loop)
        if (
            place.proto.op_type not in ("Loop", "Scan")
            or loop.derived_from
            or (loop.op_type, loop.version) == ("Scan", 8)
        ):
            raise UnsupportedError(f"the file has {place.proto.op_type} '{loop.name}' in place of a loop")
        self._require_single_call(place.scope, f"loop '{loop.name}'")
        name = self._unused_name(f"{role}_set")
        while len(place.proto.input) <= k:
            place.proto.input.append("")
        place.proto.input[k] = name
        tensor = numpy_helper.from_array(data, name)
        around = self.source_map.scope_message(place.scope)
        if not isinstance(around, GraphProto):
            node = onnx.helper.make_node("Constant", [], [name], value=tensor)
            around.node.insert(0, node)
            return
        around.initializer.append(tensor)
        if self.source_map.source.ir_version < _MIN_IR_INITIALIZERS_ALONE:
            kind = onnx.helper.np_dtype_to_tensor_dtype(data.dtype)
            around.input.append(onnx.helper.make_tensor_value_info(name, kind, data.shape))

    def _locate(self, node: Node) -> OnnxNodeLocation:
        place = self.source_map.locate(node)
        if place is None:
            raise UnsupportedError(f"the file has no node of {node.describe()}")
        return place

    def _require_single_call(self, scope: NameScope, what: str) -> None:
        """Hold that a change to a function is one to a single call of it."""
        while scope.parent is not None:
            scope = scope.parent
        if not isinstance(scope.proto, FunctionProto):
            return
        calls = sum(one.proto is scope.proto for one in self.source_map.all_scopes())
        if calls > 1:
            raise UnsupportedError(
                f"{what} is in the function '{scope.proto.name}', which is called {calls} times; inline the functions"
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
    """Let a Constant node hold something else; its other attributes stay."""
    kept = [
        AttributeProto.FromString(one.SerializeToString())
        for one in node.attribute
        if one.name not in _VALUE_ATTRIBUTES
    ]
    del node.attribute[:]
    node.attribute.extend([onnx.helper.make_attribute("value", numpy_helper.from_array(data)), *kept])


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
    """Copy the files that hold the data of a model beside ``model``, which will be moved into the folder ``target``;
    returns the copies. A file that ``target`` has already is not copied.

    Raises:
        OSError: one cannot be copied.
        ModelError: a file of another model is in the way.
    """
    if os.path.realpath(source) == os.path.realpath(target):
        return []
    made = []
    for name in dict.fromkeys(_external_locations(read_source(model))):
        there, copy = target / name, model.parent / name
        if there.exists() and not filecmp.cmp(source / name, there, shallow=False):
            raise ModelError(
                f"{there}: is there already, and the model keeps its data under that name; choose a folder"
            )
        if not there.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with open(source / name, "rb") as data, atomic_binary(copy) as file:
                shutil.copyfileobj(data, file)
            made.append(copy)
    return made


def _external_locations(message: Any) -> Iterator[str]:
    """The files that tensors of a message have their data in."""
    for field, found in message.ListFields():
        if field.message_type is None:
            continue
        for part in found if isinstance(found, Iterable) else [found]:
            if isinstance(part, TensorProto):
                if part.data_location == TensorProto.EXTERNAL:
                    yield next(entry.value for entry in part.external_data if entry.key == "location")
            else:
                yield from _external_locations(part)
