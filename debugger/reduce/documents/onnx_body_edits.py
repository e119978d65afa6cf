"""Edits of inner graphs of an ONNX model: loop bodies and branches."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto, NodeProto

from ....runtime.model import Data
from ....runtime.modelfile.onnx_graph import (
    all_names,
    attribute_value,
    keep_only,
    loop_body,
    make_tensor,
    names_read_by_node,
    redirect_reads,
    walk_graphs,
)
from .onnx_loop_edits import initial_names

#: Number of body inputs before the carried values, and of outputs before them, by loop operator.
_LEADING_PORTS = {"Loop": (2, 1), "Scan": (0, 0)}


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


def remove_shapes(graph: GraphProto) -> None:
    """Remove the shapes of all values except the model's inputs: they can be inferred."""
    for k, inner in enumerate(walk_graphs(graph)):
        del inner.value_info[:]
        for port in (*(inner.input if k else ()), *inner.output):
            if port.type.HasField("tensor_type"):
                for dim in port.type.tensor_type.shape.dim:
                    dim.Clear()
