"""Short names for values whose own are long, as exporters write them: ``/model/layers.0/attn/MatMul_output_0``.

A short name is the shortest tail of a long one that reads as a bare word and that nothing else in the model goes by.
Values of one name in several scopes have one short name as well, so that names hide each other as they did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .loop_graph import Graph, Value, bodies

#: Names up to this length, and bare words, stay as they are; a short name has at most so many characters.
_MIN_LONG_NAME_CHARS, _MAX_SHORT_NAME_CHARS = 16, 40
#: Between the parts of a path: scopes of PyTorch, domains, modules.
_SEPARATORS = re.compile(r"[/:.]+")
#: What the exporter of PyTorch writes behind every node's name.
_EXPORTER_SUFFIX = "_output_0"


def assign_short_names(graph: Graph) -> None:
    """Give the values of a model's main graph, and of all graphs inside it, their short names."""
    values: dict[str, list[Value]] = {}
    for value in _all_values(graph):
        values.setdefault(value.name, []).append(value)
    tails = {
        name: list(_short_name_candidates(name))
        for name in values
        if len(name) > _MIN_LONG_NAME_CHARS and not name.isidentifier()
    }
    if not tails:
        return
    count = Counter(tail for found in tails.values() for tail in set(found))
    taken = {*values, *graph.output_names}
    for name, found in tails.items():
        short = next((tail for tail in found if count[tail] == 1 and tail not in taken), "")
        for value in values[name]:
            value.short_name = short


def _all_values(graph: Graph) -> Iterator[Value]:
    yield from (*graph.inputs, *graph.constants)
    for node in graph.nodes:
        yield from (value for value in node.outputs if value is not None)
        for _, inner in bodies(node):
            yield from _all_values(inner)


def _short_name_candidates(name: str) -> Iterator[str]:
    """Bare words made of the last part of a name, of the last two, and so on."""
    parts = [part for part in _SEPARATORS.split(name) if part]
    tail = ""
    for part in reversed(parts):
        tail = re.sub(r"\W+", "_", f"{part}_{tail}" if tail else part).strip("_")
        if len(tail) > min(_MAX_SHORT_NAME_CHARS + len(_EXPORTER_SUFFIX), len(name) - 1):
            return
        for word in dict.fromkeys((tail.removesuffix(_EXPORTER_SUFFIX), tail)):
            if word.isidentifier() and len(word) <= _MAX_SHORT_NAME_CHARS:
                yield word
