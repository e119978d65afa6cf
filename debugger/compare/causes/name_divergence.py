"""Where two bodies of two systems part that were one before a conversion: told by the names that it kept.

A converter writes operators in other words, and there structure says no more which is which. What it hands on keeps its
name. A name alone is no proof: it counts where most of what one side computes goes by a name of the other side's, and
where all that was computed before is the same by value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from ....runtime.graph import Value, walk
from ..align.loop_ports import is_numbered_name
from ..align.normal_form import canonical_operator
from ..align.value_numbering import NumberedGraph

#: Of what is computed on one side, how much has to go by a name on the other.
_MIN_SHARED_NAMES = 0.5
#: Whether two values are the same; None: that is not known.
SameValue = Callable[[Value, Value], bool | None]


@dataclass(frozen=True)
class NameDivergence:
    """The first two values of one name that differ. ``fed``: what the left one is computed from, as far back as names
    go that both sides have; ``only``: names of what only one of them is computed from, of either side."""

    left: Value
    right: Value
    sources: tuple[Value, ...]
    one_sided_sources: tuple[tuple[str, ...], tuple[str, ...]]


def find_name_divergence(
    halves: tuple[NumberedGraph, NumberedGraph], left: Value, right: Value, same: SameValue
) -> NameDivergence | None:
    """Where two values part that differ; None where names tell nothing."""
    here, there = (
        list(_values_leading_to(halves[0], left)),
        {value.name: value for value in _values_leading_to(halves[1], right)},
    )
    if sum(value.name in there for value in here) < _MIN_SHARED_NAMES * len(here):
        return None
    names = set.intersection(*({v.name for node in walk(half.graph) for v in node.outputs if v} for half in halves))
    for value in here:
        twin = there.get(value.name)
        if twin is not None and _is_same_thing(halves, value, twin) and same(value, twin) is False:
            fed = list(_named_sources(halves[0], value, names)), list(_named_sources(halves[1], twin, names))
            words = [dict.fromkeys(one.name for one in side) for side in fed]
            only = [tuple(name for name in words[k] if name not in words[1 - k]) for k in (0, 1)]
            return NameDivergence(value, twin, tuple(fed[0]), (only[0], only[1]))
    return None


def _is_same_thing(halves: tuple[NumberedGraph, NumberedGraph], left: Value, right: Value) -> bool:
    """Whether one name stands for one thing: a number that an exporter gave may be another node's in its next file."""
    nodes = [half.producer(value) for half, value in zip(halves, (left, right), strict=True)]
    return not is_numbered_name(left.name) or len({canonical_operator(node) for node in nodes if node is not None}) == 1


def _named_sources(half: NumberedGraph, value: Value, names: Collection[str]) -> Iterator[Value]:
    """What a value is computed from, up to what has one of the names or is not computed; constants are left out."""
    seen: set[Value] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        node = half.producer(half.origin(one))
        if one is not value and (node is None or one.name in names):
            yield one
            continue
        for fed in reversed(node.inputs if node is not None else []):
            if fed is not None and fed not in seen and not half.is_constant(fed):
                seen.add(fed)
                stack.append(fed)


def _values_leading_to(half: NumberedGraph, value: Value) -> Iterator[Value]:
    """What nodes compute on the way to a value, in an order in which it could be computed; the value last."""
    seen: set[Value] = set()
    stack = [(value, False)]
    while stack:
        one, done = stack.pop()
        node = half.producer(one)
        if done:
            yield one
        elif one not in seen and node is not None and not half.is_constant(one):
            seen.add(one)
            stack.append((one, True))
            stack += [(v, False) for v in reversed(node.inputs) if v is not None]
