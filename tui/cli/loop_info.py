"""What ``loopdbg info`` tells of a loop: one description, from which both its text and its JSON are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...runtime.errors import ExecutionError, LoopdbgError
from ...runtime.graph import (
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
    walk,
)
from ...runtime.model import LoopNode, Model
from ...runtime.ops.registry import resolve
from ...runtime.origins import Origins
from ...runtime.slices import cut
from ..text import dtype_name


def describe(model: Model) -> dict[str, Any]:
    """The object of ``loopdbg info --json``; every entry of it can be written as JSON."""
    origins = Origins.of(model.graph)
    returned: dict[Value, list[str]] = {}
    for port, value in zip(model.outputs, model.graph.outputs, strict=True):
        returned.setdefault(value, []).append(port.name)
    return {
        "model": model.name,
        "system": model.graph.system.value,
        "opsets": dict(model.graph.opsets),
        "inputs": [_port(port.name, port.type) | {"optional": port.optional} for port in model.inputs],
        "outputs": [_port(port.name, port.type) for port in model.outputs],
        "loops": [_loop(node, origins, returned) for node in model.loops],
        "operators": _operators(model.graph),
        "unsupported": list(_unsupported(model.graph, MAIN, model.graph.system)),
    }


def _loop(node: LoopNode, origins: Origins, returned: dict[Value, list[str]]) -> dict[str, Any]:
    loop = node.loop
    kind, ends = _kind(loop, origins)

    def output(outer: Value, result: Value) -> dict[str, Any]:
        named = {"result": result.name, "model_outputs": returned.get(outer, [])}
        return _port(outer.name, outer.type) | named

    return {
        "name": node.name,
        "path": node.path,
        "op_type": loop.op_type,
        "opset": loop.version,
        "kind": kind,
        "ends": ends,
        "trip_count": _known(loop.trip_count, origins),
        "initial_condition": _known(loop.initial_condition, origins),
        "condition": _decided(loop.condition, origins),
        "ignored_condition": _decided(loop.ignored_condition, origins),
        "iteration": None if loop.iteration is None else _port(loop.iteration.name, loop.iteration.type),
        "sliced_inputs": [_sliced(port) for port in loop.sliced_inputs],
        "invariants": [_port(port.inner.name, port.inner.type) | _from(port.outer) for port in loop.invariants],
        "captures": [_port(value.name, value.type) | _constant(value) for value in _captures(loop)],
        "back_edges": [
            {
                **_port(edge.param.name, edge.param.type),
                "initial": _sliced(edge.initial) if isinstance(edge.initial, SlicedInput) else edge.initial.name,
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
            }
            for port in loop.scan_outputs
        ],
        "operators": _operators(loop.body),
        "notes": list(loop.notes),
        "loops": [_loop(child, origins, returned) for child in node.children],
    }


def _port(name: str, declared: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "type": str(declared)}
    if isinstance(declared, TensorType):
        told["dtype"] = None if declared.dtype is None else dtype_name(declared.dtype)
        told["shape"] = None if declared.shape is None else list(declared.shape)
    return told


def _from(value: Value) -> dict[str, Any]:
    return {"from": value.name}


def _constant(value: Value) -> dict[str, Any]:
    return {"constant": value.constant is not None}


def _known(value: Value | None, origins: Origins) -> dict[str, Any] | None:
    """An outer value that a loop is controlled by, and what it is where that is known."""
    return None if value is None else {"from": value.name, "value": origins.scalar(value)}


def _decided(value: Value | None, origins: Origins) -> dict[str, Any] | None:
    """A body value that decides, and the node that computes it."""
    if value is None:
        return None
    maker = origins.maker(origins.origin(value))
    by = None
    if maker is not None and maker.op_type != "Constant":
        names = ", ".join("" if operand is None else operand.name for operand in maker.inputs)
        by = f"{maker.op_type}({names})"
    return {"from": value.name, "value": origins.scalar(value), "by": by}


def _kind(loop: Loop, origins: Origins) -> tuple[str, str]:
    """The kind of loop in a programmer's word, and what ends it."""
    limit = _limit(loop, origins)
    initial = True if loop.initial_condition is None else origins.scalar(loop.initial_condition)
    known = origins.scalar(loop.condition)
    passed = loop.condition is not None and origins.origin(loop.condition) is loop.condition_input
    decides = loop.condition is not None and not passed and known is not True
    never = (
        ""
        if initial is True or loop.initial_condition is None
        else ("never starts" if initial is False else f"never starts when '{loop.initial_condition.name}' is false")
    )
    ends = [limit] if limit else []
    if decides and loop.condition is not None:
        after = "after one iteration" if known is False else f"when '{loop.condition.name}' is false"
        ends.append(after)
    told = "ends " + " or ".join(ends) if ends else "nothing ends it"
    if decides:
        kind = "for with condition" if limit else "do-while" if initial is True else "while"
    else:
        kind = "for" if limit else "endless"
    return kind, f"{told}; {never}" if never else told


