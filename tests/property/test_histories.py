"""Histories of random loops are what looking at every boundary collects, however the loops are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import loopdbg
from engine_state import resume
from examples import tried
from floors import turn
from histories import check, collect, follow_all
from loopdbg.runtime.engine.engine import Engine
from models import model
from plain import all_bits
from random_programs import load
from strategies import lengths, scalars
from strategies.models import cases
from strategies.programs import Program
from strategies.vectors import vector_programs

LIMIT = 700
RELAXED = tried(60, suppress_health_check=list(HealthCheck))


def runs(m: loopdbg.Model, inputs: dict[str, Any], stops: list[int]) -> None:
    """Run in all ways, and compare what was noted with what is collected by looking."""
    given_values = m.check(inputs)
    plain = Engine(m.plan)
    turn(plain, hot_after=-1, fuse=False)
    found, ended = collect(plain, given_values, LIMIT)
    results = all_bits(plain.results()) if ended[0] == "end" else {}
    for hot_after, fuse in ((-1, False), (1, True), (20, True)):
        engine = Engine(m.plan)
        turn(engine, hot_after=hot_after, fuse=fuse)
        follow_all(engine)
        for _ in range(2):  # the second time everything is bound
            engine.start(given_values)
            engine.set_limits(LIMIT)
            assert resume(engine) == ended
            # Looking changes nothing.
            if results:
                assert all_bits(engine.results()) == results
            check(engine, found)
    travel(engine, found, ended, given_values, stops)


def travel(engine: Engine, found: Any, ended: Any, given_values: Any, stops: list[int]) -> None:
    """With stops on the way, and from each of them once more."""
    engine.start(given_values)
    engine.set_limits(LIMIT)
    kept = []
    for more in stops:
        engine.clear_stops()
        for index in engine.stack[:1] or [0]:
            engine.stop_at(index, engine.loop_state(index)[0] + more)
        if resume(engine)[0] != "boundary":
            break
        kept.append((engine.checkpoints.take(), seen(engine)))
    for checkpoint, then in reversed(kept):
        engine.checkpoints.restore(checkpoint)
        assert seen(engine) == then
        engine.clear_stops()
        assert resume(engine) == ended
        check(engine, found)


def seen(engine: Engine) -> str:
    """Everything that histories show now."""
    views = [
        (index, entry, engine.histories.view(index, entry))
        for index in range(len(engine.plan.loops))
        for entry in engine.histories.entries(index)
    ]
    return repr([(index, entry, v.rows, v.width, v.stats.tolist()) for index, entry, v in views if v is not None])


STOPS = st.lists(st.integers(1, 200), max_size=5)


@RELAXED
@given(scalars.programs(), STOPS)
def test_scalar_loops(program: tuple[str, dict[str, Any]], stops: list[int]) -> None:
    text, inputs = program
    with np.errstate(all="ignore"):
        runs(model(text), inputs, stops)


@RELAXED
@given(vector_programs(), STOPS)
def test_loops_over_small_tensors(program: tuple[str, dict[str, Any]], stops: list[int]) -> None:
    text, inputs = program
    with np.errstate(all="ignore"):
        runs(model(text), inputs, stops)


@RELAXED
@given(lengths.programs(), STOPS)
def test_growing_loops(program: Any, stops: list[int]) -> None:
    runs(model(program.text), program.inputs, stops)


@pytest.mark.parametrize(
    "features",
    [(), ("nested", "branches"), ("nested", "growing", "rows"), ("hot", "nested"), ("strings", "delayed", "direct")],
)
@tried(25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_loops_of_all_kinds(features: tuple[str, ...], data: st.DataObject) -> None:
    program: Program
    program, first, _ = data.draw(cases(features))
    stops = data.draw(STOPS)
    with np.errstate(all="ignore"):
        runs(load(program), first, stops)
