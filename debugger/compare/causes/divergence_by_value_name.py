"""Localizes the divergence of two bodies of different systems by the value names that a conversion kept.

A converter changes operators, so that structure does not tell which nodes correspond, but names of forwarded values
survive. A name alone is no proof: it counts only if most values of one side have a namesake on the other, and if all
values computed before are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ....runtime.graph import Value, walk
from ..alignment.port_alignment import is_numbered_name
from ..normal_form.terms import LOOP_RESULTS, LoweredGraph, Term, operands_and_branch_results

#: The fraction of one side's values that must have a namesake on the other.
_MIN_SHARED_NAMES = 0.5
#: Whether two values are equal; None: unknown.
SameValue = Callable[[Value, Value], bool | None]


@dataclass(frozen=True)
class NameDivergence:
    """The first two values of one name that differ. ``sources``: what the left one is computed from, back to names that
    both sides have; ``one_sided_sources``: by side, names that only that side's value is computed from."""

    left: Value
    right: Value
    sources: tuple[Value, ...]
    one_sided_sources: tuple[tuple[str, ...], tuple[str, ...]]


def find_name_divergence(
    graphs: tuple[LoweredGraph, LoweredGraph], left: Value, right: Value, same_value: SameValue
) -> NameDivergence | None:
    """Find where two differing values diverge; None if names do not tell."""
    left_values, right_by_name = (
        list(_values_leading_to(graphs[0], left)),
        {value.name: value for value in _values_leading_to(graphs[1], right)},
    )
    if sum(value.name in right_by_name for value in left_values) < _MIN_SHARED_NAMES * len(left_values):
        return None
    names = set.intersection(*({v.name for node in walk(graph.graph) for v in node.outputs if v} for graph in graphs))
    for value in left_values:
        twin = right_by_name.get(value.name)
        if twin is not None and _names_same_value(graphs, value, twin) and same_value(value, twin) is False:
            sources = list(_named_sources(graphs[0], value, names)), list(_named_sources(graphs[1], twin, names))
            source_names = [dict.fromkeys(source.name for source in side) for side in sources]
            one_sided = [tuple(name for name in source_names[k] if name not in source_names[1 - k]) for k in (0, 1)]
            return NameDivergence(value, twin, tuple(sources[0]), (one_sided[0], one_sided[1]))
    return None


def _names_same_value(graphs: tuple[LoweredGraph, LoweredGraph], left: Value, right: Value) -> bool:
    """Whether equal names mean the same value: exporters may give a numbered name to another node in another file."""
    terms = [graph.by_value[value] for graph, value in zip(graphs, (left, right), strict=True)]
    return not is_numbered_name(left.name) or len({term.operator for term in terms if term.node is not None}) == 1


def _named_sources(graph: LoweredGraph, value: Value, names: Collection[str]) -> Iterator[Value]:
    """The operands of a value, back to values with one of the names or without a producer; without constants."""
    start = graph.by_value[value]
    seen: set[Term] = set()
    stack = [start]
    while stack:
        current = stack.pop()
        is_named = current.value is not None and current.value.name in names
        if current is not start and current.value is not None and (current.is_leaf or is_named):
            yield current.value
            continue
        for operand in reversed(list(operands_and_branch_results(current))):
            if operand not in seen and not operand.is_constant:
                seen.add(operand)
                stack.append(operand)


def _values_leading_to(graph: LoweredGraph, value: Value) -> Iterator[Value]:
    """Node results that a value depends on, in topological order; the value last."""
    seen: set[Term] = set()
    stack = [(graph.by_value[value], False)]
    while stack:
        current, is_expanded = stack.pop()
        if is_expanded:
            if current.value is not None:
                yield current.value
        elif current not in seen and not current.is_leaf and not current.is_constant:
            seen.add(current)
            stack.append((current, True))
            if current.operator not in LOOP_RESULTS:
                stack += [(operand, False) for operand in reversed(list(operands_and_branch_results(current)))]
