"""Loops of an ONNX main graph made shorter, begun later, or taken apart; branches put in the place of their If.

What a loop is given and not computed any more becomes an input of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import GraphProto, NodeProto

from ....runtime.model import Data
from ...extract.onnx_names import all_names, free_names, fresh_name, own_names
from .onnx_graph import attribute_value, inner_graphs, keep_only, loop_body, make_tensor, rename_values, value_info

#: The inputs of a Loop before what it carries.
_LEADING_INPUTS = 2


def initial_names(node: NodeProto) -> list[str]:
    """What is carried into the first iteration."""
    if node.op_type == "Loop":
        return list(node.input[_LEADING_INPUTS:])
    return list(node.input[: _state_count(node)])


def final_names(node: NodeProto, taken: set[str]) -> list[str]:
    """What is carried out of the last iteration; one that has no name gets one."""
    for k in range(len(initial_names(node))):
        if k == len(node.output):
            node.output.append("")
        node.output[k] = node.output[k] or fresh_name(f"{loop_body(node).output[k].name}_final", taken)
    return list(node.output[: len(initial_names(node))])


def limit_iterations(
    graph: GraphProto, around: GraphProto, node: NodeProto, count: int, values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Let a loop of the graph ``around`` run no more iterations than that; returns what are inputs of the main graph
    now. None where it cannot be, or changes nothing."""
    if node.op_type == "Scan":
        return (
            _restrict_slices(graph, node, slice(0, count), values) if around is graph and _is_unbatched(node) else None
        )
    while len(node.input) < _LEADING_INPUTS:
        node.input.append("")
    known = values.get(node.input[0])
    if known is not None and 0 <= int(np.asarray(known).reshape(-1)[0]) <= count:
        return None
    node.input[0] = _set_trip_count(graph, node, count)
    return {}


