"""Edits of loops and branches of an ONNX model: fewer iterations, a later start, one iteration, smaller bodies.

A value that a loop reads and that is not computed any more becomes an input of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, NodeProto

from ....runtime.model import Data
from ....runtime.modelfile.onnx_graph import (
    all_names,
    attribute_value,
    free_names,
    inner_graphs,
    keep_only,
    loop_body,
    make_tensor,
    names_read_by_node,
    own_names,
    redirect_reads,
    rename_values,
    value_info,
    walk_graphs,
)
from ....runtime.text import fresh_name
from .document import NewInputs, Values

#: Number of inputs of a Loop before the carried values.
_LEADING_INPUTS = 2
#: Number of body inputs before the carried values, and of outputs before them, by loop operator.
_LEADING_PORTS = {"Loop": (2, 1), "Scan": (0, 0)}


def initial_names(node: NodeProto) -> list[str]:
    """The names of the initial carried values."""
    if node.op_type == "Loop":
        return list(node.input[_LEADING_INPUTS:])
    return list(node.input[: _state_count(node)])


def final_names(node: NodeProto, used: set[str]) -> list[str]:
    """The names of the final carried values; unnamed ones get a name."""
    for k in range(len(initial_names(node))):
        if k == len(node.output):
            node.output.append("")
        node.output[k] = node.output[k] or fresh_name(f"{loop_body(node).output[k].name}_final", used)
    return list(node.output[: len(initial_names(node))])


def limit_iterations(graph: GraphProto, host: GraphProto, node: NodeProto, count: int, values: Values) -> NewInputs:
    """Limit the iterations of a loop of the graph ``host``; return the new inputs of the main graph. None if that is
    impossible or changes nothing."""
    if node.op_type == "Scan":
        return _restrict_slices(graph, node, slice(0, count), values) if host is graph and _is_unbatched(node) else None
    while len(node.input) < _LEADING_INPUTS:
        node.input.append("")
    trip_count = values.get(node.input[0])
    if trip_count is not None and 0 <= int(np.asarray(trip_count).reshape(-1)[0]) <= count:
        return None
    node.input[0] = _set_trip_count(graph, node, count)
    return {}


def start_at_iteration(
    graph: GraphProto, node: NodeProto, index: int, state: Sequence[Data], values: Values
) -> NewInputs:
    """Let a loop start with iteration ``index`` and these carried values. Iteration numbers still count from 0."""
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


def replace_by_iteration(
    graph: GraphProto, node: NodeProto, index: int, state: Sequence[Data], values: Values
) -> NewInputs:
    """Replace the model by one iteration of the body of a loop: its parameters become inputs, its results outputs. None
    if that is impossible."""
    body = GraphProto()
    body.CopyFrom(loop_body(node))
    body_inputs = _iteration_inputs(node, index, state, values)
    outer = free_names(body)
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
    keep_only(graph.initializer, [*body.initializer, *captured])
    keep_only(graph.sparse_initializer, body.sparse_initializer)
    keep_only(graph.input, ports)
    keep_only(graph.node, body.node)
    keep_only(graph.output, body.output)
    del graph.value_info[:]
    return inputs


def inline_branch(graph: GraphProto, node: NodeProto, values: Values) -> bool:
    """Replace an If by the branch that the values select."""
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
        branch, {name: fresh_name(name, used) for name in sorted(own_names(branch) & names_outside(graph, node))}
    )
    _make_outputs_distinct(branch)
    computed = {name for item in branch.node for name in item.output}
    if any(item.name not in computed for item in branch.output):
        return False
    rename_values(branch, {item.name: name for item, name in zip(branch.output, outputs, strict=True) if name})
    keep_only(graph.node, [*graph.node[:index], *branch.node, *graph.node[index + 1 :]])
    graph.initializer.extend(branch.initializer)
    return True


def names_outside(graph: GraphProto, node: NodeProto) -> set[str]:
    """All names of a graph, except those inside one of its nodes."""
    names = own_names(graph)
    for other in graph.node:
        if other is not node:
            for _, inner in inner_graphs(other):
                names |= all_names(inner)
    return names


# -- inner graphs: bodies and branches


def replace_by_constant(node: NodeProto, value: Data) -> bool:
    """Replace a node by a constant. False if it has several outputs, or the value is no tensor."""
    if sum(map(bool, node.output)) != 1 or node.op_type == "Constant" or value is None or isinstance(value, list):
        return False
    name = next(filter(None, node.output))
    constant = NodeProto(op_type="Constant", output=[name], name=node.name)
    constant.attribute.add(name="value", type=4).t.CopyFrom(make_tensor("", value))
    node.CopyFrom(constant)
    return True


def bypass_node(graph: GraphProto, node: NodeProto, source: str) -> bool:
    """Replace the result of a node by ``source``."""
    if sum(map(bool, node.output)) != 1 or source not in node.input:
        return False
    name = next(filter(None, node.output))
    keep_only(graph.node, [entry for entry in graph.node if entry is not node])
    results = [entry.name for entry in graph.output]
    redirect_reads(graph, {name: source}, outputs=False)
    if name in results:
        if source in results or source not in {n for entry in graph.node for n in entry.output}:
            graph.node.append(NodeProto(op_type="Identity", input=[source], output=[name]))
            return node.op_type != "Identity"
        for entry in graph.output:
            entry.name = source if entry.name == name else entry.name
    return True


def remove_carried(node: NodeProto, index: int) -> bool:
    """Replace a carried value by its initial value; its final value must not have readers."""
    body = loop_body(node)
    name = initial_names(node)[index]
    first, out = _LEADING_PORTS[node.op_type]
    if (index < len(node.output) and node.output[index]) or name in all_names(body):
        return False
    redirect_reads(body, {body.input[first + index].name: name})
    _remove_results(node, [index], first, out)
    return True


def unread_results(graph: GraphProto, node: NodeProto) -> list[int]:
    """The indices of body results without readers, inside or outside: carried values, then scan outputs."""
    used = {name for other in graph.node for name in names_read_by_node(other)} | {port.name for port in graph.output}
    first, out = _LEADING_PORTS[node.op_type]
    body, count = loop_body(node), len(initial_names(node))
    results = range(len(body.output) - out)
    outside = [k for k in results if k < len(node.output) and node.output[k] in used]
    live = _live_results(body, outside, count, first, out)
    return [k for k in results if k not in outside and (k >= count or k not in live)]


def drop_results(node: NodeProto, indices: Sequence[int]) -> None:
    """Remove results of a loop body without readers."""
    _remove_results(node, indices, *_LEADING_PORTS[node.op_type])


def remove_shapes(graph: GraphProto) -> None:
    """Remove the shapes of all values except the model's inputs: they can be inferred."""
    for k, inner in enumerate(walk_graphs(graph)):
        del inner.value_info[:]
        for port in (*(inner.input if k else ()), *inner.output):
            if port.type.HasField("tensor_type"):
                for dim in port.type.tensor_type.shape.dim:
                    dim.Clear()


