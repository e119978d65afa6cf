"""What the numbers of names tell: ``mul_7`` of a model is no ``mul_9`` of the program, though both read the same.

An exporter rewrites the program, numbers the nodes of each kind anew in their order, and leaves some out afterwards. So
every node of the program got a number, in the same order; other nodes were added between them, and a number that no
node of the model has is mostly that of a node which was left out. This is looked at kind by kind: of all ways to give
the nodes of the program numbers, the one in which those that have a node in the model are the likest.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...runtime.graph import Array

_NUMBER = re.compile(r"_(\d+)$")
#: What it costs that a node of the program has the number of a node that cannot have been made for it, and that a
#: number is left which no node has.
_CONTRADICTED_COST, _UNUSED_NUMBER_COST = -100, -50
#: Numbers tell something where at least so many pairs come behind another one, and four of five of them keep the order:
#: an exporter that gives names of its own keeps it by chance alone, one time in two.
_MIN_ORDERED_PAIRS, _MIN_ORDERED_FRACTION = 5, 0.8
#: Places of one kind that are looked at.
_MAX_CELLS = 25_000_000
_IMPOSSIBLE = -(1 << 40)


@lru_cache(100_000)
def split_number(name: str) -> tuple[str, int]:
    """A name without its number, and the number: of ``mul``, which comes before ``mul_1``, it is 0.

    >>> parted("mul_7"), parted("mul")
    (('mul', 7), ('mul', 0))
    """
    found = _NUMBER.search(name)
    return (name, 0) if found is None else (name[: found.start()], int(found.group(1)))


@dataclass
class NumberingAlignment:
    """What numbers tell of the nodes of a program (rows) and of a model (columns).

    ``told``: these two are of a kind that was looked at; ``pairs``: by their numbers they are a pair. ``kinds``: which
    kind a row is of.
    """

    compared: Array
    pairs: Array
    kinds: Array

    def count_agreement(self, found: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """How many pairs come behind another one of their kind, and how many of those numbers contradict."""
        seen = [(i, j) for i, j in found if self.compared[i, j]]
        kinds = {int(self.kinds[i]) for i, _ in seen}
        return len(seen) - len(kinds), sum(not self.pairs[i, j] for i, j in seen)


def numbers_are_evidence(agreed: Sequence[tuple[int, int]]) -> bool:
    """Whether the numbers of a model tell something, by what was :meth:`~Numbered.agreed` in its graphs."""
    behind, broken = (sum(counts) for counts in zip(*agreed, strict=True))
    return bool(behind >= _MIN_ORDERED_PAIRS and behind - broken >= _MIN_ORDERED_FRACTION * behind)


def align_numbering(there: Sequence[tuple[Hashable, str]], here: Sequence[str], alike: Array) -> NumberingAlignment:
    """What numbers tell. ``there``: the nodes of a program, each with its graph; ``here``: those of a model; ``alike``:
    how alike each two are, 0 where they are no pair."""
    found = NumberingAlignment(np.zeros(alike.shape, bool), np.zeros(alike.shape, bool), np.zeros(len(there), np.int64))
    made = _group_by_stem([("", *split_number(name)) for name in here])
    for kind, rows in enumerate(_group_by_stem([(graph, *split_number(name)) for graph, name in there])):
        found.kinds[rows] = kind
        for columns in made:
            block = np.ix_(rows, columns)
            held = _number_slots([split_number(here[column])[1] for column in columns], len(rows))
            if (alike[block] > 0).any() and len(held) * len(rows) <= _MAX_CELLS:
                found.compared[block] = True
                for i, j in _assign_numbers(alike[block], held):
                    found.pairs[rows[i], columns[j]] = True
    return found


def _group_by_stem(names: Sequence[tuple[Hashable, str, int]]) -> list[list[int]]:
    """The places of names that are numbered together, in the order of their numbers."""
    kinds: dict[Hashable, list[int]] = {}
    for k, (graph, stem, _) in enumerate(names):
        kinds.setdefault((graph, stem), []).append(k)
    return [sorted(places, key=lambda k: names[k][2]) for places in kinds.values()]


def _assign_numbers(alike: Array, held: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """The rows, in their order, and the columns of the numbers that they have in the likest way. ``held``: of each
    number, in order, the columns that have it."""
    count = len(alike)
    gain = np.zeros((count, len(held)), np.int64)
    for place, columns in enumerate(held):
        if columns:
            most = alike[:, columns].max(axis=1)
            gain[:, place] = np.where(most > 0, most, _CONTRADICTED_COST)
    last = len(held) - count
    left = np.array(
        [0, *(_UNUSED_NUMBER_COST if not columns and k < last else 0 for k, columns in enumerate(held))]
    ).cumsum()
    best = _best_prefix_sums(gain, left)
    place = len(held)
    for i in range(count, 0, -1):
        while best[i, place] == best[i, place - 1] + left[place] - left[place - 1]:
            place -= 1
        place -= 1
        if held[place] and gain[i - 1, place] > 0:
            yield i - 1, max(held[place], key=lambda column: alike[i - 1, column])


def _number_slots(numbers: Sequence[int], count: int) -> list[list[int]]:
    """Of each number, in order, the columns that have it; of numbers that none has, as many in a row as may be used."""
    found: list[list[int]] = []
    before = -1
    for column, number in enumerate(numbers):
        if number > before:
            found += [[] for _ in range(min(number - before - 1, count))]
            found.append([])
            before = number
        found[-1].append(column)
    return found + [[] for _ in range(count)]


def _best_prefix_sums(gain: Array, left: Array) -> Array:
    """Of the first rows at the first places, the largest sum; ``left``: what it costs to leave all places before."""
    rows, places = gain.shape
    best = np.full((rows + 1, places + 1), _IMPOSSIBLE, np.int64)
    best[0] = left
    for i in range(rows):
        best[i + 1, 1:] = np.maximum.accumulate(best[i, :-1] + gain[i] - left[1:]) + left[1:]
    return best
