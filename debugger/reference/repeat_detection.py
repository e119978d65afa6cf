"""Find ranges of a sequence in which a group of tokens repeats, such as the copies of an unrolled loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from ...runtime.graph import Array

#: For each iteration the indices of its elements, in order.
RepeatedGroups = tuple[tuple[int, ...], ...]


def find_repeats(tokens: Sequence[Hashable]) -> list[RepeatedGroups]:
    """Return the ranges in which a group of tokens repeats, from left to right; of overlapping ones the longest.

    The first and the last copy may lack tokens, and so may any copy next to the longest run of complete ones; other
    tokens between them are skipped.
    """
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], np.int64)
    return list(_find_repeats_in_range(codes, 0, len(codes)))


def _find_repeats_in_range(codes: Array, first: int, stop: int) -> Iterator[RepeatedGroups]:
    run = _longest_run(codes[first:stop])
    if run is None:
        return
    start, period, count = run
    start += first
    end = start + period * count
    group = codes[start : start + period].tolist()
    partial_before = _partial_copies(codes[first:start][::-1].tolist(), group[::-1])
    partial_after = _partial_copies(codes[end:stop].tolist(), group)
    rounds = [
        *(tuple(start - 1 - i for i in reversed(indices)) for indices in reversed(partial_before)),
        *(tuple(range(i, i + period)) for i in range(start, end, period)),
        *(tuple(end + i for i in indices) for indices in partial_after),
    ]
    yield from _find_repeats_in_range(codes, first, rounds[0][0])
    yield tuple(rounds)
    yield from _find_repeats_in_range(codes, rounds[-1][-1] + 1, stop)


def _longest_run(codes: Array) -> tuple[int, int, int] | None:
    """(start, length of a group, copies) of the longest run of complete copies; of equal runs the one with the shortest
    group."""
    best, longest = None, 0
    for period in _candidate_periods(codes):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], codes[:-period] == codes[period:], [0]))))
        starts, lengths = edges[::2], edges[1::2] - edges[::2]
        if lengths.size and lengths.max() >= period and lengths.max() + period > longest:
            index = int(np.argmax(lengths))
            longest = int(lengths[index]) + period
            best = int(starts[index]), period, longest // period
    return best


def _candidate_periods(codes: Array) -> list[int]:
    """The distances of equal tokens without another one of them between."""
    order = np.argsort(codes, kind="stable")
    is_equal = codes[order][1:] == codes[order][:-1]
    return sorted({int(gap) for gap in np.diff(order)[is_equal]})


def _partial_copies(codes: Sequence[int], group: Sequence[int]) -> list[list[int]]:
    """Incomplete copies that begin here, each with the indices of its tokens of the group, in order. They end after
    more consecutive other tokens than the group has."""
    copies: list[list[int]] = []
    expected, other_count = len(group), 0
    for index, code in enumerate(codes):
        if other_count > len(group):
            break
        if code not in group:
            other_count += 1
            continue
        other_count = 0
        if code in group[expected:]:
            expected = group.index(code, expected) + 1
            copies[-1].append(index)
        else:
            expected = group.index(code) + 1
            copies.append([index])
    return copies
