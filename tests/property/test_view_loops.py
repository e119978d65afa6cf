"""Random graphs that transpose, slice and reshape give the same values in all ways of running."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engine_walks import WalkMove, check_stops_agree, disable_fusion, walk_strategy
from fusion_checks import bits_equal, check_hooks_agree, run_node_by_node
from hypothesis_settings import example_settings
from strategies.view_loops import programs
from text_models import model


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs())
def test_all_ways_give_the_same(program: tuple[str, dict[str, Any]]) -> None:
    text, inputs = program
    m = model(text)
    expected = run_node_by_node(m, inputs)
    bits_equal(run_node_by_node(m, inputs, native=False), expected)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs, on_iteration=lambda frame: None), expected)
    bits_equal(m.run(inputs), expected)


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs(), walk_strategy())
def test_stops_show_what_nodes_give(program: tuple[str, dict[str, Any]], moves: list[WalkMove]) -> None:
    text, inputs = program
    check_stops_agree(model(text), inputs, moves, disable_fusion)


@example_settings(60, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_hooks_see_what_nodes_give(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    check_hooks_agree(model(text), inputs, every)
