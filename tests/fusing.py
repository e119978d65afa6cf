"""For tests of groups and views: the same loop run in groups, node by node, and by NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import loopdbg
from engine_state import step
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame

#: What a person does with an execution.
MOVES = st.lists(st.sampled_from(["on", "boundary", "boundary", "node", "look", "save", "back", "double"]), max_size=14)


def members(m: loopdbg.Model) -> list[list[str]]:
    """First outputs of the nodes in each group of a model that ran; groups that never ran are left out."""
    engine = m._engine
    assert engine is not None
    return [
        [m.plan.slots[m.plan.code[pc].outputs[0]].name for pc in sorted(group.members)]
        for group, runs in engine.groups
        if runs
    ]


def by_nodes(m: loopdbg.Model, inputs: dict[str, Any], native: bool = True) -> dict[str, Any]:
    """The outputs of a run in which every node runs by itself."""
    engine = Engine(m.plan)
    engine.binder.native, engine.fuse = native, False
    engine.start(m.check(inputs))
    engine.resume()
    assert not engine.groups
    return m.results(engine)


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    """Equal to the bit; only which NaN it is does not count."""
    assert list(a) == list(b)
    for name, value in a.items():
        other = b[name]
        assert (value.dtype, value.shape) == (other.dtype, other.shape), name
        if value.dtype.kind == "f":
            value, other = (np.where(np.isnan(x), np.array(np.nan, x.dtype), x) for x in (value, other))
        assert value.tobytes() == other.tobytes(), name


def check(m: loopdbg.Model, inputs: dict[str, Any], python: bool = True) -> list[list[str]]:
    """Run a model in every way and compare; returns ``members``."""
    expected = by_nodes(m, inputs)
    if python:
        same(by_nodes(m, inputs, native=False), expected)
    same(m.run(inputs), expected)
    same(m.run(inputs), expected)  # in groups from the first iteration on
    return members(m)


def values(engine: Engine) -> dict[str, Any]:
    """What the innermost loop's frame shows, once an iteration ran."""
    index = engine.stack[-1] if engine.stack else 0
    return dict(Frame(engine, index).values) if engine.loops.totals(index)[1] else {}


def stops_agree(m: loopdbg.Model, inputs: dict[str, Any], moves: list[str]) -> Engine:
    """Wherever an execution stands, all values are those of one whose nodes each run by themselves."""
    engines = [Engine(m.plan), Engine(m.plan)]
    engines[1].fuse = False
    kept = []
    with np.errstate(all="ignore"):
        for engine in engines:
            engine.start(m.check(inputs))
        for what in moves:
            if what == "save":
                kept.append([engine.checkpoints.take() for engine in engines])
            elif what == "back" and kept:
                for engine, checkpoint in zip(engines, kept[-1], strict=True):
                    engine.checkpoints.restore(checkpoint)
            elif what == "double" and engines[0].stack:
                for engine in engines:
                    slot = engine.plan.loops[engine.stack[-1]].edges[0].param
                    engine.changes.set(slot, engine.value(slot) * 2)
            elif what == "on":
                for engine in engines:
                    engine.clear_stops()
                    for index in engine.stack[:1]:
                        engine.stop_at(index, engine.loop_state(index)[0] + 3)
                    engine.resume()
            elif what in ("boundary", "node"):
                for engine in engines:
                    step(engine, what == "node")
            if what in ("look", "back", "node"):
                assert engines[0].pc == engines[1].pc
                same(values(engines[0]), values(engines[1]))
        assert engines[0].pc == engines[1].pc
        same(values(engines[0]), values(engines[1]))
        for engine in engines:
            engine.clear_stops()
            engine.resume()
        same(values(engines[0]), values(engines[1]))
        same(m.results(engines[0]), m.results(engines[1]))
    return engines[0]


def hooks_agree(m: loopdbg.Model, inputs: dict[str, Any], every: int) -> Engine:
    """A hook sees the same at its boundaries."""
    with np.errstate(all="ignore"):
        seen: list[list[dict[str, Any]]] = []
        for fuse in (False, True):
            engine = Engine(m.plan)
            engine.fuse = fuse
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
