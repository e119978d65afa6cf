"""Value histories of a session's loops, sampled while they run."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ...runtime.engine.engine import Engine
from ..scope.tracked_values import TrackedValues
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution

#: Sampling interval during a run, and how long sampling continues after the last request.
_SAMPLE_INTERVAL_SECONDS, _DEMAND_TIMEOUT_SECONDS = 0.08, 1.0


class HistorySampler:
    """Makes an engine record value histories of its loops, and publishes them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tracked: dict[int, TrackedValues] = {}
        self._latest: Mapping[str, Evolution] = {}
        self._requested_time = self._sampled_time = 0.0
        slots = engine.plan.slot_of
        for plan in engine.plan.loops:
            tracked = TrackedValues(plan.loop)
            # Values of an If's branch do not exist in every iteration.
            readable = [value for value in tracked.sides if value in slots]
            if len(readable) < len(tracked.sides):
                tracked.sides, tracked.comparison = [], None
            self._tracked[plan.index] = tracked
            engine.histories.follow(plan.index, [slots[value] for value in tracked.sides])

    def entry_history(self, index: int, entry: int | None = None) -> Evolution:
        """The recorded history of an entry of a loop: the current or last one, or the one with a number (from 0)."""
        if index < 0:
            return EMPTY_EVOLUTION
        return self._tracked[index].evolution(self._engine.histories.view(index, entry))

    # -- while the engine runs

    @property
    def latest(self) -> Mapping[str, Evolution]:
        """Path of each entered loop -> its history, at most about a tenth of a second old; empty at first. Thread-safe
        while the engine runs in another thread."""
        self._requested_time = time.monotonic()
        return self._latest

    def clear_latest(self) -> None:
        """Discard the samples when a command begins."""
        self._latest = {}

    def tick(self) -> None:
        """Called frequently by the engine's thread."""
        now = time.monotonic()
        if now - self._requested_time > _DEMAND_TIMEOUT_SECONDS or now - self._sampled_time < _SAMPLE_INTERVAL_SECONDS:
            return
        self._latest = {plan.path: self.entry_history(plan.index) for plan in self._engine.plan.loops}
        self._sampled_time = time.monotonic()

    def entries(self, index: int) -> list[int]:
        """The numbers of the stored entries, oldest first."""
        return self._engine.histories.entries(index)
