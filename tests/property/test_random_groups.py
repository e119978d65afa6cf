"""Random bodies over large tensors: groups that run block by block give what every node by itself gives, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from engine_state import step
from fusing import by_nodes, members, same
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from models import model
from strategies.large import programs


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_groups_give_what_nodes_give(program: tuple[str, dict[str, Any]]) -> None:
    text, inputs = program
    m = model(text)
    expected = by_nodes(m, inputs)
    same(m.run(inputs), expected)
    same(m.run(inputs), expected)  # in groups from the first iteration on
    event(f"{len(members(m))} groups")
    event(f"{sum(map(len, members(m)))} nodes in groups")
    seen = m.run(inputs, on_iteration=lambda frame: None)
    same(seen, expected)


MOVES = st.lists(st.sampled_from(["on", "boundary", "boundary", "node", "look", "save", "back", "double"]), max_size=14)


def values(engine: Engine) -> dict[str, Any]:
    index = engine.stack[-1] if engine.stack else 0
    return dict(Frame(engine, index).values) if engine.loops.totals(index)[1] else {}


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), MOVES)
def test_stops_show_what_nodes_give(program: tuple[str, dict[str, Any]], moves: list[str]) -> None:
    """Wherever an execution stands, all values are those of one whose nodes each run by themselves."""
    text, inputs = program
    m = model(text)
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
    event(f"ran in groups: {any(runs for _, runs in engines[0].groups)}")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_hooks_see_what_nodes_give(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    m = model(text)
    with np.errstate(all="ignore"):
        seen: list[list[dict[str, Any]]] = []
        for fuse in (True, False):
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
