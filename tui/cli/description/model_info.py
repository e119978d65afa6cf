"""The model description of ``loopdbg info``, the source of its text and its JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ....debugger.describe.termination import part_count, termination_rule
from ....debugger.value_json import json_element
from ....runtime.errors import LoopdbgError
from ....runtime.graph import (
    MAIN,
    Graph,
    If,
    Loop,
    Node,
    Operation,
    SlicedInput,
    System,
    TensorType,
    Value,
    bodies,
    captured_values,
    nodes_in_file,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.model import LoopNode, Model
from ....runtime.ops.registry import resolve
from ...render.formatting import dtype_name, value_text

if TYPE_CHECKING:
    from ....debugger.describe.node_text import NodeFormatter


def describe_model(model: Model) -> dict[str, Any]:
    """The object of ``loopdbg info --json``; all entries are JSON values."""
    origins = ProducerMap.for_graph(model.graph)
    returned: dict[Value, list[str]] = {}
    for port, value in zip(model.outputs, model.graph.outputs, strict=False):
        returned.setdefault(value, []).append(port.name)
    return {
        "model": model.name,
        "system": model.graph.system.value,
        "opsets": dict(model.graph.opsets),
        "inputs": [_port_info(port.name, port.type) | {"optional": port.optional} for port in model.inputs],
        "outputs": [_port_info(port.name, port.type) for port in model.outputs],
        "variables": variables(model.graph),
        "loops": [_loop_info(node, origins, returned) for node in model.loops],
        "operators": _operator_counts(model.graph),
        "unsupported": list(_unsupported_nodes(model.graph, MAIN, model.graph.system)),
        **_file_and_shape_notes(model),
    }


def variables(graph: Graph) -> list[dict[str, Any]]:
    """The variables of a model: initial value (``computed``: the name of the computing value), and the value that a run
    assigns."""
    return [
        _port_info(var.name, var.state.type)
        | {
            "initial": value_text(graph.defaults[var.state.name]) if var.initial is None else var.initial.name,
            "computed": var.initial is not None,
            "assigned": None if var.assigned is None else var.assigned.name,
        }
        for var in graph.variables
    ]


def variable_line(variable: dict[str, Any]) -> str:
    """One of :func:`variables` as text, without its name."""
    first = f"computed: {variable['initial']}" if variable["computed"] else variable["initial"]
    assigned = "never assigned" if variable["assigned"] is None else f"each run assigns {variable['assigned']}"
    return f"{variable['type']}, at first {first}; {assigned}"


def _file_and_shape_notes(model: Model) -> dict[str, Any]:
    """Notes on the file, and values with a contradictory declared shape."""
    notes, contradictions = list(model.graph.notes), []
    if model.graph.system is System.ONNX and model.path is not None:
        from ....runtime.frontends.onnx.type_checks import contradictory_shapes, disallowed_type_notes

        notes += disallowed_type_notes(model.graph, lambda value: value.type)
        for name, declared, computed in contradictory_shapes(model.path):
            contradictions.append({"name": name, "declared": str(declared), "computed": str(computed)})
    return {"notes": notes, "contradicted": contradictions}


def _iterations_info(loop: Loop, formatter: NodeFormatter) -> dict[str, Any]:
    """How often a loop runs, as far as that is known before a run."""
    from ....debugger.describe.trip_count_bound import iterations_text, says_more_than_rule, trip_count_bound

    bound = trip_count_bound(loop, formatter.origins)
    text = iterations_text(loop, formatter, bound)
    return {
        "text": text or None,
        "shown": says_more_than_rule(text, loop, formatter.origins),
        "maximum": bound.maximum,
        "exact": bound.is_exact,
        "cannot_end": bound.cannot_end,
    }


def _loop_info(node: LoopNode, origins: ProducerMap, returned: dict[Value, list[str]]) -> dict[str, Any]:
    # Imported lazily: a run does not need it.
    from ....debugger.describe.node_text import NodeFormatter
    from ....debugger.describe.port_names import system_port_names
    from ....debugger.describe.termination_text import termination_sentences
    from ....debugger.describe.type_inference import infer_type

    loop = node.loop
    phrases = NodeFormatter(origins)

    def output(outer: Value, result: Value) -> dict[str, Any]:
        names = {"result": result.name, "model_outputs": returned.get(outer, [])}
        return _port_info(outer.name, infer_type(outer, origins)) | names

    return {
        "name": node.name,
        "path": node.path,
        "op_type": loop.op_type,
        "opset": loop.version,
        "line": str(loop.origin) or None,
        "made_of": loop.derived_from or None,
        "kind": termination_rule(loop, origins).kind.value,
        "ends": " ".join(termination_sentences(loop, phrases)),
        "iterations": _iterations_info(loop, phrases),
        "trip_count": _control_value_info(loop.trip_count, origins),
        "initial_condition": _control_value_info(loop.initial_condition, origins),
        "condition": _condition_info(loop.condition, phrases),
        "tested_first": loop.condition_node_count is not None,
        "ignored_condition": _condition_info(loop.ignored_condition, phrases),
        "iteration": None if loop.iteration is None else _port_info(loop.iteration.name, loop.iteration.type),
        "sliced_inputs": [_sliced_input_info(port) for port in loop.sliced_inputs],
        "invariants": [
            _port_info(port.inner.name, port.inner.type) | _origin_info(port.outer) for port in loop.invariants
        ],
        "captures": [
            _port_info(value.name, infer_type(value, origins)) | _constant_info(value)
            for value in captured_values(loop.body)
        ],
        "back_edges": [
            {
                **_port_info(edge.param.name, edge.param.type),
                "initial": _sliced_input_info(edge.initial)
                if isinstance(edge.initial, SlicedInput)
                else edge.initial.name,
                "result": edge.result.name,
            }
            for edge in loop.back_edges
        ],
        "last_values": [output(port.outer, port.result) for port in loop.last_values],
        "scan_outputs": [
            {
                **output(port.outer, port.result),
                "axis": port.axis,
                "join": "stack" if port.stack else "concatenate",
                "order": "reverse" if port.reverse else "forward",
                "part_size": None if port.stack else port.part_size,
                "length": _control_value_info(port.length, origins),
            }
            for port in loop.scan_outputs
        ],
        "operators": _operator_counts(loop.body),
        "own_names": dict(system_port_names(loop)),
        "notes": list(loop.notes),
        "loops": [_loop_info(child, origins, returned) for child in node.children],
    }


def _port_info(name: str, declared: Any) -> dict[str, Any]:
    info: dict[str, Any] = {"name": name, "type": str(declared)}
    if isinstance(declared, TensorType):
        info["dtype"] = None if declared.dtype is None else dtype_name(declared.dtype)
        info["shape"] = None if declared.shape is None else list(declared.shape)
    return info


def _origin_info(value: Value) -> dict[str, Any]:
    return {"from": value.name}


def _constant_info(value: Value) -> dict[str, Any]:
    return {"constant": value.constant is not None}


def _control_value_info(value: Value | None, origins: ProducerMap) -> dict[str, Any] | None:
    """An outer value that controls a loop, with its constant value if known."""
    return None if value is None else {"from": value.name, "value": _json_scalar(value, origins)}


def _json_scalar(value: Value, origins: ProducerMap) -> bool | int | float | None:
    """A constant scalar as JSON, if there is one."""
    scalar = origins.constant_scalar(value)
    return json_element(scalar) if isinstance(scalar, bool | int | float) else None


def _condition_info(value: Value | None, phrases: NodeFormatter) -> dict[str, Any] | None:
    """A condition value of the body, and the node that computes it."""
    if value is None:
        return None
    origins = phrases.origins
    producer = origins.get(origins.skip_identities(value))
    expression = None if producer is None or producer.op_type == "Constant" else phrases.expression(producer)
    return {"from": value.name, "value": _json_scalar(value, origins), "by": expression}


def _sliced_input_info(port: SlicedInput) -> dict[str, Any]:
    return {
        **_port_info(port.inner.name, port.inner.type),
        **_origin_info(port.outer),
        "axis": port.axis,
        "start": port.start,
        "end": port.end,
        "stride": port.stride,
        "part_size": port.part_size,
        "drop_axis": port.drop_axis,
        "from_trip_count": port.from_trip_count,
        "parts": part_count(port),
    }


def _operator_counts(graph: Graph) -> dict[str, int]:
    """Operator counts of one scope, most frequent first; includes branches of Ifs but not bodies of loops."""
    counts = Counter(_operator_types(graph))
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _operator_types(graph: Graph) -> Iterator[str]:
    for node in nodes_in_file(graph):
        yield node.op_type
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _operator_types(branch)


def _unsupported_nodes(graph: Graph, path: str, system: System) -> Iterator[dict[str, str]]:
    """The nodes that cannot be run, and the exclusions of the graph, with the reason."""
    for exclusion in graph.excluded:
        yield {"node": exclusion.subject, "path": path, "reason": f"{exclusion.reason}, which is not supported"}
    for node in graph.nodes:
        if isinstance(node, Operation):
            try:
                resolve(node, system)
            except LoopdbgError as error:
                yield {"node": node.describe(), "path": path, "reason": str(error)}
        for word, inner in bodies(node):
            yield from _unsupported_nodes(inner, _nested_graph_path(path, node, word), system)


def _nested_graph_path(path: str, node: Node, word: str) -> str:
    return f"{path} ▸ {node.name}" if isinstance(node, Loop) else f"{path} ▸ {node.name} ({word})"
