"""Destinations of run commands, which can be armed again after an intermediate stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...runtime.engine.engine import Engine


class Destination(Protocol):
    """``arm`` makes the engine stop where it may be reached; ``is_reached`` tests a stop of the engine."""

    def arm(self, engine: Engine) -> None: ...
    def is_reached(self, engine: Engine, event: str, index: int) -> bool: ...


class ModelEndDestination:
    """The end of the model."""

    def arm(self, engine: Engine) -> None:
        """No-op."""

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """Never."""
        return False


class AnyBoundaryDestination:
    """The next boundary of any loop."""

    def arm(self, engine: Engine) -> None:
        engine.stop_anywhere()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At any boundary."""
        return event == "boundary"


@dataclass(frozen=True)
class LoopBoundaryDestination:
    """The first boundary of a loop at or after an iteration, or the loop's end."""

    index: int
    iteration: int

    def arm(self, engine: Engine) -> None:
        engine.stop_at(self.index, self.iteration)

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At that boundary, a later one, or the loop's end."""
        iteration, _, _, ended, _ = engine.loop_state(self.index)
        return event == "boundary" and index == self.index and (iteration >= self.iteration or ended is not None)


@dataclass(frozen=True)
class LoopEndDestination:
    """The end of a loop."""

    index: int

    def arm(self, engine: Engine) -> None:
        engine.stop_at_end(self.index)

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At the loop's last boundary."""
        return event == "boundary" and index == self.index and engine.loop_state(index)[3] is not None


class FirstNodeDestination:
    """The very next node, in a model whose loops have not begun."""

    def arm(self, engine: Engine) -> None:
        engine.stop_before_node()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At any node."""
        return event == "node"


class NextNodeDestination:
    """The next node of the current body, of an outer body if this one ends, or the next boundary of a running loop.
    ``into``: a boundary of an inner loop counts as well."""

    def __init__(self, depth: int, boundaries: Sequence[LoopBoundaryDestination], into: bool = False) -> None:
        self.depth = depth
        self.boundaries = boundaries
        self.step_into = into

    def arm(self, engine: Engine) -> None:
        """The current node does not count."""
        engine.stop_at_node(self.depth)
        for boundary in self.boundaries:
            boundary.arm(engine)
        if self.step_into:
            engine.stop_anywhere()

    def is_reached(self, engine: Engine, event: str, index: int) -> bool:
        """At a node that is not deeper, or at one of the boundaries."""
        if event == "node":
            return len(engine.stack) <= self.depth
        if self.step_into and event == "boundary":
            return True
        return any(boundary.is_reached(engine, event, index) for boundary in self.boundaries)
