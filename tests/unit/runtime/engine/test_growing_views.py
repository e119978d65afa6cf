"""Nodes between what grows and its readers: when their copies are elided, and that they then stay so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine_state import step
from floors import fast, turn
from fusing import by_nodes, same
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.engine.fast.views import readers, views
from models import model

from .growing import F, loop, numbers

STACKED = loop(
    """keys = Gather <axis = 0> (past, zero)
    values = Gather <axis = 0> (past, one)
    f = Cast <to = 1> (i)
    row = Add (e, f)
    more_keys = Concat <axis = 2> (keys, row)
    more_values = Concat <axis = 2> (values, row)
    a = Unsqueeze (more_keys, first)
    b2 = Unsqueeze (more_values, first)
    present = Concat <axis = 0> (a, b2)
    s = ReduceMax <keepdims = 0> (more_keys)""",
    "float[2,1,4,n,8] past",
    "float[2,1,4,m,8] present; float s",
    "float[2,1,4,k,8] v0; float[1,4,1,8] e",
    "float[2,1,4,l,8] o0; float[o] o1",
    "<int64 zero = {0}, int64 one = {1}, int64[1] first = {0}>",
)
PASSED = ["a", "b2", "keys", "values"]


def inputs(trips: int, length: int = 0) -> dict[str, Any]:
    return {"M": np.array(trips), "v0": numbers(2, 1, 4, length, 8), "e": numbers(1, 4, 1, 8)}


def names(m: Any) -> list[str]:
    engine = m._engine
    return sorted(engine.plan.slots[engine.plan.code[pc].outputs[0]].name for pc in fast(engine).views.positions)


def test_a_loop_has_to_run_often_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one run or several; and then nothing is bound any more, though each run begins with nothing."""
    m = model(STACKED)
    given = inputs(90)
    expected = by_nodes(m, given)
    for _ in range(2):
        same(m.run(given), expected)
        assert names(m) == []
    for _ in range(4):
        same(m.run(given), expected)
    assert names(m) == PASSED
    monkeypatch.setattr(readers, "bind_through", None)
    same(m.run(given), expected)
    assert names(m) == PASSED


@pytest.mark.parametrize("length", [0, 1, 5])
def test_it_begins_anew_with_any_length(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(views, "patience", 0)
    m = model(STACKED)
    # Where nodes are bound for one length alone, it is looked at again later and later.
    for trips in (20, 3, 20, 1, 200):
        given = inputs(trips, length)
        same(m.run(given), by_nodes(m, given))
    assert names(m) == PASSED
    given = inputs(12, 40)
    same(m.run(given), by_nodes(m, given))


def test_a_value_by_hand_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that look through a node read its slot again."""
    monkeypatch.setattr(views, "patience", 0)
    m = model(STACKED)
    slot = next(k for k, value in enumerate(m.plan.slots) if value.name == "keys")
    results = []
    for fuse in (True, False):
        engine = Engine(m.plan)
        turn(engine, fuse=fuse)
        engine.start(m.check(inputs(20, 2)))
        engine.stop_at(0, 12)
        engine.resume()
        assert bool(fast(engine).views.positions) == fuse
        for _ in range(3):
            step(engine)
        engine.changes.set(slot, np.full(engine.value(slot).shape, 3, F))
        engine.clear_stops()
        engine.resume()
        results.append(m._inside.results(engine))
    same(*results)
