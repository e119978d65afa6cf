"""Telling the engine about breakpoints, so that it finds them in passing and nothing else slows it down."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..runtime.engine import Engine
from .breakpoint import Breakpoint, Kind


class Arming:
    """Arms one engine. ``test(breakpoint, loop)`` tests, in Python, those that the engine cannot."""

    def __init__(self, engine: Engine, test: Callable[[Breakpoint, int], bool]) -> None:
        self._engine = engine
        self._test = test

    def arm(self, breakpoints: Iterable[Breakpoint], traps: Iterable[int] = ()) -> None:
        """Ask the engine to stop wherever one of these may hit; ``traps``: further instructions to stop before."""
        engine = self._engine
        at: dict[int, set[int]] = {}
        nodes = set(traps)
        slow: list[Breakpoint] = []
        for breakpoint_ in breakpoints:
            if not breakpoint_.enabled:
                continue
            nodes |= breakpoint_.nodes
            for index in breakpoint_.loops:
                if breakpoint_.kind is Kind.ITERATION:
                    at.setdefault(index, set()).add(breakpoint_.iterations[-1])
                elif breakpoint_.kind is Kind.END:
                    engine.stop_at_end(index)
            if breakpoint_.tested and breakpoint_.slow:
                slow.append(breakpoint_)
        for index in range(len(engine.plan.loops)):
            engine.set_breaks(index, at.get(index, ()))
        engine.set_traps(nodes)
        engine.set_hook(self._hook(slow) if slow else None)

    def disarm(self) -> None:
        """Ask the engine for nothing any more."""
        for index in range(len(self._engine.plan.loops)):
            self._engine.set_breaks(index, ())
        self._engine.set_traps(())
        self._engine.set_hook(None)

    def _hook(self, slow: list[Breakpoint]) -> Callable[[int], bool]:
        test = self._test

        def hook(index: int) -> bool:
            hit = False
            for breakpoint_ in slow:
                # Each of them: one that compares with the boundary before must see them all.
                hit |= index in breakpoint_.loops and test(breakpoint_, index)
            return hit

        return hook
