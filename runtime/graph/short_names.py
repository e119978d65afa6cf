"""Short names for values with long exporter names such as ``/model/layers.0/attn/MatMul_output_0``.

A short name is the shortest suffix that is a unique identifier in the model. Values of one name in several scopes share
the short name, so that shadowing is unchanged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .loop_graph import Graph, Value, walk_graphs

#: Names up to the first length, and identifiers, get no short name; the second is the limit for short names.
_MIN_LONG_NAME_CHARS, _MAX_SHORT_NAME_CHARS = 16, 40
#: Separators of the parts of a name besides the slash: domains, modules.
_SEPARATORS = ":."
#: The PyTorch exporter appends this to node names.
_EXPORTER_SUFFIX = "_output_0"


def assign_short_names(graph: Graph) -> None:
    """Set ``short_name`` of the values of a model's main graph and of all graphs inside it."""
    values: dict[str, list[Value]] = {}
    for value in _all_values(graph):
        values.setdefault(value.name, []).append(value)
    candidates = {
        name: list(_short_name_candidates(name))
        for name in values
        if len(name) > _MIN_LONG_NAME_CHARS and not name.isidentifier()
    }
    if not candidates:
        return
    count = Counter(tail for tails in candidates.values() for tail in set(tails))
    used = {*values, *graph.output_names}
    for name, tails in candidates.items():
        short_name = next((tail for tail in tails if count[tail] == 1 and tail not in used), "")
        for value in values[name]:
            value.short_name = short_name


def _all_values(graph: Graph) -> list[Value]:
    values: list[Value | None] = []
    for scope in walk_graphs(graph):
        values += (*scope.inputs, *scope.constants)
        for node in scope.nodes:
            values += node.outputs
    return [value for value in values if value is not None]


def _short_name_candidates(name: str) -> Iterator[str]:
    """Identifiers from the last part of a name, the last two parts, and so on."""
    for separator in _SEPARATORS:
        name = name.replace(separator, "/")
    max_length = min(_MAX_SHORT_NAME_CHARS + len(_EXPORTER_SUFFIX), len(name) - 1)
    tail = ""
    for part in reversed(name.split("/")):
        if not part:
            continue
        if not part.isidentifier():  # nearly all are, and a decoder has thousands
            part = re.sub(r"\W+", "_", part)
        tail = (f"{part}_{tail}" if tail else part).strip("_")
        if len(tail) > max_length:
            return
        short = tail.removesuffix(_EXPORTER_SUFFIX)
        for candidate in (short, tail) if short != tail else (tail,):
            if candidate.isidentifier() and len(candidate) <= _MAX_SHORT_NAME_CHARS:
                yield candidate
