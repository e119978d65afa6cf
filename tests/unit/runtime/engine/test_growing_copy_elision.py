"""Nodes between what grows and its readers: when their copies are elided, and that they then stay so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine_state import slot_index, step
from fusion_checks import bits_equal, run_node_by_node
from loopdbg.runtime.engine.optimized.copy_elision import copy_elision, view_readers
from optimizer_access import optimizer_of, start_engine
from text_models import model

from .growing_loops import F, loop, numbers

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
    return sorted(
        engine.plan.slots[engine.plan.code[pc].outputs[0]].name
        for pc in optimizer_of(engine).copy_elision.elided_positions
    )


def test_a_loop_has_to_run_often_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one run or several; and then nothing is bound any more, though each run begins with nothing."""
    m = model(STACKED)
    feeds = inputs(90)
    expected = run_node_by_node(m, feeds)
    for _ in range(2):
        bits_equal(m.run(feeds), expected)
        assert names(m) == []
    for _ in range(4):
        bits_equal(m.run(feeds), expected)
    assert names(m) == PASSED
    monkeypatch.setattr(view_readers, "bind_with_views", None)
    bits_equal(m.run(feeds), expected)
    assert names(m) == PASSED


@pytest.mark.parametrize("length", [0, 1, 5])
def test_restart_with_any_length(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(copy_elision, "range_retry_boundaries", 0)
    m = model(STACKED)
    # Where nodes are bound for one length alone, it is looked at again later and later.
    for trips in (20, 3, 20, 1, 200):
        feeds = inputs(trips, length)
        bits_equal(m.run(feeds), run_node_by_node(m, feeds))
    assert names(m) == PASSED
    feeds = inputs(12, 40)
    bits_equal(m.run(feeds), run_node_by_node(m, feeds))


def test_edited_value_is_read_by_elided_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers that look through a node read its slot again."""
    monkeypatch.setattr(copy_elision, "range_retry_boundaries", 0)
    m = model(STACKED)
    slot = slot_index(m, "keys")
    results = []
    for fuse in (True, False):
        engine = start_engine(m, inputs(20, 2), fuse=fuse)
        engine.stop_at(0, 12)
        engine.resume()
        assert bool(optimizer_of(engine).copy_elision.elided_positions) == fuse
        for _ in range(3):
            step(engine)
        engine.editor.set(slot, np.full(engine.value(slot).shape, 3, F))
        engine.clear_stops()
        engine.resume()
        results.append(engine.results())
    bits_equal(*results)
