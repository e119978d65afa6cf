"""Stable topological order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush


def topological_order(needs: Sequence[Collection[int]]) -> list[int]:
    """Positions in an order in which each comes after those that it needs; otherwise the order is kept.

    Cycles, and positions that depend on them, are omitted.
    """
    pending_counts = [len(needed) for needed in needs]
    users: list[list[int]] = [[] for _ in needs]
    for position, needed in enumerate(needs):
        for dependency in needed:
            users[dependency].append(position)
    ready = [position for position, count in enumerate(pending_counts) if not count]
    heapify(ready)
    order = []
    while ready:
        position = heappop(ready)
        order.append(position)
        for user in users[position]:
            pending_counts[user] -= 1
            if not pending_counts[user]:
                heappush(ready, user)
    return order