def _limit(loop: Loop, origins: Origins) -> str:
    """What bounds the number of iterations; empty where nothing does."""
    if loop.fixed_trips is not None:
        return f"after {loop.fixed_trips} iteration{'' if loop.fixed_trips == 1 else 's'}"
    if loop.counted_by_slices:
        counts = [count for count in map(_parts, loop.sliced_inputs) if count is not None]
        many = f" ({counts[0]})" if counts else ""
        names = ", ".join(f"'{port.outer.name}'" for port in loop.sliced_inputs)
        return f"after the last part of {names}{many}"
    if loop.trip_count is None:
        return ""
    number = origins.scalar(loop.trip_count)
    if number is not None:
        return "" if number == -1 and loop.minus_one_is_no_limit else f"after {max(number, 0)} iterations"
    unless = " (-1: no limit)" if loop.minus_one_is_no_limit else ""
    return f"after '{loop.trip_count.name}' iterations{unless}"


def _sliced(port: SlicedInput) -> dict[str, Any]:
    return {
        **_port(port.inner.name, port.inner.type),
        **_from(port.outer),
        "axis": port.axis,
        "start": port.start,
        "end": port.end,
        "stride": port.stride,
        "part_size": port.part_size,
        "drop_axis": port.drop_axis,
        "parts": _parts(port),
    }


def _parts(port: SlicedInput) -> int | None:
    """How many parts the declared shape gives; None where it does not tell."""
    shape = port.outer.type.shape if isinstance(port.outer.type, TensorType) else None
    if shape is None or not -len(shape) <= port.axis < len(shape) or not isinstance(shape[port.axis], int):
        return None
    # One byte, however large the tensor would be.
    whole = np.broadcast_to(np.int8(0), [dim if isinstance(dim, int) else 1 for dim in shape])
    try:
        return len(cut(whole, port, port.outer.name))
    except ExecutionError:
        return None


def _captures(loop: Loop) -> list[Value]:
    """The values of enclosing scopes that the body uses, each once, in the order of their use."""
    own = {value for graph in _graphs(loop.body) for value in (*graph.inputs, *graph.constants)}
    nodes = list(walk(loop.body))
    own.update(value for node in nodes for value in node.outputs if value is not None)
    own.update(invariant.inner for node in nodes if isinstance(node, Loop) for invariant in node.invariants)
    used = [value for node in nodes for value in node.inputs if value is not None]
    used += [value for graph in _graphs(loop.body) for value in graph.outputs]
    return [value for value in dict.fromkeys(used) if value not in own]


def _graphs(graph: Graph) -> Iterator[Graph]:
    yield graph
    for node in graph.nodes:
        for _, inner in bodies(node):
            yield from _graphs(inner)


def _operators(graph: Graph) -> dict[str, int]:
    """Operators of one scope, most frequent first; the branches of an If belong to it, the bodies of loops do not."""
    counts = Counter(_types(graph))
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _types(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        yield node.op_type
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _types(branch)


def _unsupported(graph: Graph, path: str, system: System) -> Iterator[dict[str, str]]:
    """The nodes that a run would refuse, with the reason."""
    for node in graph.nodes:
        if isinstance(node, Operation):
            try:
                resolve(node, system)
            except LoopdbgError as error:
                yield {"node": node.describe(), "path": path, "reason": str(error)}
        for word, inner in bodies(node):
            yield from _unsupported(inner, _path(path, node, word), system)


def _path(path: str, node: Node, word: str) -> str:
    return f"{path} ▸ {node.name}" if isinstance(node, Loop) else f"{path} ▸ {node.name} ({word})"
