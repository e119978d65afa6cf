"""Checks of builds with bounds checks: boundaries against their expected results, and the optimized tier against the
baseline tier.

Other builds run none of this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LoopdbgError
from ..plan.plan import Opcode
from ..record import record
from .baseline.loops import Loops


@record
class ExpectedBoundary:
    """The expected state after a boundary."""

    iteration: int
    #: slot -> its value in the next iteration.
    received: dict[int, Any]
    #: The previous value of each back edge.
    previous: list[Any]
    #: Of each scan output: number of elements, and the newest.
    scans: list[tuple[int, Any]]


def expected_boundary_after_iteration(loops: Loops, index: int) -> ExpectedBoundary:
    """The boundary after the iteration that an engine has just run, its buffers prepared (docs/semantics.md 2.1)."""
    plan = loops.plan.loops[index]
    iteration = loops.state(index)[0]
    received = {e.param: loops.memory.value(e.result) for e in plan.edges}
    received.update({target: loops.memory.value(source) for source, target in plan.saved_inputs})
    if plan.yielded >= 0 and plan.condition_input >= 0:
        current = loops.memory.value(plan.condition_input)
        received[plan.condition_input] = np.full(current.shape, bool(loops.memory.value(plan.yielded).reshape(())))
    return ExpectedBoundary(
        iteration + 1,
        received,
        [loops.memory.value(e.param) for e in plan.edges],
        [(iteration + 1, loops.memory.value(scan.result)) for scan in plan.scans],
    )


def expected_boundary_on_entry(loops: Loops, index: int) -> ExpectedBoundary:
    """The boundary before iteration 0 of a loop that an engine has just entered."""
    plan = loops.plan.loops[index]
    received = {e.param: loops.memory.value(e.initial) for e in plan.edges if e.initial >= 0}
    if plan.condition_input >= 0:
        condition = True if plan.initial_condition < 0 else bool(loops.memory.value(plan.initial_condition).reshape(()))
        received[plan.condition_input] = np.full(loops.memory.value(plan.condition_input).shape, condition)
    return ExpectedBoundary(0, received, [], [(0, None) for _ in plan.scans])


def check_boundary(loops: Loops, index: int, expected: ExpectedBoundary) -> None:
    """Check a boundary that was just crossed.

    Raises:
        AssertionError: it differs from the expected one; a bug in the engine.
    """
    plan = loops.plan.loops[index]
    where = loops.memory.describe_loop(index)
    assert loops.state(index)[0] == expected.iteration, where
    for slot, value in expected.received.items():
        assert bitwise_equal(loops.memory.value(slot), value), (
            f"{where}: '{loops.plan.slots[slot].name}' was changed in transit"
        )
    for k, value in enumerate(expected.previous):
        assert bitwise_equal(loops.previous(index, k), value), f"{where}: what back edge {k} carried before is lost"
    for k, (count, value) in enumerate(expected.scans):
        actual, _, newest = loops.scans.view(index, k, 1)
        assert actual == count, f"{where}: '{plan.scans[k].output.outer.name}' has {actual} elements of {count}"
        if count:
            element = newest[-1:].reshape(newest.shape[1:])
            assert bitwise_equal(element, value), f"{where}: a scan output took another element"


def execution_state(engine: Any) -> list[Any]:
    """All observable state of an execution."""
    loops = engine.loops
    engine.checkpoints.save()  # writes all omitted values that are available
    entries = [(loops.state(k), loops.totals(k)[:3]) for k in range(len(loops.plan.loops))]
    scans = [
        loops.scans.view(loop.index, k, 1)[0] and loops.scans.output_so_far(loop.index, k).copy()
        for loop in loops.plan.loops
        if loops.state(loop.index)[4]  # afterwards they are in its outputs
        for k in range(len(loop.scans))
    ]
    # For an inner loop that ended, ignore the results of its last iteration: crossing exchanged them for the previous
    # values, and a program does not.
    stale = {
        edge.result
        for loop in loops.plan.loops
        if loop.parent >= 0 and loops.state(loop.index)[3] is not None
        for edge in loop.edges
        if edge.swap
    }
    # Ignore the last part of a sliced input: its outer tensor may have changed.
    stale.update(sliced.inner for loop in loops.plan.loops if not loops.state(loop.index)[4] for sliced in loop.slices)
    # Ignore values of a branch that was not taken since.
    branches = 0
    for instruction in loops.plan.code:
        branches += (instruction.kind is Opcode.BRANCH) - (instruction.kind is Opcode.JOIN)
        stale.update(instruction.outputs if branches and instruction.kind is Opcode.NODE else ())
    stale |= engine.checkpoints.unavailable_slots
    memory = engine.memory
    values = (memory.value(k) if memory.has_value(k) and k not in stale else None for k in range(len(loops.plan.slots)))
    return [loops.position, *entries, *values, *scans]


def check_against_baseline(engine: Any, index: int) -> None:
    """Run two iterations of a loop on an engine, and the same two on a baseline engine.

    Raises:
        LoopdbgError: both failed.
        AssertionError: they differ; a bug in the engine.
    """
    iteration = engine.loop_state(index)[0] + 2
    twin = type(engine)(engine.plan, baseline=True)
    twin.binder.seed = engine.binder.seed
    twin.checkpoints.restore(engine.checkpoints.save())
    twin.clear_stops()
    twin.copy_limits(engine)
    try:
        baseline = [twin.run_to(index, iteration), *execution_state(twin)]
    except LoopdbgError as error:
        baseline = [str(error)]
    try:
        stop = engine.run_to(index, iteration)
        if stop[0] == "interrupt":
            engine.interrupt()  # keep the interrupt for the caller
        if engine.stop_requested:
            return  # the user stopped the engine before that boundary
        optimized = [stop, *execution_state(engine)]
    except LoopdbgError as error:
        assert baseline == [str(error)], f"{error}, and not {baseline[0]}"
        raise
    pairs = enumerate(zip(optimized, baseline, strict=False))
    differing = [k for k, (a, b) in pairs if a is not None and not bitwise_equal(a, b)]
    where = engine.memory.describe_loop(index)
    assert len(optimized) == len(baseline) and not differing, f"{where}: the tiers differ in {differing}"


def bitwise_equal(a: Any, b: Any) -> bool:
    """Are two values equal bit for bit?"""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(bitwise_equal, a, b))
    return type(a) is type(b) and bool(a == b)
