"""Evidence of numbers in names: ``mul_7`` of a model is not ``mul_9`` of the program, even with equal operands.

An exporter rewrites the program, renumbers the nodes of each kind in order, and removes some afterwards. So every
program node got a number, in the same order; other nodes were added between them, and a number that no model node has
is mostly that of a removed node. For each kind, the best numbering of the program nodes is the one in which those with
a model node are most similar.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...runtime.graph import Array

_NUMBER = re.compile(r"_(\d+)$")
#: Cost of a program node with the number of an impossible match, and of an unused number without a node.
_CONTRADICTED_COST, _UNUSED_NUMBER_COST = -100, -50
#: Numbers are evidence from this number of successive pairs, of which this fraction keeps the order: an exporter with
#: its own names keeps it only by chance, half of the time.
_MIN_ORDERED_PAIRS, _MIN_ORDERED_FRACTION = 5, 0.8
#: Maximum size of the table of one kind.
_MAX_CELLS = 25_000_000
_IMPOSSIBLE = -(1 << 40)


@lru_cache(100_000)
def split_number(name: str) -> tuple[str, int]:
    """Split a name from its number; ``mul``, which comes before ``mul_1``, has the number 0.

    >>> split_number("mul_7"), split_number("mul")
    (('mul', 7), ('mul', 0))
    """
    match = _NUMBER.search(name)
    return (name, 0) if match is None else (name[: match.start()], int(match.group(1)))


@dataclass
class NumberingAlignment:
    """Evidence of numbers for program nodes (rows) and model nodes (columns).

    ``compared``: whether the kind of the two was examined; ``pairs``: whether they match by their numbers. ``kinds``:
    the kind of each row.
    """

    compared: Array
    pairs: Array
    kinds: Array

    def count_agreement(self, matches: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The number of pairs that follow another one of their kind, and of those that contradict the numbering."""
        examined = [(i, j) for i, j in matches if self.compared[i, j]]
        kinds = {int(self.kinds[i]) for i, _ in examined}
        return len(examined) - len(kinds), sum(not self.pairs[i, j] for i, j in examined)


def numbers_are_evidence(counts_by_graph: Sequence[tuple[int, int]]) -> bool:
    """Whether the numbers of a model are evidence, from :meth:`~NumberingAlignment.count_agreement` of its graphs."""
    successive, broken = (sum(counts) for counts in zip(*counts_by_graph, strict=True))
    return bool(successive >= _MIN_ORDERED_PAIRS and successive - broken >= _MIN_ORDERED_FRACTION * successive)


def align_numbering(nodes: Sequence[tuple[Hashable, str]], texts: Sequence[str], scores: Array) -> NumberingAlignment:
    """Align numbers. ``nodes``: those of a program, each with its graph; ``texts``: the names of model nodes;
    ``scores``: similarity of each two, 0 for no pair."""
    table = NumberingAlignment(
        np.zeros(scores.shape, bool), np.zeros(scores.shape, bool), np.zeros(len(nodes), np.int64)
    )
    column_groups = _group_by_stem([("", *split_number(name)) for name in texts])
    for kind, rows in enumerate(_group_by_stem([(graph, *split_number(name)) for graph, name in nodes])):
        table.kinds[rows] = kind
        for columns in column_groups:
            block = np.ix_(rows, columns)
            slots = _columns_by_number([split_number(texts[column])[1] for column in columns], len(rows))
            if (scores[block] > 0).any() and len(slots) * len(rows) <= _MAX_CELLS:
                table.compared[block] = True
                for i, j in _assign_numbers(scores[block], slots):
                    table.pairs[rows[i], columns[j]] = True
    return table


def _group_by_stem(names: Sequence[tuple[Hashable, str, int]]) -> list[list[int]]:
    """The indices of names that are numbered together, in the order of their numbers."""
    kinds: dict[Hashable, list[int]] = {}
    for k, (graph, stem, _) in enumerate(names):
        kinds.setdefault((graph, stem), []).append(k)
    return [sorted(indices, key=lambda k: names[k][2]) for indices in kinds.values()]


def _assign_numbers(scores: Array, slots: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """The rows, in order, with the columns of the numbers in the best assignment. ``slots``: the columns of each
    number."""
    count = len(scores)
    gain = np.zeros((count, len(slots)), np.int64)
    for slot, columns in enumerate(slots):
        if columns:
            best_score = scores[:, columns].max(axis=1)
            gain[:, slot] = np.where(best_score > 0, best_score, _CONTRADICTED_COST)
    spare = len(slots) - count
    skip_cost = np.array(
        [0, *(_UNUSED_NUMBER_COST if not columns and k < spare else 0 for k, columns in enumerate(slots))]
    ).cumsum()
    best = _best_prefix_sums(gain, skip_cost)
    slot = len(slots)
    for i in range(count, 0, -1):
        while best[i, slot] == best[i, slot - 1] + skip_cost[slot] - skip_cost[slot - 1]:
            slot -= 1
        slot -= 1
        if slots[slot] and gain[i - 1, slot] > 0:
            yield i - 1, max(slots[slot], key=lambda column: scores[i - 1, column])


def _columns_by_number(numbers: Sequence[int], count: int) -> list[list[int]]:
    """The columns of each number, in order; a gap has as many empty slots as can be used."""
    slots: list[list[int]] = []
    previous = -1
    for column, number in enumerate(numbers):
        if number > previous:
            slots += [[] for _ in range(min(number - previous - 1, count))]
            slots.append([])
            previous = number
        slots[-1].append(column)
    return slots + [[] for _ in range(count)]


def _best_prefix_sums(gain: Array, skip_cost: Array) -> Array:
    """The largest sum of the first rows in the first slots; ``skip_cost``: the cost of skipping all slots before."""
    rows, slots = gain.shape
    best = np.full((rows + 1, slots + 1), _IMPOSSIBLE, np.int64)
    best[0] = skip_cost
    for i in range(rows):
        best[i + 1, 1:] = np.maximum.accumulate(best[i, :-1] + gain[i] - skip_cost[1:]) + skip_cost[1:]
    return best