# -- helpers


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
    readers += sum(name in free_names(inner) for other in graph.node for _, inner in inner_graphs(other))
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
        array, axis, backwards = np.asarray(values[name]), _scan_axis(node, k), _is_backwards(node, k)
        rows = range(array.shape[axis])[part]
        if len(rows) == array.shape[axis]:
            return None
        indices = [array.shape[axis] - 1 - row for row in reversed(rows)] if backwards else list(rows)
        inputs |= _make_model_input(graph, node, first + k, np.take(array, indices, axis), "_part")
    return inputs


def _scan_axis(node: NodeProto, k: int) -> int:
    return int([*attribute_value(node, "scan_input_axes", []), *([0] * (k + 1))][k])


def _is_backwards(node: NodeProto, k: int) -> bool:
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
        parts.append(np.take(array, array.shape[axis] - 1 - i if _is_backwards(node, k) else i, axis))
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


def _live_results(body: GraphProto, outside: Sequence[int], count: int, first: int, out: int) -> set[int]:
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


def _remove_results(node: NodeProto, indices: Sequence[int], start: int, out: int) -> None:
    """Remove results of a body, with the parameters of the carried ones."""
    body, count = loop_body(node), len(initial_names(node))
    first = len(node.input) - int(attribute_value(node, "num_scan_inputs", 0)) - count
    carried = [k for k in indices if k < count]
    inputs = [name for k, name in enumerate(node.input) if k - first not in carried or k < first]
    keep_only(body.input, [item for k, item in enumerate(body.input) if k - start not in carried or k < start])
    keep_only(body.output, [item for k, item in enumerate(body.output) if k < out or k - out not in indices])
    outputs = [name for k, name in enumerate(node.output) if k not in indices]
    node.input[:], node.output[:] = inputs, outputs
    for item in node.attribute:
        if item.name in ("scan_output_axes", "scan_output_directions"):
            item.ints[:] = [value for k, value in enumerate(item.ints) if k + count not in indices]
