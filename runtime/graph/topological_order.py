"""An order in which things can be done that need each other's results."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush


def topological_order(needs: Sequence[Collection[int]]) -> list[int]:
    """Positions in an order in which each stands behind those that it needs, and as they are as far as that goes.

    Those that need each other in a circle, and what needs them, are left out.
    """
    waits = [len(needed) for needed in needs]
    users: list[list[int]] = [[] for _ in needs]
    for position, needed in enumerate(needs):
        for other in needed:
            users[other].append(position)
    ready = [position for position, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        position = heappop(ready)
        order.append(position)
        for user in users[position]:
            waits[user] -= 1
            if not waits[user]:
                heappush(ready, user)
    return order
