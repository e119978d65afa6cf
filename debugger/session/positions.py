"""The order of all positions of an execution, and running on to one of them.

A position (``Engine.position``) is pairs of a loop's ENTER and its iteration, outermost first, then the instruction
that runs next.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.engine.engine import Engine
from ...runtime.errors import InterruptError, LimitError, LoopdbgError

Position = tuple[int, ...]


class NonDeterminismError(LoopdbgError):
    """An execution did not come by a position that it was at before: something in it is not deterministic."""


def loop_levels(position: Position) -> list[tuple[int, int]]:
    """The pairs (ENTER, iteration) of a position, outermost first."""
    return [(position[k], position[k + 1]) for k in range(0, len(position) - 1, 2)]


def set_next_stop(engine: Engine, target: Position) -> int | None:
    """Ask the engine to stop on the way to a position ahead, at the latest there: a boundary, or (the result) an
    instruction that the caller has to set a trap at. Each such stop is one loop nearer."""
    here, wanted = loop_levels(engine.position), loop_levels(target)
    code, loops = engine.plan.code, engine.plan.loops
    level = 0
    while level < min(len(here), len(wanted)) and here[level] == wanted[level]:
        level += 1
    if level < len(wanted):
        enter, iteration = wanted[level]
        if level == len(wanted) - 1 and target[-1] < loops[code[enter].loop].head:
            # Before the boundary of its iteration: a condition is tested there.
            if not iteration or (level < len(here) and here[level] == (enter, iteration - 1)):
                return target[-1]
            iteration -= 1
        engine.stop_at(code[enter].loop, iteration)
        return None
    return target[-1] if target[-1] != len(code) - 1 else None


def run_to(engine: Engine, target: Position) -> None:
    """Run on to a position ahead that this execution was at before, whatever breakpoints there are.

    Raises:
        TravelError: the execution came out elsewhere.
        InterruptError: somebody called ``Engine.interrupt``.
        LimitError: a limit stands in between.
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


def nodes_until(engine: Engine, target: Position) -> Iterator[Position]:
    """Step through the nodes of the body that the engine stands in, up to a position ahead, inner loops as one node.

    Yields each position before the target at which a node would run next.
    """
    wanted = loop_levels(target)
    depth = len(wanted)
    code, loops = engine.plan.code, engine.plan.loops
    at_boundary = bool(wanted) and target[-1] == loops[code[wanted[-1][0]].loop].head
    engine.set_traps(())
    while True:
        if engine.pc != _innermost_head(engine) and len(engine.stack) <= depth:
            yield engine.position
        engine.clear_stops()
        engine.stop_at_node(depth)
        for k, (enter, iteration) in enumerate(wanted):
            last = at_boundary and k == depth - 1
            engine.stop_at(engine.plan.code[enter].loop, iteration if last else iteration + 1)
        _resume(engine)
        if engine.position >= target:
            engine.clear_stops()
            return


def _innermost_head(engine: Engine) -> int:
    return engine.plan.loops[engine.stack[-1]].head if engine.stack else -1


def _resume(engine: Engine) -> None:
    what, index = engine.resume()
    if what == "interrupt":
        raise InterruptError("interrupted while moving through time")
    if what == "limit":
        loop = engine.plan.loops[index].loop
        raise LimitError(f"loop '{loop.name}' reached its limit of iterations while moving through time")
