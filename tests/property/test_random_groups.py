"""Random bodies over large tensors: groups that run block by block give what every node by itself gives, to the bit."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given, settings

from fusing import by_nodes, members, same
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
