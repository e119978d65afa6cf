"""Matches loops and values of two sides: by given names, by path and name, else by similarity or
order.

Names that end in a number are assigned by exporters: one more node shifts them, so that they are no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import MAIN, Loop, Operation, Value, own_values, walk, walk_graphs
from ....runtime.graph.dependence import body_parameters
from ....runtime.text import did_you_mean
from ..alignment.assignment import best_assignment
from ..alignment.port_alignment import is_numbered_name
from ..normal_form.operator_normalization import canonical_operator
from .sides import ComparisonSide, LoopInfo, walk_loops

#: The weight of equal names, and of the part of the values that two loops read or give which have equal names, relative
#: to the similarity of bodies, which is from 0 to 1. The latter is less evidence than a name, as an edit changes it.
_NAME_WEIGHT, _NAME_WEIGHT_IN_TIES, _VALUE_NAMES_WEIGHT = 0.1, 1e-3, 1e-4

#: The weight of a node that gives the same in each iteration: tools fold it, or move it out of the loop.
_INVARIANT_WEIGHT = 0.01

#: Operators without a computation, which only some exporters write.
_NO_COMPUTATION = frozenset({"Identity", "Constant"})
#: Further operators that only one of two systems needs between computations.
_NO_COMPUTATION_ACROSS_SYSTEMS = _NO_COMPUTATION | {"Reshape", "Shape", "ShapeOf", "Squeeze", "Unsqueeze"}


@dataclass(frozen=True)
class LoopMatch:
    """A pair of loops. ``enclosing``: the indices of the pairs around it, outermost first."""

    index: int
    left: LoopInfo
    right: LoopInfo
    method: str
    enclosing: tuple[int, ...]


@dataclass
class LoopMatching:
    """The pairs of loops of two sides."""

    pairs: list[LoopMatch]
    only_left: list[str]
    only_right: list[str]
    #: Whether the pairs have the same order on both sides, so that one merge suffices.
    same_order: bool = True

    @property
    def loop_pairs(self) -> list[tuple[Loop, Loop]]:
        """The pairs of loops in the graphs, where both are known."""
        pairs = ((pair.left.loop, pair.right.loop) for pair in self.pairs)
        return [(left, right) for left, right in pairs if left is not None and right is not None]


def match_loops(left: Sequence[LoopInfo], right: Sequence[LoopInfo], names: Mapping[str, str]) -> LoopMatching:
    """Pair the loops level by level: by given names, path, name, similarity, and order."""
    matching = LoopMatching([], [], [])
    _match_loop_level(left, right, names, (), matching)
    return matching


def check_names(left: ComparisonSide, right: ComparisonSide, names: Mapping[str, str]) -> None:
    """Check that given names exist on their sides.

    Raises:
        UsageError: one does not.
    """
    for k, side in enumerate((left, right) if names else ()):
        if side.graph is None:
            continue
        known_names = {MAIN, *side.graph.output_names}
        for graph in walk_graphs(side.graph):
            known_names.update(value.name for value in own_values(graph))
        known_names.update(name for loop in walk_loops(side.loops) for name in (loop.name, loop.path))
        for pair in names.items():
            if pair[k] not in known_names:
                hint = did_you_mean(pair[k], sorted(known_names))
                raise UsageError(f"{pair[0]}={pair[1]}: {side.label} has no '{pair[k]}'{hint}")


def _match_loop_level(
    left: Sequence[LoopInfo],
    right: Sequence[LoopInfo],
    names: Mapping[str, str],
    enclosing: tuple[int, ...],
    matching: LoopMatching,
) -> None:
    matches: dict[int, tuple[int, str]] = {}
    tests: tuple[tuple[str, Callable[[LoopInfo, LoopInfo], bool]], ...] = (
        ("given", lambda a, b: b.path in (names.get(a.path), names.get(a.name)) or names.get(a.name) == b.name),
        ("path", lambda a, b: a.path == b.path and _name_is_evidence(a, b)),
        ("name", lambda a, b: a.name == b.name and _name_is_evidence(a, b)),
    )
    for method, fits in tests:
        for k, a in enumerate(left):
            if k in matches:
                continue
            used = {j for j, _ in matches.values()}
            match = next((j for j, b in enumerate(right) if j not in used and fits(a, b)), None)
            if match is not None:
                matches[k] = match, method
    for k, j in _match_by_similarity(left, right, matches):
        a, b = left[k], right[j]
        method = "path" if a.path == b.path else "name" if a.name == b.name else "position"
        is_known = a.loop is not None and b.loop is not None
        matches[k] = j, "structure" if is_known and method == "position" else method
    order = [matches[k][0] for k in sorted(matches)]
    matching.same_order = matching.same_order and order == sorted(order)
    matching.only_left += [loop.path for k, loop in enumerate(left) if k not in matches]
    matching.only_right += [loop.path for j, loop in enumerate(right) if j not in {j for j, _ in matches.values()}]
    for k in sorted(matches):
        j, method = matches[k]
        pair = LoopMatch(len(matching.pairs), left[k], right[j], method, enclosing)
        matching.pairs.append(pair)
        _match_loop_level(left[k].children, right[j].children, names, (*enclosing, pair.index), matching)


def _body_similarity(left: Loop, right: Loop) -> float:
    """The fraction of operators that two bodies have in common, from 0 to 1."""
    counts: dict[str, list[float]] = {}
    ignored = _NO_COMPUTATION if left.system is right.system else _NO_COMPUTATION_ACROSS_SYSTEMS
    for k, loop in enumerate((left, right)):
        varying: set[Value] = set()
        for node in (loop, *walk(loop.body)):
            varies = not (isinstance(node, Operation) and varying.isdisjoint(node.inputs))
            if varies:
                varying.update(filter(None, node.outputs))
            if isinstance(node, Loop):
                fixed = {invariant.inner for invariant in node.invariants if invariant.outer not in varying}
                varying.update(set(body_parameters(node)) - fixed)
            if node is not loop and node.op_type not in ignored:
                counts.setdefault(canonical_operator(node), [0, 0])[k] += 1 if varies else _INVARIANT_WEIGHT
    total = sum(max(pair) for pair in counts.values())
    return sum(min(pair) for pair in counts.values()) / total if total else 1.0


def _value_name_similarity(left: Loop, right: Loop) -> float:
    """The fraction of the names of what two loops read and give that they have in common, from 0 to 1."""
    names, others = (
        {
            value.name
            for value in (*loop.inputs, *loop.outputs)
            if value is not None and not is_numbered_name(value.name)
        }
        for loop in (left, right)
    )
    return len(names & others) / max(1, len(names | others))


def _name_is_evidence(a: LoopInfo, b: LoopInfo) -> bool:
    """Whether equal names of two loops are evidence of a match."""
    return not is_numbered_name(a.name) or a.loop is None or b.loop is None


def _match_by_similarity(
    left: Sequence[LoopInfo], right: Sequence[LoopInfo], matches: Mapping[int, tuple[int, str]]
) -> list[tuple[int, int]]:
    """The pairs of the other loops with the highest total similarity; ties by names, then by order."""
    used = {j for j, _ in matches.values()}
    # If all names exist on both sides, none was shifted.
    same_names = {loop.name for loop in left} == {loop.name for loop in right}
    scores = np.full((len(left), len(right)), np.nan)
    for k, a in enumerate(left):
        for j, b in enumerate(right):
            if k not in matches and j not in used:
                similarity = 0.0
                if a.loop is not None and b.loop is not None:
                    similarity = _body_similarity(a.loop, b.loop)
                    similarity += _VALUE_NAMES_WEIGHT * _value_name_similarity(a.loop, b.loop)
                weight = _NAME_WEIGHT if same_names else _NAME_WEIGHT_IN_TIES
                scores[k, j] = similarity + weight * (a.name == b.name)
    return best_assignment(scores)


def select_loop_pairs(pairs: Sequence[LoopMatch], requested: Sequence[str]) -> list[LoopMatch]:
    """The pairs of the requested loops, by name or path.

    Raises:
        UsageError: a loop does not exist.
    """
    if not requested:
        return list(pairs)
    selected = []
    for name in requested:
        hits = [pair for pair in pairs if name in (pair.left.path, pair.left.name, pair.right.path, pair.right.name)]
        if not hits:
            paths = ", ".join(f"'{pair.left.path}'" for pair in pairs) or "none"
            raise UsageError(f"there is no loop '{name}' to compare; there are {paths}")
        selected += hits
    return [pair for pair in pairs if pair in selected]


@dataclass(frozen=True)
class NameMatching:
    """Pairs of names with their match methods, and the names of one side only."""

    pairs: Sequence[tuple[str, str, str]]
    only_left: Sequence[str]
    only_right: Sequence[str]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return iter(self.pairs)


def match_names(left: Mapping[str, Any], right: Mapping[str, Any], names: Mapping[str, str]) -> NameMatching:
    """Pair values by given names and by name; the others in order, if type and shape fit.

    A numbered name only counts if both sides have the same names.
    """
    same_names = left.keys() == right.keys()
    pairs: dict[str, tuple[str, str]] = {}
    for name in left:
        if name in names and names[name] in right:
            pairs[name] = names[name], "given"
    for name in left:
        is_free = name in right and name not in {other for other, _ in pairs.values()}
        if name not in pairs and is_free and (same_names or not is_numbered_name(name)):
            pairs[name] = name, "name"
    for name, value in left.items():
        if name in pairs:
            continue
        used = {other for other, _ in pairs.values()}
        free = [other for other in right if other not in used and _has_same_type(value, right[other])]
        if free:
            pairs[name] = free[0], "name" if free[0] == name else "position"
    used = {other for other, _ in pairs.values()}
    return NameMatching(
        [(name, *pairs[name]) for name in left if name in pairs],
        [name for name in left if name not in pairs],
        [name for name in right if name not in used],
    )


def _has_same_type(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) or isinstance(b, list | tuple) or a is None or b is None:
        return isinstance(a, list | tuple) == isinstance(b, list | tuple)
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and _significant_dims(x.shape) == _significant_dims(y.shape)


def _significant_dims(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dim for dim in shape if dim != 1)
