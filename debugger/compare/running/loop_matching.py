"""Which loop and which value of one side is which of the other: by the names that are given, by path and name,
else by what they do or by their order.

Names that end in a number are exporters': one more node shifts them, so that they are no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import MAIN, bodies, own_values, walk
from ....runtime.text import did_you_mean
from ..align.alignment import body_similarity
from ..align.loop_ports import is_numbered_name
from .sides import ComparisonSide, LoopInfo

#: What a name says of two loops beside how much of them is alike, from 0 to 1.
_NAME_WEIGHT = 0.1


@dataclass(frozen=True)
class LoopMatch:
    """Two loops that are compared. ``around``: the indices of the pairs around it, outermost first."""

    index: int
    left: LoopInfo
    right: LoopInfo
    method: str
    enclosing: tuple[int, ...]


@dataclass
class LoopMatching:
    """Loops of two sides, paired."""

    pairs: list[LoopMatch]
    only_left: list[str]
    only_right: list[str]
    #: The pairs are in the same order on both sides, so that one reading of both does for all.
    same_order: bool = True


def match_loops(left: Sequence[LoopInfo], right: Sequence[LoopInfo], names: Mapping[str, str]) -> LoopMatching:
    """Pair the loops level by level: by given names, the same path, the same name, then what they do, and the order."""
    matched = LoopMatching([], [], [])
    _match_level(left, right, names, (), matched)
    return matched


def find_unknown_name(left: ComparisonSide, right: ComparisonSide, names: Mapping[str, str]) -> tuple[str, str] | None:
    """Of names that are said to stand for each other the first one whose side has no such thing: what it is called on
    the left, and what is wrong."""
    for k, side in enumerate((left, right)):
        if side.graph is None:
            continue
        known = {MAIN, *side.graph.output_names}
        for graph in (side.graph, *(inner for node in walk(side.graph) for _, inner in bodies(node))):
            known.update(value.name for value in own_values(graph))
        known.update(name for loop in _walk_loops(side.loops) for name in (loop.name, loop.path))
        for pair in names.items():
            if pair[k] not in known:
                return pair[0], f"{side.label} has no '{pair[k]}'{did_you_mean(pair[k], sorted(known))}"
    return None


def _walk_loops(loops: Sequence[LoopInfo]) -> Iterator[LoopInfo]:
    for loop in loops:
        yield loop
        yield from _walk_loops(loop.children)


def _match_level(
    left: Sequence[LoopInfo],
    right: Sequence[LoopInfo],
    names: Mapping[str, str],
    around: tuple[int, ...],
    matched: LoopMatching,
) -> None:
    found: dict[int, tuple[int, str]] = {}
    tests: tuple[tuple[str, Callable[[LoopInfo, LoopInfo], bool]], ...] = (
        ("given", lambda a, b: b.path in (names.get(a.path), names.get(a.name)) or names.get(a.name) == b.name),
        ("path", lambda a, b: a.path == b.path and _name_is_evidence(a, b)),
        ("name", lambda a, b: a.name == b.name and _name_is_evidence(a, b)),
    )
    for how, fits in tests:
        for k, one in enumerate(left):
            if k in found:
                continue
            taken = {j for j, _ in found.values()}
            match = next((j for j, other in enumerate(right) if j not in taken and fits(one, other)), None)
            if match is not None:
                found[k] = match, how
    for k, j in _match_by_similarity(left, right, found):
        one, other = left[k], right[j]
        how = "path" if one.path == other.path else "name" if one.name == other.name else "position"
        known = one.loop is not None and other.loop is not None
        found[k] = j, "structure" if known and how == "position" else how
    order = [found[k][0] for k in sorted(found)]
    matched.same_order = matched.same_order and order == sorted(order)
    matched.only_left += [loop.path for k, loop in enumerate(left) if k not in found]
    matched.only_right += [loop.path for j, loop in enumerate(right) if j not in {j for j, _ in found.values()}]
    for k in sorted(found):
        j, how = found[k]
        pair = LoopMatch(len(matched.pairs), left[k], right[j], how, around)
        matched.pairs.append(pair)
        _match_level(left[k].children, right[j].children, names, (*around, pair.index), matched)


def _name_is_evidence(a: LoopInfo, b: LoopInfo) -> bool:
    """Whether the name that two loops share says that they are the same."""
    return not is_numbered_name(a.name) or a.loop is None or b.loop is None


def _match_by_similarity(
    left: Sequence[LoopInfo], right: Sequence[LoopInfo], found: Mapping[int, tuple[int, str]]
) -> Iterator[tuple[int, int]]:
    """Pairs of the rest, those first whose bodies have most in common; of equal ones those with one name, in order."""
    taken = {j for j, _ in found.values()}
    # Names that are all on both sides were shifted by nothing.
    tells = {one.name for one in left} == {other.name for other in right}
    marks = []
    for k, a in enumerate(left):
        for j, b in enumerate(right):
            if k not in found and j not in taken:
                alike = body_similarity(a.loop, b.loop) if a.loop is not None and b.loop is not None else 0.0
                alike += _NAME_WEIGHT * (tells and a.name == b.name)
                marks.append((-alike, a.name != b.name, abs(k - j), k, j))
    done: set[int] = set()
    for *_, k, j in sorted(marks):
        if k not in done and j not in taken:
            done.add(k)
            taken.add(j)
            yield k, j


def select_pairs(pairs: Sequence[LoopMatch], wanted: Sequence[str]) -> list[LoopMatch]:
    """The pairs of the loops that are asked for, by name or path.

    Raises:
        UsageError: there is no such loop.
    """
    if not wanted:
        return list(pairs)
    found = []
    for name in wanted:
        those = [pair for pair in pairs if name in (pair.left.path, pair.left.name, pair.right.path, pair.right.name)]
        if not those:
            told = ", ".join(f"'{pair.left.path}'" for pair in pairs) or "none"
            raise UsageError(f"there is no loop '{name}' to compare; there are {told}")
        found += those
    return [pair for pair in pairs if pair in found]


@dataclass(frozen=True)
class NameMatching:
    """Pairs of names, each with how they were matched; and the names that one side alone has."""

    pairs: Sequence[tuple[str, str, str]]
    only_left: Sequence[str]
    only_right: Sequence[str]

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return iter(self.pairs)


def match_names(left: Mapping[str, Any], right: Mapping[str, Any], names: Mapping[str, str]) -> NameMatching:
    """Pair values by the names that are given and by name; those left over in their order, where type and shape fit.

    A name with a number tells only where both sides have the same names.
    """
    alike = left.keys() == right.keys()
    pairs: dict[str, tuple[str, str]] = {}
    for name in left:
        if name in names and names[name] in right:
            pairs[name] = names[name], "given"
    for name in left:
        there = name in right and name not in {other for other, _ in pairs.values()}
        if name not in pairs and there and (alike or not is_numbered_name(name)):
            pairs[name] = name, "name"
    for name, value in left.items():
        if name in pairs:
            continue
        taken = {other for other, _ in pairs.values()}
        free = [other for other in right if other not in taken and _same_type(value, right[other])]
        if free:
            pairs[name] = free[0], "name" if free[0] == name else "position"
    taken = {other for other, _ in pairs.values()}
    return NameMatching(
        [(name, *pairs[name]) for name in left if name in pairs],
        [name for name in left if name not in pairs],
        [name for name in right if name not in taken],
    )


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, list | tuple) or isinstance(b, list | tuple) or a is None or b is None:
        return isinstance(a, list | tuple) == isinstance(b, list | tuple)
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and _significant_dims(one.shape) == _significant_dims(other.shape)


def _significant_dims(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dim for dim in shape if dim != 1)
