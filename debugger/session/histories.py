"""The histories of a session's loops."""

from __future__ import annotations

from ...runtime.engine.engine import Engine
from ..values.history import NOTHING, Evolution, Followed


class Histories:
    """Lets an engine note what its loops do, and tells what was noted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followed: dict[int, Followed] = {}
        slots = engine.plan.slot_of
        for plan in engine.plan.loops:
            followed = Followed(plan.loop)
            # What an If's branch computes is not there in every iteration.
            inside = [value for value in followed.sides if value in slots]
            if len(inside) < len(followed.sides):
                followed.sides, followed.comparison = [], None
            self._followed[plan.index] = followed
            engine.histories.follow(plan.index, [slots[value] for value in followed.sides])

    def of(self, index: int, entry: int | None = None) -> Evolution:
        """What was seen of an entry of a loop: the running or last one, or that of a number (from 0)."""
        if index < 0:
            return NOTHING
        return self._followed[index].evolution(self._engine.histories.view(index, entry))

    def entries(self, index: int) -> list[int]:
        """The numbers of the entries that are remembered, oldest first."""
        return self._engine.histories.entries(index)
