"""An ONNX model with the names of another exporter."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from .draws import ChoiceSource


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and all bodies inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_graphs(attribute.g)


def rename_values(
    source: onnx.ModelProto, draw: ChoiceSource, renamed: dict[str, str] | None = None
) -> onnx.ModelProto:
    """The same model with numbers for names throughout; inputs and outputs alone keep theirs. ``renamed`` gets the new
    names."""
    source = onnx.ModelProto.FromString(source.SerializeToString())
    kept = {value.name for value in (*source.graph.input, *source.graph.output)}
    inside = list(all_graphs(source.graph))
    results = [value.name for g in inside[1:] for value in g.input]
    results += [name for g in inside for node in g.node for name in node.output]
    old = sorted({name for name in results if name and name not in kept})
    numbers = list(range(len(old)))
    new = {name: f"t{numbers.pop(draw.integer(0, len(numbers) - 1))}" for name in old}
    if renamed is not None:
        renamed.update(new)
    for g in inside:
        for value in (*g.input, *g.output):
            value.name = new.get(value.name, value.name)
        for node in g.node:
            node.input[:] = [new.get(name, name) for name in node.input]
            node.output[:] = [new.get(name, name) for name in node.output]
    return source
