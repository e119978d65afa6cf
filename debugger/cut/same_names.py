"""The names of one model for what corresponds to it in another, so that both can be cut in the same places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onnx import ModelProto

from ...runtime.graph import Value
from ...runtime.model import Model
from ..diff.align import Alignment
from ..diff.matching import match_loops
from ..diff.sides import ModelSide
from .names import all_names, fresh
from .onnx_graph import graphs


def names_of_right(left: Model, right: Model, inputs: Mapping[str, Any]) -> dict[str, str]:
    """By name of the right model what corresponds to it in the left one, where that is one thing."""
    sides = [ModelSide(left, inputs), ModelSide(right, _renamed(left, right, inputs))]
    pairs = match_loops(sides[0].loops, sides[1].loops, {}).pairs
    loops = [(p.left.loop, p.right.loop) for p in pairs if p.left.loop is not None and p.right.loop is not None]
    found: dict[str, set[str]] = {}
    for one, other in _pairs(Alignment(left.graph, right.graph, loops)):
        found.setdefault(other.name, set()).add(one.name)
    return {name: next(iter(names)) for name, names in found.items() if len(names) == 1}


def rename_all(model: ModelProto, names: Mapping[str, str]) -> None:
    """Give values other names in all graphs of a model; a name that is taken by that becomes a fresh one."""
    taken = all_names(model.graph)
    wanted = {old: new for old, new in names.items() if old in taken}
    counts: dict[str, int] = {}
    for new in wanted.values():
        counts[new] = counts.get(new, 0) + 1
    mapping = {old: new for old, new in wanted.items() if counts[new] == 1}
    used = taken | set(mapping.values())
    for name in sorted(taken & set(mapping.values()) - set(mapping)):
        mapping[name] = fresh(name, used)
    for graph in graphs(model.graph):
        for port in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
            port.name = mapping.get(port.name, port.name)
        for node in graph.node:
            node.input[:] = [mapping.get(name, name) for name in node.input]
            node.output[:] = [mapping.get(name, name) for name in node.output]


def _renamed(left: Model, right: Model, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs under the names of the right model, in order where they are others."""
    ports = [port.name for port in right.inputs]
    if set(inputs) <= set(ports):
        return dict(inputs)
    order = [port.name for port in left.inputs if port.name in inputs]
    return {name: inputs[given] for name, given in zip(ports, order, strict=False)}


def _pairs(found: Alignment) -> Iterator[tuple[Value, Value]]:
    yield from found.twins[0].items()
    for one, other in found.nodes.items():
        for a, b in zip(one.outputs, other.outputs, strict=False):
            if a is not None and b is not None:
                yield a, b
    yield from zip(found.left.graph.outputs, found.right.graph.outputs, strict=False)
