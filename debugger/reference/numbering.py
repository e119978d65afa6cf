"""What the numbers of names tell: ``mul_7`` of a model is no ``mul_9`` of the program, though both read the same.

An exporter writes some nodes out as several and numbers them anew in the same order. So a number in the model is the
one in the program and what was added before it: from one pair to the next, a model's numbers get ahead of the program's
or stay as far ahead, and never fall back. A node that is left out later has used up its number.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

_NUMBER = re.compile(r"_(\d+)$")
#: Numbers tell something where at least so many pairs come behind another one, and four of five of them keep the rule:
#: an exporter that gives names of its own keeps it by chance alone, one time in two.
_LEAST, _KEPT = 5, 0.8

#: A graph of the program, a name in it, and a name in the model.
Names = tuple[tuple[str, ...], str, str]
#: The graph of the program, and both names without their numbers: names of one such kind are numbered together.
Kind = tuple[tuple[str, ...], str, str]
#: The number in the program and the one in the model.
Pair = tuple[int, int]


@cache
def parted(name: str) -> tuple[str, int]:
    """A name without its number, and the number: of ``mul``, which comes before ``mul_1``, it is 0.

    >>> parted("mul_7"), parted("mul")
    (('mul', 7), ('mul', 0))
    """
    found = _NUMBER.search(name)
    return (name, 0) if found is None else (name[: found.start()], int(found.group(1)))


@dataclass(frozen=True)
class Numbering:
    """The pairs of numbers that keep the rule, by their kind, in order; None: names of this model do not keep it."""

    kept: Mapping[Kind, Sequence[Pair]] | None = None

    @classmethod
    def of(cls, names: Iterable[Names]) -> Numbering:
        """What pairs of names tell: nothing where there are too few to tell, or too few of them keep the rule."""
        pairs: dict[Kind, list[Pair]] = {}
        for names_of_pair in names:
            kind, pair = _numbers(names_of_pair)
            pairs.setdefault(kind, []).append(pair)
        kept = {kind: _longest(sorted(some)) for kind, some in pairs.items()}
        behind = sum(len(some) - 1 for some in pairs.values())
        broken = sum(len(some) - len(kept[kind]) for kind, some in pairs.items())
        return cls(kept if behind >= _LEAST and behind - broken >= _KEPT * behind else None)

    def rules_out(self, names: Names) -> bool:
        """Whether two names cannot be a pair beside the pairs that keep the rule, those of either name left out."""
        if self.kept is None:
            return False
        kind, (number, other) = _numbers(names)
        kept = self.kept.get(kind, ())
        start, end = bisect_left(kept, (number,)), bisect_left(kept, (number + 1,))
        before = [pair for pair in kept[max(start - 2, 0) : start] if pair[1] != other]
        after = [pair for pair in kept[end : end + 2] if pair[1] != other]
        least = _ahead(before[-1]) if before else 0
        return not least <= other - number <= (_ahead(after[0]) if after else other)


def _numbers(names: Names) -> tuple[Kind, Pair]:
    graph, there, here = names
    (left, number), (right, other) = parted(there), parted(here)
    return (graph, left, right), (number, other)


def _ahead(pair: Pair) -> int:
    return pair[1] - pair[0]


def _longest(pairs: Sequence[Pair]) -> list[Pair]:
    """The most of these pairs of which none falls behind the one before it, or behind the program's numbers."""
    ends: list[int] = []
    chains: list[_Chain] = []
    for pair in pairs:
        if _ahead(pair) >= 0:
            k = bisect_right(ends, _ahead(pair))
            ends[k : k + 1] = [_ahead(pair)]
            chains[k : k + 1] = [_Chain(pair, chains[k - 1] if k else None)]
    return list(chains[-1])[::-1] if chains else []


@dataclass(frozen=True)
class _Chain:
    """Pairs that keep the rule, the last first."""

    pair: Pair
    before: _Chain | None

    def __iter__(self) -> Iterator[Pair]:
        one: _Chain | None = self
        while one is not None:
            yield one.pair
            one = one.before
