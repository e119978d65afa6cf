"""Random graphs that turn, cut and reshape: elided copies and aliases change nothing anybody sees."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from examples import tried
from floors import says
from fusing import by_nodes, hooks_agree, same
from loopdbg.runtime.engine.engine import Engine
from models import model
from strategies.views import programs
from walks import Move, apart, stops_agree, walks


def told(engine: Engine) -> str:
    views = says(engine, "views")
    return f"{views and min(len(views.positions), 4)} copies elided, {views and min(len(views.aliased), 3)} aliased"


@tried(150, suppress_health_check=list(HealthCheck))
@given(programs())
def test_all_ways_give_the_same(program: tuple[str, dict[str, Any]]) -> None:
    text, inputs = program
    m = model(text)
    expected = by_nodes(m, inputs)
    same(by_nodes(m, inputs, native=False), expected)
    same(m.run(inputs), expected)
    same(m.run(inputs), expected)
    same(m.run(inputs, on_iteration=lambda frame: None), expected)
    same(m.run(inputs), expected)
    assert m._engine is not None
    event(told(m._engine))


@tried(150, suppress_health_check=list(HealthCheck))
@given(programs(), walks())
def test_stops_show_what_nodes_give(program: tuple[str, dict[str, Any]], moves: list[Move]) -> None:
    text, inputs = program
    event(told(stops_agree(model(text), inputs, moves, apart)))


@tried(60, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_hooks_see_what_nodes_give(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    event(told(hooks_agree(model(text), inputs, every)))
