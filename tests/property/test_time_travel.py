"""Random walks in time: the same move from the same position ends in the same state, however the session got there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import loopdbg
from engine_state import resume, step, visible_state
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import set_optimizer_options
from strategies.scalar_loops import programs
from text_models import model

from ..unit.runtime.engine.test_checkpoints import MODELS

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("boundary"), st.just(0)),
        st.tuples(st.just("node"), st.just(0)),
        st.tuples(st.just("far"), st.integers(1, 25)),
        st.tuples(st.just("save"), st.just(0)),
        st.tuples(st.just("back"), st.integers(0, 20)),
        st.tuples(st.just("elsewhere"), st.integers(0, 20)),
        st.tuples(st.just("condition"), st.booleans()),
        st.tuples(st.just("double"), st.integers(0, 3)),
    ),
    min_size=10,
    max_size=60,
)


def move(engine: Engine, what: str, number: int) -> Any:
    """Make one move; returns its message."""
    stack = engine.stack
    if what in ("boundary", "node"):
        return step(engine, what == "node")
    if what == "far":
        engine.clear_stops()
        for index in stack[:1]:
            engine.stop_at(index, engine.loop_state(index)[0] + number)
        return resume(engine)
    try:
        if what == "condition" and stack:
            engine.editor.set_condition(stack[-1], bool(number))
        elif what == "double" and stack:
            edges = engine.plan.loops[stack[-1]].edges
            slot = edges[number % len(edges)].param if edges else -1
            value = engine.value(slot) if slot >= 0 else None
            if isinstance(value, np.ndarray) and not value.dtype.hasobject:
                engine.editor.set(slot, value + value)
    except loopdbg.UsageError as error:
        return str(error)
    return None


def walk(m: loopdbg.Model, inputs: dict[str, Any], moves: list[tuple[str, int]]) -> None:
    known: dict[tuple[str, str, int], str] = {}
    engines = [Engine(m.plan), Engine(m.plan)]
    for engine, hot_after in zip(engines, (-1, 1), strict=True):
        set_optimizer_options(engine, hot_after=hot_after)
        engine.start(m.check(inputs))
        engine.set_limits(40)
    engine = engines[0]
    kept = [(engine.checkpoints.save(), repr(visible_state(engine)))]
    here = kept[0][1]
    for what, number in moves:
        if what == "save":
            kept.append((engine.checkpoints.save(), here))
            continue
        if what in ("back", "elsewhere"):
            if what == "elsewhere":
                engine = engines[engine is engines[0]]
            checkpoint, here = kept[number % len(kept)]
            engine.checkpoints.restore(checkpoint)
            assert repr(visible_state(engine)) == here
            continue
        output = move(engine, what, number)
        is_present = repr((output, visible_state(engine)))
        assert known.setdefault((here, what, number), is_present) == is_present
        event(f"{what}: {output[0] if isinstance(output, tuple) else output is None}")
        here = repr(visible_state(engine))


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs(), MOVES)
def test_walks_through_scalar_loops(program: tuple[str, dict[str, Any]], moves: list[tuple[str, int]]) -> None:
    text, inputs = program
    with np.errstate(all="ignore"):
        walk(model(text), inputs, moves)


@pytest.mark.parametrize("name", MODELS)
@example_settings(25, suppress_health_check=list(HealthCheck))
@given(moves=MOVES)
def test_walks_through_a_model(name: str, moves: list[tuple[str, int]]) -> None:
    text, inputs = MODELS[name]
    with np.errstate(all="ignore"):
        walk(model(text), inputs, moves)
