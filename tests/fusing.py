"""For tests of groups and views: the same loop run in groups, node by node, and by NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopdbg
from floors import fast, says, turn
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from plain import all_bits


def members(m: loopdbg.Model) -> list[list[str]]:
    """First outputs of the nodes in each group of a model that ran; groups that never ran are left out."""
    engine = m._engine
    assert engine is not None
    return [
        [m.plan.slots[m.plan.code[pc].outputs[0]].name for pc in sorted(group.members)]
        for group, runs in fast(engine).groups
        if runs
    ]


def by_nodes(m: loopdbg.Model, inputs: dict[str, Any], native: bool = True) -> dict[str, Any]:
    """The outputs of a run in which every node runs by itself."""
    engine = Engine(m.plan)
    engine.binder.native = native
    turn(engine, fuse=False)
    engine.start(m.check(inputs))
    engine.resume()
    assert not says(engine, "groups")
    return m._inside.results(engine)


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Equal to the bit."""
    assert all_bits(a) == all_bits(b)


def check(m: loopdbg.Model, inputs: dict[str, Any], python: bool = True) -> list[list[str]]:
    """Run a model in every way and compare; returns ``members``."""
    expected = by_nodes(m, inputs)
    if python:
        same(by_nodes(m, inputs, native=False), expected)
    same(m.run(inputs), expected)
    same(m.run(inputs), expected)  # in groups from the first iteration on
    return members(m)


def hooks_agree(m: loopdbg.Model, inputs: dict[str, Any], every: int) -> Engine:
    """A hook sees the same at its boundaries."""
    with np.errstate(all="ignore"):
        seen: list[list[dict[str, Any]]] = []
        for fuse in (False, True):
            engine = Engine(m.plan)
            turn(engine, fuse=fuse)
            engine.start(m.check(inputs))
            kept: list[dict[str, Any]] = []

            def look(index: int, engine: Engine = engine, kept: list[dict[str, Any]] = kept) -> None:
                if engine.loop_state(index)[0] % every == 0:
                    kept.append(dict(Frame(engine, index).values))

            engine.set_hook(look)
            engine.resume()
            seen.append(kept)
    assert len(seen[0]) == len(seen[1])
    for a, b in zip(*seen, strict=True):
        same(a, b)
    return engine
