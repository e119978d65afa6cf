"""Random bodies over large tensors: fused groups that run block by block give the bits of the separate nodes."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from engine_walks import WalkMove, check_stops_agree, disable_fusion, walk_strategy
from fusion_checks import bits_equal, check_hooks_agree, group_members, run_node_by_node
from hypothesis_settings import example_settings
from optimizer_access import optimizer_attribute
from strategies.large_tensors import programs
from text_models import model


@example_settings(120, suppress_health_check=list(HealthCheck))
@given(programs())
def test_fused_groups_give_node_results(program: tuple[str, dict[str, Any]]) -> None:
    text, inputs = program
    m = model(text)
    expected = run_node_by_node(m, inputs)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs), expected)  # in groups from the first iteration on
    event(f"{len(group_members(m))} groups")
    event(f"{sum(map(len, group_members(m)))} nodes in groups")
    seen = m.run(inputs, on_iteration=lambda frame: None)
    bits_equal(seen, expected)


@example_settings(120, suppress_health_check=list(HealthCheck))
@given(programs(), walk_strategy())
def test_fusion_shows_node_results_at_stops(program: tuple[str, dict[str, Any]], moves: list[WalkMove]) -> None:
    """At every stop all values equal those of an execution without fusion."""
    text, inputs = program
    engine = check_stops_agree(model(text), inputs, moves, disable_fusion)
    event(f"ran in groups: {any(runs for _, runs in optimizer_attribute(engine, 'groups') or ())}")


@example_settings(60, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_fusion_shows_node_results_to_hooks(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    check_hooks_agree(model(text), inputs, every)
