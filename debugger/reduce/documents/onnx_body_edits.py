"""The inner graphs of an ONNX model made smaller: bodies of loops that have to stay, and branches."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto, NodeProto

from ....runtime.model import Data
from ...extract.onnx_names import all_names, names_read_by_node
from .onnx_graph import attribute_value, keep_only, loop_body, make_tensor, redirect_reads, walk_graphs
from .onnx_loop_edits import initial_names

#: The inputs of the body of a Loop before what it carries, and its outputs before that.
_LEADING_PORTS = {"Loop": (2, 1), "Scan": (0, 0)}


def replace_by_constant(graph: GraphProto, node: NodeProto, value: Data) -> bool:
    """A node becomes a constant of its graph. False where it has several outputs, or the value is no tensor."""
    if sum(map(bool, node.output)) != 1 or node.op_type == "Constant" or value is None or isinstance(value, list):
        return False
    name = next(filter(None, node.output))
    constant = NodeProto(op_type="Constant", output=[name], name=node.name)
    constant.attribute.add(name="value", type=4).t.CopyFrom(make_tensor("", value))
    node.CopyFrom(constant)
    return True


def bypass_node(graph: GraphProto, node: NodeProto, source: str) -> bool:
    """What a node gives is read from ``source`` instead."""
    if sum(map(bool, node.output)) != 1 or source not in node.input:
        return False
    name = next(filter(None, node.output))
    keep_only(graph.node, [one for one in graph.node if one is not node])
    results = [one.name for one in graph.output]
    redirect_reads(graph, {name: source}, outputs=False)
    if name in results:
        if source in results or source not in {n for one in graph.node for n in one.output}:
            graph.node.append(NodeProto(op_type="Identity", input=[source], output=[name]))
            return node.op_type != "Identity"
        for one in graph.output:
            one.name = source if one.name == name else one.name
    return True


def remove_carried(node: NodeProto, which: int) -> bool:
    """Iterations read what a carried value begins with in place of it; nobody may read what it ends with."""
    body = loop_body(node)
    name = initial_names(node)[which]
    into, out = _LEADING_PORTS[node.op_type]
    if (which < len(node.output) and node.output[which]) or name in all_names(body):
        return False
    redirect_reads(body, {body.input[into + which].name: name})
    _remove_results(node, [which], into, out)
    return True


def unread_results(around: GraphProto, node: NodeProto) -> list[int]:
    """Which results of the body of a loop nobody reads, inside or outside: what is carried, then what is collected."""
    needed = {name for other in around.node for name in names_read_by_node(other)} | {one.name for one in around.output}
    into, out = _LEADING_PORTS[node.op_type]
    body, count = loop_body(node), len(initial_names(node))
    results = range(len(body.output) - out)
    outside = [k for k in results if k < len(node.output) and node.output[k] in needed]
    live = _live_results(body, outside, count, into, out)
    return [k for k in results if k not in outside and (k >= count or k not in live)]


def drop_results(node: NodeProto, which: Sequence[int]) -> None:
    """Leave out results of the body of a loop that nobody reads."""
    _remove_results(node, which, *_LEADING_PORTS[node.op_type])


def _live_results(body: GraphProto, outside: Sequence[int], count: int, into: int, out: int) -> set[int]:
    """Which results of a body somebody needs: outside, the condition, or the next iteration for one of these."""
    params = {body.input[into + k].name: k for k in range(count)}
    makers = {name: node for node in body.node for name in node.output}
    live: set[int] = set()
    todo = [body.output[k].name for k in range(out)] + [body.output[out + k].name for k in outside]
    live.update(outside)
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in makers:
            todo += names_read_by_node(makers[name])
        elif name in params:
            live.add(params[name])
            todo.append(body.output[out + params[name]].name)
    return live


def _remove_results(node: NodeProto, which: Sequence[int], into: int, out: int) -> None:
    """Leave out results of a body, with the parameters that those that are carried go to."""
    body, count = loop_body(node), len(initial_names(node))
    first = len(node.input) - int(attribute_value(node, "num_scan_inputs", 0)) - count
    carried = [k for k in which if k < count]
    inputs = [name for k, name in enumerate(node.input) if k - first not in carried or k < first]
    keep_only(body.input, [one for k, one in enumerate(body.input) if k - into not in carried or k < into])
    keep_only(body.output, [one for k, one in enumerate(body.output) if k < out or k - out not in which])
    outputs = [name for k, name in enumerate(node.output) if k not in which]
    node.input[:], node.output[:] = inputs, outputs
    for one in node.attribute:
        if one.name in ("scan_output_axes", "scan_output_directions"):
            one.ints[:] = [value for k, value in enumerate(one.ints) if k + count not in which]


def remove_shapes(graph: GraphProto) -> None:
    """Nothing is said of the lengths of values but of the model's inputs: they follow from those."""
    for k, one in enumerate(walk_graphs(graph)):
        del one.value_info[:]
        for port in (*(one.input if k else ()), *one.output):
            if port.type.HasField("tensor_type"):
                for dim in port.type.tensor_type.shape.dim:
                    dim.Clear()