def start_at_iteration(
    graph: GraphProto, node: NodeProto, at: int, state: Sequence[Data], values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Let a loop start with iteration ``at`` and these carried values. An iteration number counts from 0 all the
    same."""
    if node.op_type == "Scan":
        made = _restrict_slices(graph, node, slice(at, None), values) if _is_unbatched(node) else None
        if made is None:
            return None
    else:
        made = {}
        known = values.get(node.input[0])
        if known is not None:
            node.input[0] = _set_trip_count(graph, node, max(int(np.asarray(known).reshape(-1)[0]) - at, 0))
    first = _LEADING_INPUTS if node.op_type == "Loop" else 0
    for k, data in enumerate(state):
        made |= _make_model_input(graph, node, first + k, data, f"_at_{at}")
    return made


def replace_by_iteration(
    graph: GraphProto, node: NodeProto, at: int, state: Sequence[Data], values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Be one iteration of the body of a loop, and nothing else: what it is given is inputs, and what it gives outputs.
    None where it cannot be."""
    body = GraphProto()
    body.CopyFrom(loop_body(node))
    fed = _iteration_inputs(node, at, state, values)
    outer = free_names(body)
    constants = {one.name: one for one in graph.initializer}
    if fed is None or any(name not in constants and name not in values for name in outer):
        return None
    made: dict[str, Data] = {}
    ports = []
    for one, data in zip(body.input, fed, strict=True):
        made[one.name] = data
        ports.append(value_info(one.name, data))
    for name in outer:
        if name not in constants:
            made[name] = values[name]
            ports.append(value_info(name, values[name]))
    kept = [constants[name] for name in outer if name in constants]
    _make_outputs_distinct(body)
    keep_only(graph.initializer, [*body.initializer, *kept])
    keep_only(graph.sparse_initializer, body.sparse_initializer)
    keep_only(graph.input, ports)
    keep_only(graph.node, body.node)
    keep_only(graph.output, body.output)
    del graph.value_info[:]
    return made


def inline_branch(graph: GraphProto, node: NodeProto, values: Mapping[str, Data]) -> bool:
    """Put the branch of an If that the values take in its place."""
    condition = values.get(node.input[0])
    if condition is None:
        return False
    word = "then_branch" if np.asarray(condition).reshape(-1)[0] else "else_branch"
    branch = GraphProto()
    branch.CopyFrom(next(inner for name, inner in inner_graphs(node) if name == word))
    at = list(graph.node).index(node)
    outputs = list(node.output)
    taken = all_names(graph)
    rename_values(
        branch, {name: fresh_name(name, taken) for name in sorted(own_names(branch) & names_outside(graph, node))}
    )
    _make_outputs_distinct(branch)
    own = {name for one in branch.node for name in one.output}
    if any(one.name not in own for one in branch.output):
        return False
    rename_values(branch, {one.name: name for one, name in zip(branch.output, outputs, strict=True) if name})
    keep_only(graph.node, [*graph.node[:at], *branch.node, *graph.node[at + 1 :]])
    graph.initializer.extend(branch.initializer)
    return True


def names_outside(graph: GraphProto, node: NodeProto) -> set[str]:
    """All names of a graph, but those inside one of its nodes."""
    found = own_names(graph)
    for other in graph.node:
        if other is not node:
            for _, inner in inner_graphs(other):
                found |= all_names(inner)
    return found


def _state_count(node: NodeProto) -> int:
    return len(node.input) - int(attribute_value(node, "num_scan_inputs", 0))


def _is_unbatched(node: NodeProto) -> bool:
    """Not a Scan of opset 8, which is over a batch."""
    return len(loop_body(node).input) == len(node.input)


def _set_trip_count(graph: GraphProto, node: NodeProto, count: int) -> str:
    """A constant with a trip count; one that was made before is given another number."""
    name = f"{node.name or node.op_type.lower()}_trips"
    mine = next((one for one in graph.initializer if one.name == name == node.input[0]), None)
    if mine is not None:
        mine.CopyFrom(make_tensor(name, np.asarray(count, np.int64)))
        return name
    name = fresh_name(name, all_names(graph))
    graph.initializer.append(make_tensor(name, np.asarray(count, np.int64)))
    return name


def _make_model_input(graph: GraphProto, node: NodeProto, k: int, data: Data, suffix: str) -> dict[str, Data]:
    """An input of a node becomes one of the model, under the name that it has if nothing else reads that."""
    name = node.input[k]
    readers = sum(list(other.input).count(name) for other in graph.node)
    readers += sum(name in free_names(inner) for other in graph.node for _, inner in inner_graphs(other))
    port = next((one for one in graph.input if one.name == name), None)
    if port is not None and readers == 1 and not any(one.name == name for one in graph.output):
        port.CopyFrom(value_info(name, data))
        return {name: data}
    node.input[k] = fresh_name(f"{name}{suffix}", all_names(graph))
    graph.input.append(value_info(node.input[k], data))
    return {node.input[k]: data}


def _restrict_slices(
    graph: GraphProto, node: NodeProto, part: slice, values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Give a Scan these iterations of what it slices."""
    first = _state_count(node)
    names = list(node.input[first:])
    if any(name not in values for name in names):
        return None
    made: dict[str, Data] = {}
    for k, name in enumerate(names):
        array, axis, back = np.asarray(values[name]), _scan_axis(node, k), _is_backwards(node, k)
        rows = range(array.shape[axis])[part]
        if len(rows) == array.shape[axis]:
            return None
        where = [array.shape[axis] - 1 - row for row in reversed(rows)] if back else list(rows)
        made |= _make_model_input(graph, node, first + k, np.take(array, where, axis), "_part")
    return made


def _scan_axis(node: NodeProto, k: int) -> int:
    return int([*attribute_value(node, "scan_input_axes", []), *([0] * (k + 1))][k])


def _is_backwards(node: NodeProto, k: int) -> bool:
    return bool([*attribute_value(node, "scan_input_directions", []), *([0] * (k + 1))][k])


def _iteration_inputs(node: NodeProto, at: int, state: Sequence[Data], values: Mapping[str, Data]) -> list[Data] | None:
    """What the body is given in an iteration."""
    if node.op_type == "Loop":
        return [np.asarray(at, np.int64), np.asarray(True), *state]
    names = list(node.input[_state_count(node) :])
    if not _is_unbatched(node) or any(name not in values for name in names):
        return None
    parts: list[Data] = []
    for k, name in enumerate(names):
        array, axis = np.asarray(values[name]), _scan_axis(node, k)
        if at >= array.shape[axis]:
            return None
        parts.append(np.take(array, array.shape[axis] - 1 - at if _is_backwards(node, k) else at, axis))
    return [*state, *parts]


def _make_outputs_distinct(graph: GraphProto) -> None:
    """Each output is a value of its own that a node makes: a main graph gives no input, and nothing twice."""
    taken = all_names(graph)
    made: set[str] = set()
    own = {name for node in graph.node for name in node.output}
    for one in graph.output:
        if one.name in own and one.name not in made:
            made.add(one.name)
            continue
        name = fresh_name(f"{one.name}_out", taken)
        graph.node.append(NodeProto(op_type="Identity", input=[one.name], output=[name]))
        one.name = name
