"""An ONNX model under reduction: names and attributes are preserved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
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
    attribute_value,
    captured_names,
    inner_graphs,
    keep_only_members,
    loop_body,
    make_tensor,
    names_read_by_node,
    node_key,
    own_names,
    redirect_reads,
    remove_dead,
    rename_values,
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
from .document import Document, DocumentNode, GraphPath, NewInputs, Values
from .onnx_text import model_text

#: Number of inputs of a Loop before the carried values.
_LEADING_INPUTS = 2
#: Number of body inputs before the carried values, and of outputs before them, by loop operator.
_LEADING_PORTS = {"Loop": (2, 1), "Scan": (0, 0)}


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
        keep_only_members(graph.node, nodes)
        for node in graph.node:
            # Other outputs of the node are still needed.
            node.output[:] = [fresh_name(f"{name}_unread", names) if name in frozen else name for name in node.output]
        graph.input.extend(value_info(name, values[name]) for name in values if name in frozen)
        keep_only_members(graph.output, [port for port in graph.output if port.name not in frozen])

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        old = {port.name: port for port in self.graph.output}
        keep_only_members(
            self.graph.output, [old.get(name) or value_info(name, data, False) for name, data in values.items()]
        )

    def remove_dead(self) -> None:
        graph = self.graph
        remove_dead(graph)
        used = {name for node in graph.node for name in names_read_by_node(node)} | set(self.outputs)
        keep_only_members(graph.input, [port for port in graph.input if port.name in used])

    # -- loops

    def initial_value_names(self, key: str) -> list[str]:
        return _initial_value_names(self.find_node(self.graph, key))

    def final_value_names(self, key: str) -> list[str]:
        node, used = self.find_node(self.graph, key), all_names(self.graph)
        for k in range(len(_initial_value_names(node))):
            if k == len(node.output):
                node.output.append("")
            node.output[k] = node.output[k] or fresh_name(f"{loop_body(node).output[k].name}_final", used)
        return list(node.output[: len(_initial_value_names(node))])

    def limit_iterations(self, key: str, path: GraphPath, count: int, values: Values) -> NewInputs:
        graph, host = self.graph, self.graph_at(path)
        node = self.find_node(host, key)
        if node.op_type == "Scan":
            can_restrict = host is graph and _is_unbatched(node)
            return _restrict_slices(graph, node, slice(0, count), values) if can_restrict else None
        while len(node.input) < _LEADING_INPUTS:
            node.input.append("")
        trip_count = values.get(node.input[0])
        if trip_count is not None and 0 <= int(np.asarray(trip_count).reshape(-1)[0]) <= count:
            return None
        node.input[0] = _set_trip_count(graph, node, count)
        return {}

    def start_at_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        graph, node = self.graph, self.find_node(self.graph, key)
        if node.op_type == "Scan":
            inputs = _restrict_slices(graph, node, slice(index, None), values) if _is_unbatched(node) else None
            if inputs is None:
                return None
        else:
            inputs = {}
            trip_count = values.get(node.input[0])
            if trip_count is not None:
                node.input[0] = _set_trip_count(graph, node, max(int(np.asarray(trip_count).reshape(-1)[0]) - index, 0))
        first = _LEADING_INPUTS if node.op_type == "Loop" else 0
        for k, data in enumerate(state):
            inputs |= _make_model_input(graph, node, first + k, data, f"_at_{index}")
        return inputs

    def replace_by_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        graph, node = self.graph, self.find_node(self.graph, key)
        body = GraphProto()
        body.CopyFrom(loop_body(node))
        body_inputs = _iteration_inputs(node, index, state, values)
        outer = captured_names(body)
        constants = {port.name: port for port in graph.initializer}
        if body_inputs is None or any(name not in constants and name not in values for name in outer):
            return None
        inputs: dict[str, Data] = {}
        ports = []
        for port, data in zip(body.input, body_inputs, strict=True):
            inputs[port.name] = data
            ports.append(value_info(port.name, data))
        for name in outer:
            if name not in constants:
                inputs[name] = values[name]
                ports.append(value_info(name, values[name]))
        captured = [constants[name] for name in outer if name in constants]
        _make_outputs_distinct(body)
        keep_only_members(graph.initializer, [*body.initializer, *captured])
        keep_only_members(graph.sparse_initializer, body.sparse_initializer)
        keep_only_members(graph.input, ports)
        keep_only_members(graph.node, body.node)
        keep_only_members(graph.output, body.output)
        del graph.value_info[:]
        return inputs

    def inline_branch(self, key: str, values: Values) -> bool:
        graph, node = self.graph, self.find_node(self.graph, key)
        condition = values.get(node.input[0])
        if condition is None:
            return False
        word = "then_branch" if np.asarray(condition).reshape(-1)[0] else "else_branch"
        branch = GraphProto()
        branch.CopyFrom(next(inner for name, inner in inner_graphs(node) if name == word))
        index = list(graph.node).index(node)
        outputs = list(node.output)
        used = all_names(graph)
        rename_values(
            branch,
            {name: fresh_name(name, used) for name in sorted(own_names(branch) & _names_outside_node(graph, node))},
        )
        _make_outputs_distinct(branch)
        computed = {name for item in branch.node for name in item.output}
        if any(item.name not in computed for item in branch.output):
            return False
        rename_values(branch, {item.name: name for item, name in zip(branch.output, outputs, strict=True) if name})
        keep_only_members(graph.node, [*graph.node[:index], *branch.node, *graph.node[index + 1 :]])
        graph.initializer.extend(branch.initializer)
        return True

    # -- inner graphs

    def replace_by_constant(self, node: DocumentNode, value: Data) -> bool:
        proto = self.node_of(node)
        if sum(map(bool, proto.output)) != 1 or proto.op_type == "Constant" or value is None or isinstance(value, list):
            return False
        name = next(filter(None, proto.output))
        constant = NodeProto(op_type="Constant", output=[name], name=proto.name)
        constant.attribute.add(name="value", type=4).t.CopyFrom(make_tensor("", value))
        proto.CopyFrom(constant)
        return True

    def bypass_node(self, node: DocumentNode, source: str) -> bool:
        graph: GraphProto = self.graph_at(node.graph_path)
        proto: NodeProto = self.node_of(node)
        if sum(map(bool, proto.output)) != 1 or source not in proto.input:
            return False
        name = next(filter(None, proto.output))
        keep_only_members(graph.node, [entry for entry in graph.node if entry is not proto])
        results = [entry.name for entry in graph.output]
        redirect_reads(graph, {name: source}, outputs=False)
        if name in results:
            if source in results or source not in {n for entry in graph.node for n in entry.output}:
                graph.node.append(NodeProto(op_type="Identity", input=[source], output=[name]))
                return proto.op_type != "Identity"
            for entry in graph.output:
                entry.name = source if entry.name == name else entry.name
        return True

    def remove_carried(self, node: DocumentNode, index: int) -> bool:
        proto = self.node_of(node)
        body = loop_body(proto)
        name = _initial_value_names(proto)[index]
        first, out = _LEADING_PORTS[proto.op_type]
        if (index < len(proto.output) and proto.output[index]) or name in all_names(body):
            return False
        redirect_reads(body, {body.input[first + index].name: name})
        _remove_body_results(proto, [index], first, out)
        return True

    def drop_results(self, node: DocumentNode, indices: Sequence[int]) -> bool:
        proto = self.node_of(node)
        _remove_body_results(proto, indices, *_LEADING_PORTS[proto.op_type])
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
        for k, inner in enumerate(walk_graphs(self.graph)):
            del inner.value_info[:]
            for port in (*(inner.input if k else ()), *inner.output):
                if port.type.HasField("tensor_type"):
                    for dim in port.type.tensor_type.shape.dim:
                        dim.Clear()

    def cleanup_edits(self) -> list[Callable[[], None]]:
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
        keep_only_members(self.proto.opset_import, [opset for opset in self.proto.opset_import if opset.domain in used])

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

    def carried_value_count(self, node: NodeProto) -> int:
        return len(_initial_value_names(node))

    def unread_result_indices(self, graph: GraphProto, node: NodeProto) -> list[int]:
        used = {name for other in graph.node for name in names_read_by_node(other)} | {
            port.name for port in graph.output
        }
        first, out = _LEADING_PORTS[node.op_type]
        body, count = loop_body(node), len(_initial_value_names(node))
        results = range(len(body.output) - out)
        outside = [k for k in results if k < len(node.output) and node.output[k] in used]
        live = _live_result_indices(body, outside, count, first, out)
        return [k for k in results if k not in outside and (k >= count or k not in live)]

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


# -- loops


def _initial_value_names(node: NodeProto) -> list[str]:
    """The names of the initial carried values."""
    if node.op_type == "Loop":
        return list(node.input[_LEADING_INPUTS:])
    return list(node.input[: _state_count(node)])


def _names_outside_node(graph: GraphProto, node: NodeProto) -> set[str]:
    """All names of a graph, except those inside one of its nodes."""
    names = own_names(graph)
    for other in graph.node:
        if other is not node:
            for _, inner in inner_graphs(other):
                names |= all_names(inner)
    return names


def _state_count(node: NodeProto) -> int:
    return len(node.input) - int(attribute_value(node, "num_scan_inputs", 0))


def _is_unbatched(node: NodeProto) -> bool:
    """Whether a loop has no batch axis: not a Scan of opset 8."""
    return len(loop_body(node).input) == len(node.input)


def _set_trip_count(graph: GraphProto, node: NodeProto, count: int) -> str:
    """Add a constant trip count, or change the number of an earlier one."""
    name = f"{node.name or node.op_type.lower()}_trips"
    existing = next((tensor for tensor in graph.initializer if tensor.name == name == node.input[0]), None)
    if existing is not None:
        existing.CopyFrom(make_tensor(name, np.asarray(count, np.int64)))
        return name
    name = fresh_name(name, all_names(graph))
    graph.initializer.append(make_tensor(name, np.asarray(count, np.int64)))
    return name


def _make_model_input(graph: GraphProto, node: NodeProto, k: int, data: Data, suffix: str) -> dict[str, Data]:
    """Turn an input of a node into one of the model, with the same name if it has no other reader."""
    name = node.input[k]
    readers = sum(list(other.input).count(name) for other in graph.node)
    readers += sum(name in captured_names(inner) for other in graph.node for _, inner in inner_graphs(other))
    port = next((entry for entry in graph.input if entry.name == name), None)
    if port is not None and readers == 1 and not any(entry.name == name for entry in graph.output):
        port.CopyFrom(value_info(name, data))
        return {name: data}
    node.input[k] = fresh_name(f"{name}{suffix}", all_names(graph))
    graph.input.append(value_info(node.input[k], data))
    return {node.input[k]: data}


def _restrict_slices(graph: GraphProto, node: NodeProto, part: slice, values: Values) -> NewInputs:
    """Restrict the sliced inputs of a Scan to these iterations."""
    first = _state_count(node)
    names = list(node.input[first:])
    if any(name not in values for name in names):
        return None
    inputs: dict[str, Data] = {}
    for k, name in enumerate(names):
        array, axis, backwards = np.asarray(values[name]), _scan_axis(node, k), _is_scan_backwards(node, k)
        rows = range(array.shape[axis])[part]
        if len(rows) == array.shape[axis]:
            return None
        indices = [array.shape[axis] - 1 - row for row in reversed(rows)] if backwards else list(rows)
        inputs |= _make_model_input(graph, node, first + k, np.take(array, indices, axis), "_part")
    return inputs


def _scan_axis(node: NodeProto, k: int) -> int:
    return int([*attribute_value(node, "scan_input_axes", []), *([0] * (k + 1))][k])


def _is_scan_backwards(node: NodeProto, k: int) -> bool:
    return bool([*attribute_value(node, "scan_input_directions", []), *([0] * (k + 1))][k])


def _iteration_inputs(node: NodeProto, i: int, state: Sequence[Data], values: Values) -> list[Data] | None:
    """The inputs of the body in an iteration."""
    if node.op_type == "Loop":
        return [np.asarray(i, np.int64), np.asarray(True), *state]
    names = list(node.input[_state_count(node) :])
    if not _is_unbatched(node) or any(name not in values for name in names):
        return None
    parts: list[Data] = []
    for k, name in enumerate(names):
        array, axis = np.asarray(values[name]), _scan_axis(node, k)
        if i >= array.shape[axis]:
            return None
        parts.append(np.take(array, array.shape[axis] - 1 - i if _is_scan_backwards(node, k) else i, axis))
    return [*state, *parts]


def _make_outputs_distinct(graph: GraphProto) -> None:
    """Make each output a distinct computed value: a main graph returns no input and no value twice."""
    used = all_names(graph)
    returned: set[str] = set()
    computed = {name for node in graph.node for name in node.output}
    for output in graph.output:
        if output.name in computed and output.name not in returned:
            returned.add(output.name)
            continue
        name = fresh_name(f"{output.name}_out", used)
        graph.node.append(NodeProto(op_type="Identity", input=[output.name], output=[name]))
        output.name = name


def _live_result_indices(body: GraphProto, outside: Sequence[int], count: int, first: int, out: int) -> set[int]:
    """The indices of live body results: used outside, by the condition, or by the next iteration of a live result."""
    params = {body.input[first + k].name: k for k in range(count)}
    makers = {name: node for node in body.node for name in node.output}
    live: set[int] = set()
    pending = [body.output[k].name for k in range(out)] + [body.output[out + k].name for k in outside]
    live.update(outside)
    visited: set[str] = set()
    while pending:
        name = pending.pop()
        if name in visited:
            continue
        visited.add(name)
        if name in makers:
            pending += names_read_by_node(makers[name])
        elif name in params:
            live.add(params[name])
            pending.append(body.output[out + params[name]].name)
    return live


def _remove_body_results(node: NodeProto, indices: Sequence[int], start: int, out: int) -> None:
    """Remove results of a body, with the parameters of the carried ones."""
    body, count = loop_body(node), len(_initial_value_names(node))
    first = len(node.input) - int(attribute_value(node, "num_scan_inputs", 0)) - count
    carried = [k for k in indices if k < count]
    inputs = [name for k, name in enumerate(node.input) if k - first not in carried or k < first]
    keep_only_members(body.input, [item for k, item in enumerate(body.input) if k - start not in carried or k < start])
    keep_only_members(body.output, [item for k, item in enumerate(body.output) if k < out or k - out not in indices])
    outputs = [name for k, name in enumerate(node.output) if k not in indices]
    node.input[:], node.output[:] = inputs, outputs
    for item in node.attribute:
        if item.name in ("scan_output_axes", "scan_output_directions"):
            item.ints[:] = [value for k, value in enumerate(item.ints) if k + count not in indices]
