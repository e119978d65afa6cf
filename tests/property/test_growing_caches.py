"""Random loops that append along an inner axis: spare capacity, and elided copies between a growing value and its
readers, have no visible effect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

from differential_testing import check_all_modes
from engine_walks import WalkMove, check_stops_agree, disable_fusion, walk_strategy
from fusion_checks import bits_equal, check_hooks_agree, run_node_by_node
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.engine.optimized.copy_elision import copy_elision
from loopdbg.runtime.engine.optimized.shape_ranges import range_bindings
from optimizer_access import optimizer_attribute
from strategies.draws import SeededChoices
from strategies.growing_caches import programs
from text_models import model

Program = tuple[str, dict[str, Any]]
ANY = list(HealthCheck)


@pytest.fixture(autouse=True)
def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy_elision, "range_retry_boundaries", 0)
    monkeypatch.setattr(range_bindings, "min_growing_extent", 4)


def growth_report(engine: Engine) -> str:
    elided = optimizer_attribute(engine, "copy_elision")
    return f"{elided and min(len(elided.elided_positions), 6)} copies elided"


@example_settings(100, suppress_health_check=ANY)
@given(programs(), st.integers(0, 20))
def test_growing_caches_agree_at_any_run_length(program: Program, other: int) -> None:
    text, inputs = program
    m = model(text)
    for trips in (inputs["M"], other, inputs["M"], 1, inputs["M"], inputs["M"]):
        feeds = {**inputs, "M": np.int64(trips)}
        expected = run_node_by_node(m, feeds)
        bits_equal(run_node_by_node(m, feeds, native=False), expected)
        bits_equal(m.run(feeds), expected)
    bits_equal(m.run(feeds, on_iteration=lambda frame: None), expected)
    bits_equal(m.run(feeds), expected)
    assert m._engine is not None
    event(growth_report(m._engine))


@example_settings(40, suppress_health_check=ANY)
@given(programs(), st.integers(0, 1 << 30))
def test_growing_caches_agree_in_all_modes(program: Program, seed: int) -> None:
    text, inputs = program
    draw = SeededChoices(seed)
    check_all_modes(lambda: model(text), inputs, {**inputs, "M": np.array(draw.integer(0, 12))}, draw)


@example_settings(100, suppress_health_check=ANY)
@given(programs(), walk_strategy())
def test_growing_caches_show_node_results_at_stops(program: Program, moves: list[WalkMove]) -> None:
    text, inputs = program
    event(growth_report(check_stops_agree(model(text), inputs, moves, disable_fusion)))


@example_settings(50, suppress_health_check=ANY)
@given(programs(), st.integers(1, 3))
def test_growing_caches_show_node_results_to_hooks(program: Program, every: int) -> None:
    text, inputs = program
    event(growth_report(check_hooks_agree(model(text), inputs, every)))
