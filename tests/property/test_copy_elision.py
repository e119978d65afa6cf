"""Random graphs that transpose, slice and reshape: elided copies and aliases have no visible effect."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from engine_walks import WalkMove, check_stops_agree, disable_fusion, walk_strategy
from fusion_checks import bits_equal, check_hooks_agree, run_node_by_node
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import optimizer_attribute
from strategies.view_loops import programs
from text_models import model


def elision_report(engine: Engine) -> str:
    views = optimizer_attribute(engine, "copy_elision")
    return (
        f"{views and min(len(views.elided_positions), 4)} copies elided, {views and min(len(views.aliased), 3)} aliased"
    )


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs())
def test_copy_elision_agrees_in_all_modes(program: tuple[str, dict[str, Any]]) -> None:
    text, inputs = program
    m = model(text)
    expected = run_node_by_node(m, inputs)
    bits_equal(run_node_by_node(m, inputs, native=False), expected)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs), expected)
    bits_equal(m.run(inputs, on_iteration=lambda frame: None), expected)
    bits_equal(m.run(inputs), expected)
    assert m._engine is not None
    event(elision_report(m._engine))


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs(), walk_strategy())
def test_copy_elision_shows_node_results_at_stops(program: tuple[str, dict[str, Any]], moves: list[WalkMove]) -> None:
    text, inputs = program
    event(elision_report(check_stops_agree(model(text), inputs, moves, disable_fusion)))


@example_settings(60, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 3))
def test_copy_elision_shows_node_results_to_hooks(program: tuple[str, dict[str, Any]], every: int) -> None:
    text, inputs = program
    event(elision_report(check_hooks_agree(model(text), inputs, every)))
