"""Stretches of a sequence in which the same few things stand over and over, as what a loop was unrolled to does."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from ...runtime.graph import Array

#: Of each iteration the places of what belongs to it, in order.
RepeatedGroups = tuple[tuple[int, ...], ...]


def find_repeats(tokens: Sequence[Hashable]) -> list[RepeatedGroups]:
    """The stretches in which a group of tokens follows itself, from left to right, the longest group of copies first
    where several overlap.

    The first and the last copy may lack tokens, and so may any beside the longest run of whole ones; what else stands
    between is left out.
    """
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(token, len(numbers)) for token in tokens], np.int64)
    return list(_find_within(codes, 0, len(codes)))


def _find_within(codes: Array, first: int, last: int) -> Iterator[RepeatedGroups]:
    found = _longest_run(codes[first:last])
    if found is None:
        return
    start, period, count = found
    start += first
    end = start + period * count
    group = codes[start : start + period].tolist()
    before = _partial_copies(codes[first:start][::-1].tolist(), group[::-1])
    behind = _partial_copies(codes[end:last].tolist(), group)
    rounds = [
        *(tuple(start - 1 - at for at in reversed(places)) for places in reversed(before)),
        *(tuple(range(at, at + period)) for at in range(start, end, period)),
        *(tuple(end + at for at in places) for places in behind),
    ]
    yield from _find_within(codes, first, rounds[0][0])
    yield tuple(rounds)
    yield from _find_within(codes, rounds[-1][-1] + 1, last)


def _longest_run(codes: Array) -> tuple[int, int, int] | None:
    """(start, length of a group, copies) of the longest run of whole copies; of runs as long the one of the shortest
    group."""
    best, longest = None, 0
    for period in _candidate_periods(codes):
        same = np.flatnonzero(np.diff(np.concatenate(([0], codes[:-period] == codes[period:], [0]))))
        starts, lengths = same[::2], same[1::2] - same[::2]
        if lengths.size and lengths.max() >= period and lengths.max() + period > longest:
            at = int(np.argmax(lengths))
            longest = int(lengths[at]) + period
            best = int(starts[at]), period, longest // period
    return best


def _candidate_periods(codes: Array) -> list[int]:
    """How far apart equal tokens stand that have none of them between."""
    order = np.argsort(codes, kind="stable")
    alike = codes[order][1:] == codes[order][:-1]
    return sorted({int(gap) for gap in np.diff(order)[alike]})


def _partial_copies(codes: Sequence[int], group: Sequence[int]) -> list[list[int]]:
    """Further copies that begin here, each with what it has of the group, in its order. They end where as many other
    tokens as a group has follow each other."""
    found: list[list[int]] = []
    expected, others = len(group), 0
    for at, code in enumerate(codes):
        if others > len(group):
            break
        if code not in group:
            others += 1
            continue
        others = 0
        if code in group[expected:]:
            expected = group.index(code, expected) + 1
            found[-1].append(at)
        else:
            expected = group.index(code) + 1
            found.append([at])
    return found
