"""The names of one model for what corresponds to it in another, so that both can be cut in the same places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import ModelProto

from ...runtime.graph import Graph, Value, bodies
from ...runtime.model import Model
from ..compare.align.alignment import Alignment
from ..compare.running.loop_matching import match_loops
from ..compare.running.sides import ModelSide
from ..extract.onnx_names import all_names, fresh_name
from .documents.onnx_graph import walk_graphs


def unify_names(left: Model, right: Model, inputs: Mapping[str, Any], other: ModelProto) -> None:
    """Rename what the right model holds, ``other``, so that one name is one thing in both models."""
    found: dict[str, set[str]] = {}
    ends = set(left.graph.inputs), set(right.graph.inputs)
    for one, there in _corresponding_values(left, right, inputs):
        # What a model is given stands for nothing that it computes, and a number for no other number.
        if (one in ends[0]) == (there in ends[1]):
            found.setdefault(there.name, set()).add(one.name)
    names = {name: next(iter(ones)) for name, ones in found.items() if len(ones) == 1}
    alike = sum(old == new for old, new in names.items()) * 2 > len(names)
    # Where names are others anyhow, two that are equal say nothing.
    ours = set() if alike else {value.name for value in _walk_values(left.graph)}
    rename_values(other, names, ours)


def rename_values(model: ModelProto, names: Mapping[str, str], foreign: set[str]) -> None:
    """Give values other names in all graphs of a model; a name that is taken by that, or that is ``foreign`` to it,
    becomes a fresh one."""
    taken = all_names(model.graph)
    wanted = {old: new for old, new in names.items() if old in taken}
    counts = Counter(wanted.values())
    mapping = {old: new for old, new in wanted.items() if counts[new] == 1}
    used = taken | set(mapping.values()) | foreign
    for name in sorted((taken & (set(mapping.values()) | foreign)) - set(mapping)):
        mapping[name] = fresh_name(name, used) if name else ""
    for graph in walk_graphs(model.graph):
        for port in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
            port.name = mapping.get(port.name, port.name)
        for node in graph.node:
            node.input[:] = [mapping.get(name, name) for name in node.input]
            node.output[:] = [mapping.get(name, name) for name in node.output]


def _inputs_for_right(left: Model, right: Model, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs under the names of the right model, in order where they are others."""
    ports = [port.name for port in right.inputs]
    if set(inputs) <= set(ports):
        return dict(inputs)
    order = [port.name for port in left.inputs if port.name in inputs]
    return {name: inputs[given] for name, given in zip(ports, order, strict=False)}


def _corresponding_values(left: Model, right: Model, inputs: Mapping[str, Any]) -> Iterator[tuple[Value, Value]]:
    """What corresponds: by the alignment that comparisons are made with."""
    sides = [ModelSide(left, inputs), ModelSide(right, _inputs_for_right(left, right, inputs))]
    pairs = match_loops(sides[0].loops, sides[1].loops, {}).pairs
    loops = [(p.left.loop, p.right.loop) for p in pairs if p.left.loop is not None and p.right.loop is not None]
    found = Alignment(left.graph, right.graph, loops)
    made = [*found.counterparts[0].items(), *zip(left.graph.outputs, right.graph.outputs, strict=False)]
    made += [
        (a, b)
        for one, other in found.nodes_by_left.items()
        for a, b in zip(one.outputs, other.outputs, strict=False)
        if a is not None and b is not None
    ]
    for a, b in made:
        ours, theirs = found.left.constant(a), found.right.constant(b)
        both = ours is not None and theirs is not None and np.array_equal(ours, theirs)
        if a.name == b.name or both or (ours is None and theirs is None):
            yield a, b


def _walk_values(graph: Graph) -> Iterator[Value]:
    """All values of a graph and of those inside it."""
    yield from (*graph.inputs, *graph.constants)
    for node in graph.nodes:
        yield from (value for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            yield from _walk_values(inner)
