"""Search for the last hit in a segment of the timeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from ...runtime.engine.engine import Engine
from ...runtime.engine.history.checkpoints import Checkpoint
from ...runtime.errors import InterruptError
from .positions import Position, loop_levels, run_to, set_next_stop

#: Hits that are searched linearly; with more, the rest of the segment is bisected.
LINEAR_SEARCH_MAX_HITS = 16

Hits = TypeVar("Hits")


def iterations_of_ended_loops(engine: Engine) -> dict[int, int]:
    """ENTER of each completed loop of the main graph -> its iterations."""
    running = set(engine.stack)
    return {
        plan.enter: engine.loop_state(plan.index)[0]
        for plan in engine.plan.loops
        if plan.parent < 0 and plan.index not in running and engine.loops.totals(plan.index)[1]
    }


class ReverseSearch(Generic[Hits]):
    """A search from a checkpoint to a position.

    ``arm`` makes the engine stop at possible hits and further instructions, until ``disarm``; ``test`` decides whether
    a stop is a hit; ``on_restore`` is called after the engine jumped. ``ended``: see :func:`iterations_of_ended_loops`.
    """

    def __init__(
        self,
        engine: Engine,
        arm: Callable[[tuple[int, ...]], None],
        disarm: Callable[[], None],
        on_restore: Callable[[], None],
        test: Callable[[], Hits | None],
        ended: Mapping[int, int],
    ) -> None:
        self.engine = engine
        self._arm, self._disarm, self._on_restore, self._test, self._ended_loops = arm, disarm, on_restore, test, ended

    def find_last_hit(self, checkpoint: Checkpoint, end: Position, limit: Position) -> tuple[Position, Hits] | None:
        """The last hit up to ``end``, but before ``here``. The final position of the engine is unspecified.

        Raises:
            InterruptError: ``Engine.interrupt`` was called.
        """
        self._restore_at(checkpoint, checkpoint.position)
        last_hit = None
        for _ in range(LINEAR_SEARCH_MAX_HITS):
            hit = self._run_to_next_hit(end, limit)
            if hit is None:
                return last_hit
            last_hit = hit
        # Bisect from the last known hit: the total time is proportional to the rest of the segment.
        nearest = self.engine.checkpoints.save()
        while last_hit is not None and (middle := self._midpoint(last_hit[0], end)) is not None:
            self._restore_at(nearest, middle)
            hit = self._run_to_next_hit(end, limit)
            if hit is None:
                end = middle
            else:
                last_hit, nearest = hit, self.engine.checkpoints.save()
        if last_hit is not None:
            self._restore_at(nearest, last_hit[0])
        while (hit := self._run_to_next_hit(end, limit)) is not None:
            last_hit = hit
        return last_hit

    def _restore_at(self, checkpoint: Checkpoint, position: Position) -> None:
        self._disarm()
        self.engine.checkpoints.restore(checkpoint)
        run_to(self.engine, position)
        self._on_restore()

    def _run_to_next_hit(self, end: Position, limit: Position) -> tuple[Position, Hits] | None:
        """The next hit up to ``end``; None: there is none, and the engine is at ``end``."""
        engine = self.engine
        try:
            while engine.position < end:
                engine.clear_stops()
                trap = set_next_stop(engine, end)
                self._arm(() if trap is None else (trap,))
                event, _ = engine.resume()
                if event == "interrupt":
                    raise InterruptError("interrupted while going back")
                if event in ("node", "boundary", "predicate") and engine.position < limit:
                    hits = self._test()
                    if hits is not None:
                        return engine.position, hits
        finally:
            engine.clear_stops()
        return None

    def _midpoint(self, start: Position, end: Position) -> Position | None:
        """A boundary between two positions, in the outermost loop where they differ; None: there is none."""
        start_levels, end_levels = loop_levels(start), loop_levels(end)
        level = next((k for k, pair in enumerate(start_levels) if end_levels[k : k + 1] != [pair]), len(start_levels))
        if level == len(start_levels):
            return None
        enter, iteration = start_levels[level]
        if level < len(end_levels) and end_levels[level][0] == enter:
            end_iteration = end_levels[level][1]
        elif level == 0 and enter in self._ended_loops:
            end_iteration = self._ended_loops[enter]
        else:
            return None
        plan = self.engine.plan.loops[self.engine.plan.code[enter].loop]
        middle = (*start[: 2 * level], enter, max((iteration + end_iteration) // 2, iteration + 1), plan.head)
        return middle if start < middle < end and middle[2 * level + 1] <= end_iteration else None
