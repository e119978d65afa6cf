"""An ONNX model under reduction: names and attributes are preserved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import onnx
import onnx.checker
import onnx.helper
import onnx.inliner
import onnx.numpy_helper
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from ....runtime.frontends.onnx.reader import from_proto
from ....runtime.model import Data, Model
from ....runtime.modelfile.onnx_graph import (
    all_names,
    inner_graphs,
    keep_only,
    make_tensor,
    names_read_by_node,
    node_key,
    remove_dead,
    value_info,
    walk_graphs,
)
from ....runtime.modelfile.onnx_storage import (
    OnnxModel,
    is_external,
    read_model,
    tensors,
    without_external_data,
    write_model,
)
from ....runtime.text import fresh_name
from . import onnx_loop_edits
from .document import Document, DocumentNode, GraphPath, NewInputs, Values
from .onnx_text import model_text


class OnnxDocument(Document):
    """An ONNX model in memory; the data of a large one stay in files."""

    LOOP_OPERATORS = ("Loop", "Scan")
    BRANCH_OPERATORS = ("If",)

    def __init__(self, model: OnnxModel, checked: bool | None = None) -> None:
        self.proto = model.proto
        self._model = model
        #: ONNX's own checker accepts it, so reduced models must be accepted as well.
        self._was_valid = _is_valid(self.proto) if checked is None else checked

    @classmethod
    def read(cls, path: Path) -> OnnxDocument:
        """Read the model in a file.

        Raises:
            ModelError: it cannot be read.
        """
        return cls(read_model(path))

    def copy(self) -> OnnxDocument:
        proto = ModelProto()
        proto.CopyFrom(self.proto)
        return OnnxDocument(OnnxModel(proto, self._model.folder, self._model.scratch), self._was_valid)

    @property
    def graph(self) -> GraphProto:
        return self.proto.graph

    @property
    def inputs(self) -> list[str]:
        constants = {port.name for port in self.graph.initializer}
        return [port.name for port in self.graph.input if port.name not in constants]

    @property
    def outputs(self) -> list[str]:
        return [port.name for port in self.graph.output]

    def build_model(self) -> Model:
        return Model(from_proto(self.proto, "the cut model", self._model.folder))

    def is_valid(self) -> bool:
        return not self._was_valid or _is_valid(self.proto)

    def save(self, folder: Path, stem: str) -> Path:
        path = folder / f"{stem}.onnx"
        write_model(self._model, path)
        return path

    def text(self) -> str:
        return model_text(self.proto)

    def content_key(self) -> bytes:
        return bytes(self.proto.SerializeToString(deterministic=True))

    # -- the main graph

    def replace_by_inputs(self, values: Values) -> None:
        graph, names = self.graph, all_names(self.graph)
        frozen = {name for node in graph.node for name in node.output if name in values}
        nodes = [node for node in graph.node if not all(name in frozen for name in node.output if name)]
        keep_only(graph.node, nodes)
        for node in graph.node:
            # Other outputs of the node are still needed.
            node.output[:] = [fresh_name(f"{name}_unread", names) if name in frozen else name for name in node.output]
        graph.input.extend(value_info(name, values[name]) for name in values if name in frozen)
        keep_only(graph.output, [port for port in graph.output if port.name not in frozen])

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        old = {port.name: port for port in self.graph.output}
        keep_only(self.graph.output, [old.get(name) or value_info(name, data, False) for name, data in values.items()])

    def remove_dead(self) -> None:
        graph = self.graph
        remove_dead(graph)
        used = {name for node in graph.node for name in names_read_by_node(node)} | set(self.outputs)
        keep_only(graph.input, [port for port in graph.input if port.name in used])

    # -- loops

    def initial_names(self, key: str) -> list[str]:
        return onnx_loop_edits.initial_names(self.find_node(self.graph, key))

    def final_names(self, key: str) -> list[str]:
        return onnx_loop_edits.final_names(self.find_node(self.graph, key), all_names(self.graph))

    def limit_iterations(self, key: str, path: GraphPath, count: int, values: Values) -> NewInputs:
        host = self.graph_at(path)
        return onnx_loop_edits.limit_iterations(self.graph, host, self.find_node(host, key), count, values)

    def start_at_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        return onnx_loop_edits.start_at_iteration(self.graph, self.find_node(self.graph, key), index, state, values)

    def replace_by_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        return onnx_loop_edits.replace_by_iteration(self.graph, self.find_node(self.graph, key), index, state, values)

    def inline_branch(self, key: str, values: Values) -> bool:
        return onnx_loop_edits.inline_branch(self.graph, self.find_node(self.graph, key), values)

    # -- inner graphs

    def replace_by_constant(self, node: DocumentNode, value: Data) -> bool:
        return onnx_loop_edits.replace_by_constant(self.node_of(node), value)

    def bypass_node(self, node: DocumentNode, source: str) -> bool:
        return onnx_loop_edits.bypass_node(self.graph_at(node.graph_path), self.node_of(node), source)

    def remove_carried(self, node: DocumentNode, index: int) -> bool:
        return onnx_loop_edits.remove_carried(self.node_of(node), index)

    def drop_results(self, node: DocumentNode, indices: Sequence[int]) -> bool:
        onnx_loop_edits.drop_results(self.node_of(node), indices)
        return True

    # -- data

    def constants(self) -> dict[str, Data]:
        return {name: onnx.numpy_helper.to_array(tensor) for name, tensor in self._constants_by_name().items()}

    def set_constants(self, values: Values) -> None:
        constants = self._constants_by_name()
        for name, data in values.items():
            if name in constants:
                constants[name].CopyFrom(make_tensor(constants[name].name, data))

    def declare_inputs(self, inputs: Mapping[str, Data]) -> None:
        for port in self.graph.input:
            if port.name in inputs:
                port.CopyFrom(value_info(port.name, inputs[port.name]))
        onnx_loop_edits.remove_shapes(self.graph)

    def cleanups(self) -> list[Callable[[], None]]:
        return [self._inline_functions, self._remove_metadata, self._remove_unused_opsets]

    def _inline_functions(self) -> None:
        """Inline functions at their calls."""
        if self.proto.functions:
            self.proto.CopyFrom(onnx.inliner.inline_local_functions(self.proto))

    def _remove_metadata(self) -> None:
        """Remove documentation and metadata."""
        del self.proto.metadata_props[:]
        for field in ("producer_name", "producer_version", "doc_string"):
            self.proto.ClearField(field)
        for graph in walk_graphs(self.graph):
            del graph.value_info[:], graph.quantization_annotation[:], graph.metadata_props[:]
            graph.ClearField("doc_string")
            for item in (*graph.node, *graph.input, *graph.output, *graph.initializer):
                item.ClearField("doc_string")
                if hasattr(item, "metadata_props"):
                    del item.metadata_props[:]

    def _remove_unused_opsets(self) -> None:
        """Remove unused operator sets."""
        used = {node.domain for graph in walk_graphs(self.graph) for node in graph.node}
        used |= {node.domain for function in self.proto.functions for node in function.node} | {""}
        keep_only(self.proto.opset_import, [opset for opset in self.proto.opset_import if opset.domain in used])

    # -- graphs and nodes

    def operators(self, graph: GraphProto) -> list[NodeProto]:
        return list(graph.node)

    def inner_graphs(self, node: NodeProto) -> Iterable[tuple[str, GraphProto]]:
        return inner_graphs(node)

    def find_node(self, graph: GraphProto, key: str) -> NodeProto:
        match: NodeProto | None = next((node for node in graph.node if node_key(node) == key), None)
        if match is None:
            raise KeyError(key)
        return match

    def describe_node(self, graph: GraphProto, node: NodeProto, path: GraphPath) -> DocumentNode:
        inputs, outputs = tuple(names_read_by_node(node)), tuple(filter(None, node.output))
        return DocumentNode(node_key(node), node.name, node.op_type, inputs, outputs, path)

    def carried_count(self, node: NodeProto) -> int:
        return len(onnx_loop_edits.initial_names(node))

    def unread_indices(self, graph: GraphProto, node: NodeProto) -> list[int]:
        return onnx_loop_edits.unread_results(graph, node)

    def _constants_by_name(self) -> dict[str, TensorProto]:
        """Initializers and the values of Constant nodes, by name; a number is appended to a name that two graphs share.
        External data of a large model are omitted."""
        constants: dict[str, TensorProto] = {}
        for k, graph in enumerate(walk_graphs(self.graph)):
            tensors = [(tensor.name, tensor) for tensor in graph.initializer]
            for node in graph.node:
                if node.op_type == "Constant" and not node.domain:
                    tensors += [(node.output[0], tensor.t) for tensor in node.attribute if tensor.name == "value"]
            for name, tensor in tensors:
                if not is_external(tensor):
                    constants[name if name not in constants else f"{name} {k}"] = tensor
        return constants


def _is_valid(proto: ModelProto) -> bool:
    try:
        onnx.checker.check_model(without_external_data(proto) if any(map(is_external, tensors(proto))) else proto)
    except Exception:  # also protobuf's, for a large model
        return False
    return True
