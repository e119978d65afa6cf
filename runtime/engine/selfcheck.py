"""What builds with bounds checks compare: the fast ways with a plain statement of what they have to do.

Nothing of this runs in other builds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import LoopdbgError

#: An engine, which imports this file.
Engine = Any


@dataclass
class Expected:
    """What a boundary has to leave behind."""

    iteration: int
    #: slot -> what the next iteration gets there.
    got: dict[int, Any]
    #: What each back edge carried before.
    previous: list[Any]
    #: Of each scan output: how many elements, and the newest.
    scans: list[tuple[int, Any]]


def after_iteration(engine: Engine, index: int) -> Expected:
    """The boundary after the iteration that an engine has just run, its buffers prepared (SEMANTICS 0.6)."""
    plan = engine.plan.loops[index]
    iteration = engine.loop_state(index)[0]
    got = {e.param: engine.value(e.result) for e in plan.edges}
    got.update({target: engine.value(source) for source, target in plan.kept})
    if plan.yielded >= 0 and plan.condition_input >= 0:
        received = engine.value(plan.condition_input)
        got[plan.condition_input] = np.full(received.shape, bool(engine.value(plan.yielded).reshape(())))
    return Expected(
        iteration + 1,
        got,
        [engine.value(e.param) for e in plan.edges],
        [(iteration + 1, engine.value(scan.result)) for scan in plan.scans],
    )


def on_entry(engine: Engine, index: int) -> Expected:
    """The boundary before iteration 0 of a loop that an engine has just entered."""
    plan = engine.plan.loops[index]
    got = {e.param: engine.value(e.initial) for e in plan.edges if e.initial >= 0}
    if plan.condition_input >= 0:
        begins = True if plan.initial_condition < 0 else bool(engine.value(plan.initial_condition).reshape(()))
        got[plan.condition_input] = np.full(engine.value(plan.condition_input).shape, begins)
    return Expected(0, got, [], [(0, None) for _ in plan.scans])


def compare(engine: Engine, index: int, expected: Expected) -> None:
    """Look at a boundary that was just crossed.

    Raises:
        AssertionError: something is not as it has to be; a fault of ours.
    """
    plan = engine.plan.loops[index]
    where = engine.at(index)
    assert engine.loop_state(index)[0] == expected.iteration, where
    for slot, value in expected.got.items():
        assert same(engine.value(slot), value), f"{where}: '{engine.plan.slots[slot].name}' was not handed on as it was"
    for k, value in enumerate(expected.previous):
        assert same(engine.previous(index, k), value), f"{where}: what back edge {k} carried before is lost"
    for k, (count, value) in enumerate(expected.scans):
        have, _, newest = engine.scan_view(index, k, 1)
        assert have == count, f"{where}: '{plan.scans[k].output.outer.name}' has {have} elements of {count}"
        if count:
            taken = newest[-1:].reshape(newest.shape[1:])
            assert same(taken, value), f"{where}: a scan output took another element"


def state(engine: Engine) -> list[Any]:
    """All that an execution consists of."""
    loops = [(engine.loop_state(k), engine.totals(k)[:3]) for k in range(len(engine.plan.loops))]
    scans = [
        [engine.scan_view(loop.index, k, 1)[0] and engine.scanned(loop.index, k).copy() for k in range(len(loop.scans))]
        for loop in engine.plan.loops
    ]
    return [engine.position, *loops, *(engine.value(k) for k in range(len(engine.plan.slots))), *scans]


def outcome(engine: Engine, stop: tuple[int, int]) -> list[Any]:
    """Where an engine gets to by a boundary, and what it has then; or its error."""
    try:
        return [engine.run_to(*stop), *state(engine)]
    except LoopdbgError as error:
        return [str(error)]


def program(engine: Engine, index: int) -> None:
    """Run two iterations of a loop by its scalar program and without one, and put the engine back.

    Raises:
        AssertionError: they differ; a fault of ours.
    """
    begin = engine.save()
    stop = index, engine.loop_state(index)[0] + 2
    fast = outcome(engine, stop)
    engine.restore(begin)
    with engine.without_programs():
        plain = outcome(engine, stop)
        engine.restore(begin)
    differing = [k for k, (a, b) in enumerate(zip(fast, plain, strict=False)) if not same(a, b)]
    assert len(fast) == len(plain) and not differing, f"{engine.at(index)}: its program differs in {differing}"


def same(a: Any, b: Any) -> bool:
    """To the bit."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)
