"""Random bodies over large tensors: groups that run block by block give what every node by itself gives, to the bit."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from examples import tried
from floors import says
from fusing import by_nodes, hooks_agree, members, same
from models import model
from strategies.large import programs
from walks import Move, apart, stops_agree, walks


@tried(120, suppress_health_check=list(HealthCheck))
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


@tried(120, suppress_health_check=list(HealthCheck))
@given(programs(), walks())
def test_stops_show_what_nodes_give(program: tuple[str, dict[str, Any]], moves: list[Move]) -> None:
    """Wherever an execution stands, all values are those of one whose nodes each run by themselves."""
    text, inputs = program
    engine = stops_agree(model(text), inputs, moves, apart)
    event(f"ran in groups: {any(runs for _, runs in says(engine, 'groups') or ())}")


@tried(60, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_hooks_see_what_nodes_give(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    hooks_agree(model(text), inputs, every)
