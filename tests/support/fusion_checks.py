"""For tests of fusion and view elision: the same loop run in groups, node by node, and by plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopdbg
from comparable_values import all_exact_bits
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from optimizer_access import optimizer_attribute, optimizer_of, start_engine


def group_members(m: loopdbg.Model) -> list[list[str]]:
    """The first outputs of the nodes in each group of a model that ran; groups that never ran are left out."""
    engine = m._engine
    assert engine is not None
    return [
        [m.plan.slots[m.plan.code[pc].outputs[0]].name for pc in sorted(group.members)]
        for group, runs in optimizer_of(engine).groups
        if runs
    ]


def run_node_by_node(m: loopdbg.Model, inputs: dict[str, Any], native: bool = True) -> dict[str, Any]:
    """The outputs of a run without fusion."""
    engine = start_engine(m, inputs, native=native, fuse=False)
    engine.resume()
    assert not optimizer_attribute(engine, "groups")
    return engine.results()


def bits_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Whether two values are equal bit for bit."""
    assert all_exact_bits(a) == all_exact_bits(b)


def check_fused_run(m: loopdbg.Model, inputs: dict[str, Any], python: bool = True) -> list[list[str]]:
    """Run a model in every mode and compare; returns its group members."""
    expected = run_node_by_node(m, inputs)
    if python:
        bits_equal(run_node_by_node(m, inputs, native=False), expected)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs), expected)  # in groups from the first iteration on
    return group_members(m)


def check_hooks_agree(m: loopdbg.Model, inputs: dict[str, Any], every: int) -> Engine:
    """Check that a hook sees the same at its boundaries with and without fusion."""
    with np.errstate(all="ignore"):
        seen: list[list[dict[str, Any]]] = []
        for fuse in (False, True):
            engine = start_engine(m, inputs, fuse=fuse)
            kept: list[dict[str, Any]] = []

            def observe(index: int, engine: Engine = engine, kept: list[dict[str, Any]] = kept) -> None:
                if engine.loop_state(index)[0] % every == 0:
                    kept.append(dict(Frame(engine, index).values))

            engine.set_hook(observe)
            engine.resume()
            seen.append(kept)
    assert len(seen[0]) == len(seen[1])
    for a, b in zip(*seen, strict=True):
        bits_equal(a, b)
    return engine
