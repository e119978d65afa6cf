"""Positions of an execution, their order, and running to one of them.

A position (``Engine.position``) consists of pairs (ENTER instruction of a loop, iteration), outermost first, and the
next instruction.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, LimitError, LoopdbgError

Position = tuple[int, ...]


class NonDeterminismError(LoopdbgError):
    """A repeated execution did not reach a known position: the model is not deterministic."""


def loop_levels(position: Position) -> list[tuple[int, int]]:
    """The pairs (ENTER, iteration) of a position, outermost first."""
    return [(position[k], position[k + 1]) for k in range(0, len(position) - 1, 2)]


def set_next_stop(engine: Engine, target: Position) -> int | None:
    """Arm the next stop on the way to a later position: a boundary, or (the result) an instruction where the caller
    must set a trap. Each stop is one loop level nearer."""
    levels, target_levels = loop_levels(engine.position), loop_levels(target)
    code, loops = engine.plan.code, engine.plan.loops
    level = 0
    while level < min(len(levels), len(target_levels)) and levels[level] == target_levels[level]:
        level += 1
    if level < len(target_levels):
        enter, iteration = target_levels[level]
        if level == len(target_levels) - 1 and target[-1] < loops[code[enter].loop].head:
            # The target is in the loop test, before the boundary of its iteration.
            if not iteration or (level < len(levels) and levels[level] == (enter, iteration - 1)):
                return target[-1]
            iteration -= 1
        engine.stop_at(code[enter].loop, iteration)
        return None
    return target[-1] if target[-1] != len(code) - 1 else None


def run_to(engine: Engine, target: Position) -> None:
    """Run to a later position that this execution has passed before; ignores breakpoints.

    Raises:
        NonDeterminismError: the execution missed the position.
        InterruptError: ``Engine.interrupt`` was called.
        LimitError: a limit was reached on the way.
        ExecutionError: a node failed that did not fail before.
    """
    try:
        while engine.position < target:
            engine.clear_stops()
            trap = set_next_stop(engine, target)
            engine.set_traps(() if trap is None else (trap,))
            _resume(engine)
    finally:
        engine.clear_stops()
        engine.set_traps(())
    if engine.position != target:
        raise NonDeterminismError(f"the execution did not come by {target} again, but came to {engine.position}")


def step_nodes_until(engine: Engine, target: Position) -> Iterator[Position]:
    """Step through the nodes of the current body up to a later position; an inner loop is one node.

    Yields each position before the target at which a node runs next.
    """
    levels = loop_levels(target)
    depth = len(levels)
    code, loops = engine.plan.code, engine.plan.loops
    at_boundary = bool(levels) and target[-1] == loops[code[levels[-1][0]].loop].head
    engine.set_traps(())
    while True:
        if engine.pc != _innermost_head(engine) and len(engine.stack) <= depth:
            yield engine.position
        engine.clear_stops()
        engine.stop_at_node(depth)
        for k, (enter, iteration) in enumerate(levels):
            is_target = at_boundary and k == depth - 1
            engine.stop_at(engine.plan.code[enter].loop, iteration if is_target else iteration + 1)
        _resume(engine)
        if engine.position >= target:
            engine.clear_stops()
            return


def _innermost_head(engine: Engine) -> int:
    return engine.plan.loops[engine.stack[-1]].head if engine.stack else -1


def _resume(engine: Engine) -> None:
    event, index = engine.resume()
    if event == "interrupt":
        raise InterruptError("interrupted while moving through time")
    if event == "limit":
        loop = engine.plan.loops[index].loop
        raise LimitError(f"loop '{loop.name}' reached its limit of iterations while moving through time")
