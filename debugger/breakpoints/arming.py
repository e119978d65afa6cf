"""Telling the engine about breakpoints, so that it finds them in passing and nothing else slows it down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ...runtime.engine.engine import Engine
from ...runtime.graph import Node
from ..words.source import positions
from .breakpoint import Breakpoint, Trigger
from .predicates import filters_of


class Arming:
    """Arms one engine. ``test(breakpoint, loop)`` tests, in Python, those that the engine cannot."""

    def __init__(self, engine: Engine, test: Callable[[Breakpoint, int], bool]) -> None:
        self._engine = engine
        self._test = test
        #: Where each node begins in the plan.
        self._positions = positions(engine.plan)
        #: Something was asked of the engine.
        self.armed = False
        #: Predicates that are on.
        self._asked: set[int] = set()
        #: What the engine had found when it was armed last.
        self._before: tuple[int, ...] = ()

    def add(self, breakpoint_: Breakpoint) -> None:
        """Let the engine ask for a breakpoint itself, where it can."""
        if not breakpoint_.tested or breakpoint_.in_main:
            return
        for index in breakpoint_.loops:
            keys = []
            for found in filters_of(breakpoint_, self._engine, index):
                test = partial(self._test, breakpoint_)
                key = self._engine.observers.add_predicate(index, found.op, found.slots, found.needs_body, test)
                self._engine.observers.enable_predicate(key, False)
                keys.append(key)
                if found.exact:
                    breakpoint_.proofs[index] = partial(self._is_proved, key)
            if keys:
                breakpoint_.predicates[index] = tuple(keys)

    def _is_proved(self, key: int) -> bool:
        """Whether the engine has stopped here since a predicate is true, and found that without asking Python."""
        engine = self._engine
        return (
            engine.observers.hits is not self._before and key in engine.observers.hits and engine.observers.is_fast(key)
        )

    def remove(self, breakpoint_: Breakpoint) -> None:
        """Forget a breakpoint."""
        breakpoint_.proofs.clear()
        for key in _keys(breakpoint_):
            self._asked.discard(key)
            self._engine.observers.remove_predicate(key)
        breakpoint_.predicates.clear()

    def is_slow(self, breakpoint_: Breakpoint) -> bool:
        """True where a breakpoint is tested in Python at every boundary of some loop."""
        if breakpoint_.kind is Trigger.BOUNDARY:
            return breakpoint_.condition is not None
        if not breakpoint_.tested or breakpoint_.in_main:
            return False
        if any(index not in breakpoint_.predicates for index in breakpoint_.loops):
            return True
        return any(self._engine.observers.is_refused(key) for key in _keys(breakpoint_))

    def arm(self, breakpoints: Iterable[Breakpoint], traps: Iterable[int] = ()) -> None:
        """Ask the engine to stop wherever one of these may hit; ``traps``: further instructions to stop before."""
        self.armed = True
        engine = self._engine
        self._before = engine.observers.hits
        at: dict[int, set[int]] = {}
        stops = set(traps)
        nodes: set[Node] = set()
        slow: list[Breakpoint] = []
        asked: set[int] = set()
        for breakpoint_ in breakpoints:
            if not breakpoint_.enabled:
                continue
            nodes |= breakpoint_.nodes
            if breakpoint_.in_main:
                if not breakpoint_.passed:
                    nodes |= breakpoint_.traps
                continue
            for index in breakpoint_.loops:
                if breakpoint_.kind is Trigger.ITERATION:
                    at.setdefault(index, set()).add(breakpoint_.iterations[-1])
                elif breakpoint_.kind is Trigger.END:
                    engine.stop_at_end(index)
                elif breakpoint_.kind is Trigger.BOUNDARY:
                    engine.stop_at(index, 0)
            if breakpoint_.tested:
                if not _unproved(breakpoint_):
                    asked.update(_keys(breakpoint_))
                if _unproved(breakpoint_) or len(breakpoint_.predicates) < len(breakpoint_.loops):
                    slow.append(breakpoint_)
        for index in range(len(engine.plan.loops)):
            engine.set_breaks(index, at.get(index, ()))
        engine.set_traps(stops | {self._positions[node] for node in nodes})
        engine.set_hook(self._hook(slow) if slow else None)
        self._ask(asked)

    def _ask(self, wanted: set[int]) -> None:
        # Only what changes: scalar programs are made anew where other questions are asked.
        for key in wanted ^ self._asked:
            self._engine.observers.enable_predicate(key, key in wanted)
        self._asked = wanted

    def disarm(self) -> None:
        """Ask the engine for nothing any more."""
        self.armed = False
        for index in range(len(self._engine.plan.loops)):
            self._engine.set_breaks(index, ())
        self._engine.set_traps(())
        self._engine.set_hook(None)
        self._before = self._engine.observers.hits
        self._ask(set())

    def _hook(self, slow: list[Breakpoint]) -> Callable[[int], bool]:
        test = self._test

        def hook(index: int) -> bool:
            hit = False
            for breakpoint_ in slow:
                # Each of them: one that compares with the boundary before must see them all.
                first = _unproved(breakpoint_)
                asked_here = index in breakpoint_.loops and (first or index not in breakpoint_.predicates)
                hit |= asked_here and test(breakpoint_, index)
                # The next question is for the engine: stop, so that it is asked from here on.
                hit |= first and not _unproved(breakpoint_) and bool(breakpoint_.predicates)
            return hit

        return hook


def _keys(breakpoint_: Breakpoint) -> list[int]:
    """The engine's predicates for a breakpoint, of all its loops."""
    return [key for keys in breakpoint_.predicates.values() for key in keys]


def _unproved(breakpoint_: Breakpoint) -> bool:
    """True of a condition that had no value yet: it is tested in Python until it has one, so that it is known whether
    it ever had."""
    return breakpoint_.kind is Trigger.CONDITION and not breakpoint_.evaluated
