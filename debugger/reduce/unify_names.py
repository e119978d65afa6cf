"""Rename values of a model to the names of corresponding values in another, so that one edit applies to both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
from onnx import ModelProto

from ...runtime.graph import Graph, Value, bodies
from ...runtime.model import Model
from ...runtime.modelfile.onnx_graph import all_names, walk_graphs
from ...runtime.text import fresh_name
from ..compare.alignment.edit_script import build_edit_script
from ..compare.alignment.model_alignment import ModelAlignment
from ..compare.running.loop_matching import match_loops
from ..compare.running.sides import loops_of_model


def unify_names(left: Model, right: Model, other: ModelProto) -> None:
    """Rename values of the right model ``other``, so that corresponding values have one name in both models."""
    left_names: dict[str, set[str]] = {}
    ends = set(left.graph.inputs), set(right.graph.inputs)
    for left_value, right_value in _corresponding_values(left, right):
        # An input corresponds to no computed value, and a constant to no other constant.
        if (left_value in ends[0]) == (right_value in ends[1]):
            left_names.setdefault(right_value.name, set()).add(left_value.name)
    names = {name: next(iter(ones)) for name, ones in left_names.items() if len(ones) == 1}
    names_agree = sum(old == new for old, new in names.items()) * 2 > len(names)
    # If names differ in general, equal names are no evidence.
    reserved = set() if names_agree else {value.name for value in _walk_values(left.graph)}
    rename_values(other, names, reserved)


def rename_values(model: ModelProto, names: Mapping[str, str], foreign: set[str]) -> None:
    """Rename values in all graphs of a model; a name that collides with a new or a ``foreign`` one gets a fresh
    name."""
    existing = all_names(model.graph)
    requested = {old: new for old, new in names.items() if old in existing}
    counts = Counter(requested.values())
    mapping = {old: new for old, new in requested.items() if counts[new] == 1}
    used = existing | set(mapping.values()) | foreign
    for name in sorted((existing & (set(mapping.values()) | foreign)) - set(mapping)):
        mapping[name] = fresh_name(name, used) if name else ""
    for graph in walk_graphs(model.graph):
        for port in (*graph.input, *graph.output, *graph.initializer, *graph.value_info):
            port.name = mapping.get(port.name, port.name)
        for node in graph.node:
            node.input[:] = [mapping.get(name, name) for name in node.input]
            node.output[:] = [mapping.get(name, name) for name in node.output]


def _corresponding_values(left: Model, right: Model) -> Iterator[tuple[Value, Value]]:
    """Pairs of corresponding values, from the alignment of comparisons."""
    loop_pairs = match_loops(loops_of_model(left), loops_of_model(right), {}).loop_pairs
    alignment = ModelAlignment(left.graph, right.graph, loop_pairs)
    script = build_edit_script(alignment)
    matches = [*script.matched.items(), *script.aligned.items()]
    matches += zip(left.graph.outputs, right.graph.outputs, strict=False)
    for a, b in matches:
        x, y = (side.by_value[value].data for side, value in zip(alignment.pairs.sides, (a, b), strict=True))
        same = x is not None and y is not None and np.array_equal(x, y)
        if a.name == b.name or same or (x is None and y is None):
            yield a, b


def _walk_values(graph: Graph) -> Iterator[Value]:
    """All values of a graph and its inner graphs."""
    yield from (*graph.inputs, *graph.constants)
    for node in graph.nodes:
        yield from (value for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            yield from _walk_values(inner)
