"""The histories of a session's loops."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...runtime.engine.engine import Engine
from ..statistics.history import NOTHING, Evolution
from ..values.followed import Followed

#: While something runs, what was noted so far is told so often, and for so long after somebody asked.
_EVERY, _ASKED = 0.08, 1.0


class Histories:
    """Lets an engine note what its loops do, and tells what was noted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._followed: dict[int, Followed] = {}
        self._lately: Mapping[str, Evolution] = {}
        self._asked = self._told = 0.0
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
        """What was recorded of an entry of a loop: the running or last one, or that of a number (from 0)."""
        if index < 0:
            return NOTHING
        return self._followed[index].evolution(self._engine.histories.view(index, entry))

    # -- while the engine runs

    @property
    def lately(self) -> Mapping[str, Evolution]:
        """Path of each loop that was entered -> what was recorded of it, at most about a tenth of a second ago; empty
        at first. From any thread, while the engine runs in another."""
        self._asked = time.monotonic()
        return self._lately

    def forget_lately(self) -> None:
        """A command begins, and nothing is known of it yet."""
        self._lately = {}

    def tick(self) -> None:
        """Called often, by the thread in which the engine runs."""
        now = time.monotonic()
        if now - self._asked > _ASKED or now - self._told < _EVERY:
            return
        self._lately = {plan.path: self.of(plan.index) for plan in self._engine.plan.loops}
        self._told = time.monotonic()

    def entries(self, index: int) -> list[int]:
        """The numbers of the entries that are remembered, oldest first."""
        return self._engine.histories.entries(index)
