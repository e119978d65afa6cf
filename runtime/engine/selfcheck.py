"""What builds with bounds checks compare: boundaries with what they have to leave behind, and what is fast with a plain
engine.

Nothing of this runs in other builds.
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
    """What a boundary has to leave behind."""

    iteration: int
    #: slot -> what the next iteration gets there.
    received: dict[int, Any]
    #: What each back edge carried before.
    previous: list[Any]
    #: Of each scan output: how many elements, and the newest.
    scans: list[tuple[int, Any]]


def expect_after_iteration(loops: Loops, index: int) -> ExpectedBoundary:
    """The boundary after the iteration that an engine has just run, its buffers prepared (docs/semantics.md 2.1)."""
    plan = loops.plan.loops[index]
    iteration = loops.state(index)[0]
    got = {e.param: loops.memory.value(e.result) for e in plan.edges}
    got.update({target: loops.memory.value(source) for source, target in plan.saved_inputs})
    if plan.yielded >= 0 and plan.condition_input >= 0:
        received = loops.memory.value(plan.condition_input)
        got[plan.condition_input] = np.full(received.shape, bool(loops.memory.value(plan.yielded).reshape(())))
    return ExpectedBoundary(
        iteration + 1,
        got,
        [loops.memory.value(e.param) for e in plan.edges],
        [(iteration + 1, loops.memory.value(scan.result)) for scan in plan.scans],
    )


def expect_on_entry(loops: Loops, index: int) -> ExpectedBoundary:
    """The boundary before iteration 0 of a loop that an engine has just entered."""
    plan = loops.plan.loops[index]
    got = {e.param: loops.memory.value(e.initial) for e in plan.edges if e.initial >= 0}
    if plan.condition_input >= 0:
        begins = True if plan.initial_condition < 0 else bool(loops.memory.value(plan.initial_condition).reshape(()))
        got[plan.condition_input] = np.full(loops.memory.value(plan.condition_input).shape, begins)
    return ExpectedBoundary(0, got, [], [(0, None) for _ in plan.scans])


def check_boundary(loops: Loops, index: int, expected: ExpectedBoundary) -> None:
    """Look at a boundary that was just crossed.

    Raises:
        AssertionError: something is not as it has to be; a fault of ours.
    """
    plan = loops.plan.loops[index]
    where = loops.memory.describe_loop(index)
    assert loops.state(index)[0] == expected.iteration, where
    for slot, value in expected.received.items():
        assert bitwise_equal(loops.memory.value(slot), value), (
            f"{where}: '{loops.plan.slots[slot].name}' was not handed on as it was"
        )
    for k, value in enumerate(expected.previous):
        assert bitwise_equal(loops.previous(index, k), value), f"{where}: what back edge {k} carried before is lost"
    for k, (count, value) in enumerate(expected.scans):
        have, _, newest = loops.scans.view(index, k, 1)
        assert have == count, f"{where}: '{plan.scans[k].output.outer.name}' has {have} elements of {count}"
        if count:
            taken = newest[-1:].reshape(newest.shape[1:])
            assert bitwise_equal(taken, value), f"{where}: a scan output took another element"


def execution_state(engine: Any) -> list[Any]:
    """All that an execution consists of, but for values that are in no slot any more."""
    loops = engine.loops
    engine.checkpoints.take()  # everything that was left out and can be had is there then
    entries = [(loops.state(k), loops.totals(k)[:3]) for k in range(len(loops.plan.loops))]
    scans = [
        loops.scans.view(loop.index, k, 1)[0] and loops.scans.whole(loop.index, k).copy()
        for loop in loops.plan.loops
        if loops.state(loop.index)[4]  # once it was left, its outputs have them
        for k in range(len(loop.scans))
    ]
    # Of an inner loop that ended nobody sees the results of its last iteration: crossing exchanged them for what was
    # carried before, and a program does not.
    left = {
        edge.result
        for loop in loops.plan.loops
        if loop.parent >= 0 and loops.state(loop.index)[3] is not None
        for edge in loop.edges
        if edge.swap
    }
    # Nor the last part of a sliced input: what it is a part of may be another by then.
    left.update(sliced.inner for loop in loops.plan.loops if not loops.state(loop.index)[4] for sliced in loop.slices)
    # Nor what a branch computed that was not taken since.
    branches = 0
    for instruction in loops.plan.code:
        branches += (instruction.kind is Opcode.BRANCH) - (instruction.kind is Opcode.JOIN)
        left.update(instruction.outputs if branches and instruction.kind is Opcode.NODE else ())
    left |= engine.checkpoints.gone
    memory = engine.memory
    values = (memory.value(k) if memory.has_value(k) and k not in left else None for k in range(len(loops.plan.slots)))
    return [loops.position, *entries, *values, *scans]


def check_against_baseline(engine: Any, index: int) -> None:
    """Let an engine run two iterations of a loop, and a plain engine the same two.

    Raises:
        LoopdbgError: both failed.
        AssertionError: they differ; a fault of ours.
    """
    iteration = engine.loop_state(index)[0] + 2
    twin = type(engine)(engine.plan, plain=True)
    twin.binder.seed = engine.binder.seed
    twin.checkpoints.restore(engine.checkpoints.take())
    twin.clear_stops()
    twin.copy_limits(engine)
    try:
        plain = [twin.run_to(index, iteration), *execution_state(twin)]
    except LoopdbgError as error:
        plain = [str(error)]
    try:
        reached = engine.run_to(index, iteration)
        if reached[0] == "interrupt":
            engine.interrupt()  # whoever runs the engine is to hear of it
        if engine.stop_requested:
            return  # meanwhile: the plain one was not asked, and stands elsewhere
        fast = [reached, *execution_state(engine)]
    except LoopdbgError as error:
        assert plain == [str(error)], f"{error}, and not {plain[0]}"
        raise
    differing = [
        k for k, (a, b) in enumerate(zip(fast, plain, strict=False)) if a is not None and not bitwise_equal(a, b)
    ]
    assert len(fast) == len(plain) and not differing, f"{engine.memory.at(index)}: what is fast differs in {differing}"


def bitwise_equal(a: Any, b: Any) -> bool:
    """To the bit."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(bitwise_equal, a, b))
    return type(a) is type(b) and bool(a == b)
