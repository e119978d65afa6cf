"""Random loops that append on an inner axis: values with capacity for more, and copies elided between what grows and
its readers, change nothing that anybody sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from agreement import runs
from examples import tried
from floors import says
from fusing import by_nodes, hooks_agree, same
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.engine.fast.ranges import varying
from loopdbg.runtime.engine.fast.views import views
from models import model
from strategies.caches import programs
from strategies.draws import FromSeed
from walks import Move, apart, stops_agree, walks

Program = tuple[str, dict[str, Any]]
ANY = list(HealthCheck)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "patience", 0)
    monkeypatch.setattr(varying, "least_capacity", 4)


def told(engine: Engine) -> str:
    elided = says(engine, "views")
    return f"{elided and min(len(elided.positions), 6)} copies elided"


@tried(100, suppress_health_check=ANY)
@given(programs(), st.integers(0, 20))
def test_runs_of_any_length_give_the_same(program: Program, other: int) -> None:
    text, inputs = program
    m = model(text)
    for trips in (inputs["M"], other, inputs["M"], 1, inputs["M"], inputs["M"]):
        given = {**inputs, "M": np.int64(trips)}
        expected = by_nodes(m, given)
        same(by_nodes(m, given, native=False), expected)
        same(m.run(given), expected)
    same(m.run(given, on_iteration=lambda frame: None), expected)
    same(m.run(given), expected)
    assert m._engine is not None
    event(told(m._engine))


@tried(40, suppress_health_check=ANY)
@given(programs(), st.integers(0, 1 << 30))
def test_all_ways_agree(program: Program, seed: int) -> None:
    text, inputs = program
    draw = FromSeed(seed)
    runs(lambda: model(text), inputs, {**inputs, "M": np.array(draw.integer(0, 12))}, draw)


@tried(100, suppress_health_check=ANY)
@given(programs(), walks())
def test_stops_show_what_nodes_give(program: Program, moves: list[Move]) -> None:
    text, inputs = program
    event(told(stops_agree(model(text), inputs, moves, apart)))


@tried(50, suppress_health_check=ANY)
@given(programs(), st.integers(1, 3))
def test_hooks_see_what_nodes_give(program: Program, every: int) -> None:
    text, inputs = program
    event(told(hooks_agree(model(text), inputs, every)))
