"""Telling the engine about breakpoints, so that it finds them in passing and nothing else slows it down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ...runtime.engine.engine import Engine
from ...runtime.graph import Node
from ..describe.pseudo_code import node_positions
from .breakpoint import Breakpoint, Trigger
from .engine_predicates import make_predicates


class BreakpointInstaller:
    """Arms one engine. ``test(breakpoint, loop)`` tests, in Python, those that the engine cannot."""

    def __init__(self, engine: Engine, test: Callable[[Breakpoint, int], bool]) -> None:
        self._engine = engine
        self._test = test
        #: Where each node begins in the plan.
        self._positions = node_positions(engine.plan)
        #: Something was asked of the engine.
        self.is_installed = False
        #: Predicates that are on.
        self._enabled_predicates: set[int] = set()
        #: What the engine had found when it was armed last.
        self._hits_at_install: tuple[int, ...] = ()

    def add_predicates(self, breakpoint_: Breakpoint) -> None:
        """Let the engine ask for a breakpoint itself, where it can."""
        if not breakpoint_.needs_test or breakpoint_.is_in_main_graph:
            return
        for index in breakpoint_.loops:
            keys = []
            for found in make_predicates(breakpoint_, self._engine, index):
                test = partial(self._test, breakpoint_)
                key = self._engine.monitor.add_predicate(index, found.op, found.slots, found.needs_body, test)
                self._engine.monitor.enable_predicate(key, False)
                keys.append(key)
                if found.exact:
                    breakpoint_.engine_verdicts[index] = partial(self._is_hit_by_engine, key)
            if keys:
                breakpoint_.predicates[index] = tuple(keys)

    def _is_hit_by_engine(self, key: int) -> bool:
        """Whether the engine has stopped here since a predicate is true, and found that without asking Python."""
        engine = self._engine
        return (
            engine.monitor.hits is not self._hits_at_install
            and key in engine.monitor.hits
            and engine.monitor.is_native(key)
        )

    def remove_predicates(self, breakpoint_: Breakpoint) -> None:
        """Forget a breakpoint."""
        breakpoint_.engine_verdicts.clear()
        for key in _predicate_keys(breakpoint_):
            self._enabled_predicates.discard(key)
            self._engine.monitor.remove_predicate(key)
        breakpoint_.predicates.clear()

    def is_tested_in_python(self, breakpoint_: Breakpoint) -> bool:
        """True where a breakpoint is tested in Python at every boundary of some loop."""
        if breakpoint_.kind is Trigger.BOUNDARY:
            return breakpoint_.condition is not None
        if not breakpoint_.needs_test or breakpoint_.is_in_main_graph:
            return False
        if any(index not in breakpoint_.predicates for index in breakpoint_.loops):
            return True
        return any(self._engine.monitor.is_unbindable(key) for key in _predicate_keys(breakpoint_))

    def install(self, breakpoints: Iterable[Breakpoint], traps: Iterable[int] = ()) -> None:
        """Ask the engine to stop wherever one of these may hit; ``traps``: further instructions to stop before."""
        self.is_installed = True
        engine = self._engine
        self._hits_at_install = engine.monitor.hits
        at: dict[int, set[int]] = {}
        stops = set(traps)
        nodes: set[Node] = set()
        slow: list[Breakpoint] = []
        asked: set[int] = set()
        for breakpoint_ in breakpoints:
            if not breakpoint_.enabled:
                continue
            nodes |= breakpoint_.nodes
            if breakpoint_.is_in_main_graph:
                if not breakpoint_.already_tested:
                    nodes |= breakpoint_.traps
                continue
            for index in breakpoint_.loops:
                if breakpoint_.kind is Trigger.ITERATION:
                    at.setdefault(index, set()).add(breakpoint_.iterations[-1])
                elif breakpoint_.kind is Trigger.END:
                    engine.stop_at_end(index)
                elif breakpoint_.kind is Trigger.BOUNDARY:
                    engine.stop_at(index, 0)
            if breakpoint_.needs_test:
                if not _is_unevaluated(breakpoint_):
                    asked.update(_predicate_keys(breakpoint_))
                if _is_unevaluated(breakpoint_) or len(breakpoint_.predicates) < len(breakpoint_.loops):
                    slow.append(breakpoint_)
        for index in range(len(engine.plan.loops)):
            engine.set_breaks(index, at.get(index, ()))
        engine.set_traps(stops | {self._positions[node] for node in nodes})
        engine.set_hook(self._make_hook(slow) if slow else None)
        self._enable_predicates(asked)

    def _enable_predicates(self, wanted: set[int]) -> None:
        # Only what changes: scalar programs are made anew where other questions are asked.
        for key in wanted ^ self._enabled_predicates:
            self._engine.monitor.enable_predicate(key, key in wanted)
        self._enabled_predicates = wanted

    def uninstall(self) -> None:
        """Ask the engine for nothing any more."""
        self.is_installed = False
        for index in range(len(self._engine.plan.loops)):
            self._engine.set_breaks(index, ())
        self._engine.set_traps(())
        self._engine.set_hook(None)
        self._hits_at_install = self._engine.monitor.hits
        self._enable_predicates(set())

    def _make_hook(self, slow: list[Breakpoint]) -> Callable[[int], bool]:
        test = self._test

        def hook(index: int) -> bool:
            hit = False
            for breakpoint_ in slow:
                # Each of them: one that compares with the boundary before must see them all.
                first = _is_unevaluated(breakpoint_)
                asked_here = index in breakpoint_.loops and (first or index not in breakpoint_.predicates)
                hit |= asked_here and test(breakpoint_, index)
                # The next question is for the engine: stop, so that it is asked from here on.
                hit |= first and not _is_unevaluated(breakpoint_) and bool(breakpoint_.predicates)
            return hit

        return hook


def _predicate_keys(breakpoint_: Breakpoint) -> list[int]:
    """The engine's predicates for a breakpoint, of all its loops."""
    return [key for keys in breakpoint_.predicates.values() for key in keys]


def _is_unevaluated(breakpoint_: Breakpoint) -> bool:
    """True of a condition that had no value yet: it is tested in Python until it has one, so that it is known whether
    it ever had."""
    return breakpoint_.kind is Trigger.CONDITION and not breakpoint_.evaluated
