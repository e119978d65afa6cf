"""Graphs of ONNX under reduction: readers, dead code, and unique names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from ....runtime.model import Data
from ...extract.onnx_names import names_read_by_node, own_names

#: Attribute names of graphs inside nodes.
SUBGRAPH_ATTRIBUTES = ("body", "then_branch", "else_branch")


def inner_graphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The graphs of a node, each with the name of its attribute."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g


def loop_body(node: NodeProto) -> GraphProto:
    """The body of a loop."""
    return next(graph for word, graph in inner_graphs(node) if word == "body")


def attribute_value(node: NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute of a node."""
    attribute = next((candidate for candidate in node.attribute if candidate.name == name), None)
    return default if attribute is None else onnx.helper.get_attribute_value(attribute)


def walk_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all graphs inside it, outer graphs first."""
    yield graph
    for node in graph.node:
        for _, inner in inner_graphs(node):
            yield from walk_graphs(inner)


def node_key(node: NodeProto) -> str:
    """The key of a node: its first output, which is unique in its graph."""
    return next((name for name in node.output if name), node.name)


def keep_only(repeated: Any, members: Iterable[Any]) -> None:
    """Keep only some members of a repeated field, in the given order."""
    copies = []
    for member in members:
        copy = type(member)()
        copy.CopyFrom(member)
        copies.append(copy)
    del repeated[:]
    repeated.extend(copies)


def remove_dead(graph: GraphProto) -> None:
    """Remove nodes that no output of a graph depends on, also in inner graphs, and constants without a reader."""
    for node in graph.node:
        for _, inner in inner_graphs(node):
            remove_dead(inner)
    used = {item.name for item in graph.output}
    live = []
    for node in reversed(graph.node):
        if used.intersection(node.output):
            live.append(node)
            used.update(names_read_by_node(node))
    if len(live) != len(graph.node):
        keep_only(graph.node, live[::-1])
    if any(item.name not in used for item in graph.initializer):
        keep_only(graph.initializer, [item for item in graph.initializer if item.name in used])
    if any(item.values.name not in used for item in graph.sparse_initializer):
        keep_only(graph.sparse_initializer, [item for item in graph.sparse_initializer if item.values.name in used])


def rename_values(graph: GraphProto, new: Mapping[str, str]) -> None:
    """Rename values where they are read or computed, also in inner graphs unless the name is redefined there."""
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        node.output[:] = [new.get(name, name) for name in node.output]
    redirect_reads(graph, new, outputs=False)


def redirect_reads(graph: GraphProto, new: Mapping[str, str], outputs: bool = True) -> None:
    """Redirect readers of some values to others: nodes, inner graphs, and outputs."""
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        for _, inner in inner_graphs(node):
            defined = own_names(inner)
            redirect_reads(inner, {old: name for old, name in new.items() if old not in defined})
    if outputs:
        for value in graph.output:
            value.name = new.get(value.name, value.name)


def type_proto(data: Data | None, sized: bool = True) -> TypeProto:
    """The type of a value at run time; not ``sized``: without the lengths of its axes."""
    if isinstance(data, list | tuple):
        return onnx.helper.make_sequence_type_proto(type_proto(data[0], False) if data else _tensor_type(np.float32))
    array = np.asarray(data)
    return _tensor_type(array.dtype, list(array.shape) if sized else [None] * array.ndim)


def _tensor_type(dtype: Any, shape: list[Any] | None = None) -> TypeProto:
    dtype = np.dtype(dtype)
    text = dtype.hasobject or dtype.kind in "UST"
    code = int(TensorProto.STRING if text else onnx.helper.np_dtype_to_tensor_dtype(dtype))
    return onnx.helper.make_tensor_type_proto(code, shape)


def value_info(name: str, data: Data | None, sized: bool = True) -> ValueInfoProto:
    """A port; without a type if the data is unknown."""
    info = ValueInfoProto(name=name)
    if data is not None:
        info.type.CopyFrom(type_proto(data, sized))
    return info


def make_tensor(name: str, data: Data) -> TensorProto:
    """A constant."""
    array = np.asarray(data)
    return onnx.numpy_helper.from_array(array.astype(object) if array.dtype.kind in "UT" else array, name)
