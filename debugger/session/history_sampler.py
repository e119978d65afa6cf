"""The histories of a session's loops."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...runtime.engine.engine import Engine
from ..scope.tracked_values import TrackedValues
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution

#: While something runs, what was noted so far is told so often, and for so long after somebody asked.
_SAMPLE_INTERVAL_SECONDS, _DEMAND_TIMEOUT_SECONDS = 0.08, 1.0


class HistorySampler:
    """Lets an engine note what its loops do, and tells what was noted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tracked: dict[int, TrackedValues] = {}
        self._latest: Mapping[str, Evolution] = {}
        self._requested_time = self._sampled_time = 0.0
        slots = engine.plan.slot_of
        for plan in engine.plan.loops:
            followed = TrackedValues(plan.loop)
            # What an If's branch computes is not there in every iteration.
            inside = [value for value in followed.sides if value in slots]
            if len(inside) < len(followed.sides):
                followed.sides, followed.comparison = [], None
            self._tracked[plan.index] = followed
            engine.histories.follow(plan.index, [slots[value] for value in followed.sides])

    def entry_history(self, index: int, entry: int | None = None) -> Evolution:
        """What was recorded of an entry of a loop: the running or last one, or that of a number (from 0)."""
        if index < 0:
            return EMPTY_EVOLUTION
        return self._tracked[index].evolution(self._engine.histories.view(index, entry))

    # -- while the engine runs

    @property
    def latest(self) -> Mapping[str, Evolution]:
        """Path of each loop that was entered -> what was recorded of it, at most about a tenth of a second ago; empty
        at first. From any thread, while the engine runs in another."""
        self._requested_time = time.monotonic()
        return self._latest

    def clear_latest(self) -> None:
        """A command begins, and nothing is known of it yet."""
        self._latest = {}

    def tick(self) -> None:
        """Called often, by the thread in which the engine runs."""
        now = time.monotonic()
        if now - self._requested_time > _DEMAND_TIMEOUT_SECONDS or now - self._sampled_time < _SAMPLE_INTERVAL_SECONDS:
            return
        self._latest = {plan.path: self.entry_history(plan.index) for plan in self._engine.plan.loops}
        self._sampled_time = time.monotonic()

    def entries(self, index: int) -> list[int]:
        """The numbers of the entries that are remembered, oldest first."""
        return self._engine.histories.entries(index)
