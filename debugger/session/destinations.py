"""Where a command runs to, in a form that can be asked for again after a stop on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ...runtime.engine.engine import Engine


class Destination(Protocol):
    """``arm`` asks the engine to stop where it may be reached; ``reached`` says whether this stop is it."""

    def arm(self, engine: Engine) -> None: ...
    def is_reached(self, engine: Engine, what: str, index: int) -> bool: ...


class ModelEndDestination:
    """The end of the model."""

    def arm(self, engine: Engine) -> None:
        """Ask for nothing."""

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """Never."""
        return False


class AnyBoundaryDestination:
    """The next boundary of any loop."""

    def arm(self, engine: Engine) -> None:
        """Ask for it."""
        engine.stop_anywhere()

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """Any boundary will do."""
        return what == "boundary"


@dataclass(frozen=True)
class LoopBoundaryDestination:
    """A boundary of a loop from an iteration on, or where the loop ends."""

    index: int
    iteration: int

    def arm(self, engine: Engine) -> None:
        """Ask for it."""
        engine.stop_at(self.index, self.iteration)

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """At that boundary, a later one, or the loop's end."""
        iteration, _, _, ended, _ = engine.loop_state(self.index)
        return what == "boundary" and index == self.index and (iteration >= self.iteration or ended is not None)


@dataclass(frozen=True)
class LoopEndDestination:
    """Where a loop ends."""

    index: int

    def arm(self, engine: Engine) -> None:
        """Ask for it."""
        engine.stop_at_end(self.index)

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """At the loop's last boundary."""
        return what == "boundary" and index == self.index and engine.loop_state(index)[3] is not None


class FirstNodeDestination:
    """The very next node, in a model whose loops have not begun."""

    def arm(self, engine: Engine) -> None:
        """Ask for it."""
        engine.stop_before_node()

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """At any node."""
        return what == "node"


class NextNodeDestination:
    """The next node of the body that the engine stands in, further out where the body ends, or the next boundary of
    one of the running loops. ``into``: the boundary of an inner loop serves as well."""

    def __init__(self, depth: int, boundaries: Sequence[LoopBoundaryDestination], into: bool = False) -> None:
        self.depth = depth
        self.boundaries = boundaries
        self.step_into = into

    def arm(self, engine: Engine) -> None:
        """Ask for it; the node that the engine stands at does not count."""
        engine.stop_at_node(self.depth)
        for boundary in self.boundaries:
            boundary.arm(engine)
        if self.step_into:
            engine.stop_anywhere()

    def is_reached(self, engine: Engine, what: str, index: int) -> bool:
        """At a node that is not deeper, or at one of the boundaries."""
        if what == "node":
            return len(engine.stack) <= self.depth
        if self.step_into and what == "boundary":
            return True
        return any(boundary.is_reached(engine, what, index) for boundary in self.boundaries)
