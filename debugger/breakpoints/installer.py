"""Inserts breakpoints into the engine and removes them, so that the engine tests them itself at full speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ...runtime.engine.engine import Engine
from ...runtime.graph import Node
from ..describe.pseudo_code import node_positions
from .breakpoint import Breakpoint, Trigger
from .engine_predicates import make_predicates


class BreakpointInstaller:
    """Installs breakpoints in one engine. ``test(breakpoint, loop)`` tests in Python those that the engine cannot."""

    def __init__(self, engine: Engine, test: Callable[[Breakpoint, int], bool]) -> None:
        self._engine = engine
        self._test = test
        #: Where each node begins in the plan.
        self._positions = node_positions(engine.plan)
        #: Breakpoints are installed in the engine.
        self.is_installed = False
        #: Keys of the enabled predicates.
        self._enabled_predicates: set[int] = set()
        #: The engine's hits at the last installation.
        self._hits_at_install: tuple[int, ...] = ()

    def add_predicates(self, breakpoint_: Breakpoint) -> None:
        """Let the engine test a breakpoint itself, if it can."""
        if not breakpoint_.is_tested_at_boundaries or breakpoint_.is_in_main_graph:
            return
        for index in breakpoint_.loops:
            keys = []
            for item in make_predicates(breakpoint_, self._engine, index):
                test = partial(self._test, breakpoint_)
                key = self._engine.monitor.add_predicate(index, item.op, item.slots, item.needs_body, test)
                self._engine.monitor.enable_predicate(key, False)
                keys.append(key)
                if item.exact:
                    breakpoint_.engine_verdicts[index] = partial(self._is_hit_by_engine, key)
            if keys:
                breakpoint_.predicates[index] = tuple(keys)

    def _is_hit_by_engine(self, key: int) -> bool:
        """Whether the engine stopped here because a native predicate is true."""
        engine = self._engine
        return (
            engine.monitor.hits is not self._hits_at_install
            and key in engine.monitor.hits
            and engine.monitor.is_native(key)
        )

    def remove_predicates(self, breakpoint_: Breakpoint) -> None:
        """Remove the predicates of a breakpoint."""
        breakpoint_.engine_verdicts.clear()
        for key in _predicate_keys(breakpoint_):
            self._enabled_predicates.discard(key)
            self._engine.monitor.remove_predicate(key)
        breakpoint_.predicates.clear()

    def is_tested_in_python(self, breakpoint_: Breakpoint) -> bool:
        """True if a breakpoint is tested in Python at every boundary of some loop."""
        if breakpoint_.kind is Trigger.BOUNDARY:
            return breakpoint_.condition is not None
        if not breakpoint_.is_tested_at_boundaries or breakpoint_.is_in_main_graph:
            return False
        if any(index not in breakpoint_.predicates for index in breakpoint_.loops):
            return True
        return any(self._engine.monitor.is_unbindable(key) for key in _predicate_keys(breakpoint_))

    def install(self, breakpoints: Iterable[Breakpoint], traps: Iterable[int] = ()) -> None:
        """Make the engine stop wherever a breakpoint may hit; ``traps``: further instructions to stop before."""
        self.is_installed = True
        engine = self._engine
        self._hits_at_install = engine.monitor.hits
        iterations: dict[int, set[int]] = {}
        stops = set(traps)
        nodes: set[Node] = set()
        python_tested: list[Breakpoint] = []
        keys: set[int] = set()
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
                    iterations.setdefault(index, set()).add(breakpoint_.iterations[-1])
                elif breakpoint_.kind is Trigger.END:
                    engine.stop_at_end(index)
                elif breakpoint_.kind is Trigger.BOUNDARY:
                    engine.stop_at(index, 0)
            if breakpoint_.is_tested_at_boundaries:
                if not _is_unevaluated(breakpoint_):
                    keys.update(_predicate_keys(breakpoint_))
                if _is_unevaluated(breakpoint_) or len(breakpoint_.predicates) < len(breakpoint_.loops):
                    python_tested.append(breakpoint_)
        for index in range(len(engine.plan.loops)):
            engine.set_breaks(index, iterations.get(index, ()))
        engine.set_traps(stops | {self._positions[node] for node in nodes})
        engine.set_hook(self._make_hook(python_tested) if python_tested else None)
        self._enable_predicates(keys)

    def _enable_predicates(self, keys: set[int]) -> None:
        # Change only what differs: each change recompiles scalar programs.
        for key in keys ^ self._enabled_predicates:
            self._engine.monitor.enable_predicate(key, key in keys)
        self._enabled_predicates = keys

    def uninstall(self) -> None:
        """Remove all breakpoints from the engine."""
        self.is_installed = False
        for index in range(len(self._engine.plan.loops)):
            self._engine.set_breaks(index, ())
        self._engine.set_traps(())
        self._engine.set_hook(None)
        self._hits_at_install = self._engine.monitor.hits
        self._enable_predicates(set())

    def _make_hook(self, breakpoints: list[Breakpoint]) -> Callable[[int], bool]:
        test = self._test

        def hook(index: int) -> bool:
            hit = False
            for breakpoint_ in breakpoints:
                # No short circuit: a watchpoint must see every boundary.
                is_unevaluated = _is_unevaluated(breakpoint_)
                is_tested = index in breakpoint_.loops and (is_unevaluated or index not in breakpoint_.predicates)
                hit |= is_tested and test(breakpoint_, index)
                # Stop, so that the engine tests it from here on.
                hit |= is_unevaluated and not _is_unevaluated(breakpoint_) and bool(breakpoint_.predicates)
            return hit

        return hook


def _predicate_keys(breakpoint_: Breakpoint) -> list[int]:
    """The engine's predicates for a breakpoint, of all its loops."""
    return [key for keys in breakpoint_.predicates.values() for key in keys]


def _is_unevaluated(breakpoint_: Breakpoint) -> bool:
    """True for a condition that had no value yet: it is tested in Python until it has one, to record whether it ever
    had."""
    return breakpoint_.kind is Trigger.CONDITION and not breakpoint_.evaluated
