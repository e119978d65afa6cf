"""An ONNX Loop, Scan or If in a file that is edited: its ports, its body, and the graph around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper
from onnx import GraphProto, NodeProto, TensorProto

from ...runtime.errors import UnsupportedError
from ...runtime.graph import Array, BackEdge, Loop, Node, ScanOutput
from ...runtime.modelfile.onnx_graph import (
    all_names,
    captured_names,
    keep_only_members,
    loop_body,
    make_tensor,
    own_names,
    redirect_reads,
    remove_dead,
    rename_values,
    walk_graphs,
)
from ...runtime.text import fresh_name
from ..rewriting.editable_model import EditableOnnx


def constant_node(name: str, tensor: TensorProto) -> NodeProto:
    """A Constant with a tensor."""
    return onnx.helper.make_node("Constant", [], [name], name=name, value=tensor)


class OnnxNode:
    """A node of a file, and the graph that it is in. New nodes are inserted before it.

    Raises:
        UnsupportedError: no graph of the file has the node, as it is in a function, or several do.
    """

    def __init__(self, model: EditableOnnx, node: Node) -> None:
        self.model, self.main = model, model.proto.graph
        names = ["" if value is None else value.name for value in node.outputs]
        places = [
            (graph, proto)
            for graph in walk_graphs(self.main)
            for proto in graph.node
            if proto.op_type == node.op_type and list(proto.output) == names[: len(proto.output)] and any(names)
        ]
        if len(places) != 1 or (node.op_type, node.version) == ("Scan", 8):
            raise UnsupportedError(f"the file does not have {node.describe()} once, in a graph", **node.error_fields)
        self.graph, self.node = places[0]
        self._names = all_names(self.main) | {info.name for info in self.main.value_info}

    @property
    def opset(self) -> int:
        """The version of ai.onnx that the file imports."""
        versions = (item.version for item in self.model.proto.opset_import if item.domain in ("", "ai.onnx"))
        return int(next(versions))

    def require_opset(self, version: int) -> None:
        """Refuse a file with operators of earlier versions, whose new nodes would be written otherwise."""
        if self.opset < version:
            raise UnsupportedError(f"the rewrite needs opset {version}; the file has {self.opset}")

    def fresh_name(self, base: str) -> str:
        """A name that no graph of the file has."""
        return fresh_name(base, self._names)

    def insert(self, nodes: Sequence[NodeProto]) -> None:
        """Insert nodes before the node."""
        position = list(self.graph.node).index(self.node)
        for k, node in enumerate(nodes):
            self.graph.node.insert(position + k, node)

    def insert_after(self, nodes: Sequence[NodeProto]) -> None:
        """Insert nodes after the node."""
        position = list(self.graph.node).index(self.node) + 1
        for k, node in enumerate(nodes):
            self.graph.node.insert(position + k, node)

    def emit(self, op_type: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Insert a node with one output, and return the output's name."""
        output = output or self.fresh_name(f"{self.node.name or self.node.op_type}_{op_type.lower()}")
        self.emit_node(op_type, inputs, [output], **attributes)
        return output

    def emit_node(self, op_type: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> None:
        """Insert a node, which has the name of its first output."""
        self.insert([onnx.helper.make_node(op_type, inputs, outputs, name=outputs[0], **attributes)])

    def constant(self, data: Array | Sequence[int] | int, base: str = "constant") -> str:
        """Insert a Constant, and return its output's name; integers are int64."""
        name = self.fresh_name(f"{self.node.name or self.node.op_type}_{base}")
        array = data if isinstance(data, np.ndarray) else np.asarray(data, np.int64)
        self.insert([constant_node(name, make_tensor(name, array))])
        return name

    def inline(self, graph: GraphProto, names: Mapping[str, str]) -> list[str]:
        """Insert the nodes of an inner graph, and return the names of its results; ``names``: for its inputs."""
        copy = GraphProto()
        copy.CopyFrom(graph)
        new = dict(names)
        own = own_names(graph) - names.keys()
        new.update((name, self.fresh_name(name)) for name in sorted(own) if name)
        rename_values(copy, new)
        self.insert([constant_node(tensor.name, tensor) for tensor in copy.initializer])
        for node in copy.node:
            node.name = self.fresh_name(node.name) if node.name else ""
        self.insert(list(copy.node))
        return [info.name for info in copy.output]

    def remove(self) -> None:
        """Remove the node, and what only it needed."""
        self.graph.node.remove(self.node)
        self.remove_unused_nodes()

    def remove_unused_nodes(self) -> None:
        """Remove nodes that no output needs, and the types of values that are gone."""
        remove_dead(self.main)
        for graph in walk_graphs(self.main):
            names = {name for node in graph.node for name in (*node.input, *node.output)}
            names |= {info.name for info in (*graph.input, *graph.output)}
            if any(info.name not in names for info in graph.value_info):
                keep_only_members(graph.value_info, [info for info in graph.value_info if info.name in names])


class OnnxLoop(OnnxNode):
    """An ONNX Loop or Scan of a file.

    Raises:
        UnsupportedError: as for :class:`OnnxNode`.
    """

    def __init__(self, model: EditableOnnx, loop: Loop) -> None:
        super().__init__(model, loop)
        self.loop = loop
        #: Ports before the carried values: trip count and condition; iteration number and condition; condition.
        self.first_input, self.first_result = (2, 1) if self.node.op_type == "Loop" else (0, 0)
        self.states = len(loop.back_edges)

    @property
    def body(self) -> GraphProto:
        """The body's message."""
        return loop_body(self.node)

    def output(self, k: int) -> str:
        """The name of output k; empty where it has none."""
        return str(self.node.output[k]) if k < len(self.node.output) else ""

    def param(self, k: int) -> str:
        """The body's name of carried value k."""
        return str(self.body.input[self.first_input + k].name)

    def initial(self, k: int) -> str:
        """The name of the initial value of carried value k."""
        return str(self.node.input[self.first_input + k])

    def inner_name_of(self, name: str) -> str:
        """The name by which the body reads an outer value: another one where the body has a value of that name."""
        hidden = name in all_names(self.body) and name not in captured_names(self.body)
        return self.emit("Identity", [name]) if hidden else name

    def redirect_body_reads(self, old: str, new: str) -> None:
        """Let the body read another value, which may be an outer one: as a result, by an Identity."""
        body = self.body
        own = {name for node in body.node for name in node.output} | {info.name for info in body.input}
        redirect_reads(body, {old: new}, outputs=new in own)
        results = [info for info in body.output if info.name == old]
        if results:
            copy = self.fresh_name(f"{old}_copy")
            body.node.append(onnx.helper.make_node("Identity", [new], [copy], name=copy))
            for info in results:
                info.name = copy

    def remove_carried(self, k: int) -> None:
        """Remove a carried value, of which nothing in the body may read the parameter any more."""
        del self.node.input[self.first_input + k]
        del self.body.input[self.first_input + k]
        del self.body.output[self.first_result + k]
        if k < len(self.node.output):
            del self.node.output[k]
        self.states -= 1

    # -- edits of single values

    def remove_values(self, edges: Sequence[BackEdge], scans: Sequence[ScanOutput]) -> None:
        """Remove carried values on which nothing that is used depends, and scan outputs that nothing reads."""
        for j in sorted((self.loop.outputs.index(scan.outer) - self.states for scan in scans), reverse=True):
            self._remove_scan_output(j)
        for k in sorted(map(self.loop.back_edges.index, edges), reverse=True):
            self.remove_carried(k)
        self.remove_unused_nodes()

    def replace_by_initial_value(self, edge: BackEdge) -> None:
        """Let the body read the initial value of a carried value that does not change."""
        k = self.loop.back_edges.index(edge)
        initial = self.initial(k)
        self.redirect_body_reads(self.param(k), self.inner_name_of(initial))
        if self.output(k):
            self.emit("Identity", [initial], self.output(k))
        self.remove_carried(k)
        self.remove_unused_nodes()

    def _remove_scan_output(self, j: int) -> None:
        del self.body.output[self.first_result + self.states + j]
        del self.node.output[self.states + j]
        for attribute in self.node.attribute:
            if attribute.name in ("scan_output_axes", "scan_output_directions"):
                del attribute.ints[j]
