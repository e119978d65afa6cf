"""Histories of random loops equal the values collected at every boundary, in every execution mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import loopdbg
from comparable_values import all_exact_bits
from engine_state import resume
from history_checks import check_histories, collect_statistics, observe_all_loops
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import set_optimizer_options
from random_program_checks import load_program
from strategies import scalar_loops, varying_lengths
from strategies.program import Program
from strategies.program_generator import program_cases
from strategies.vector_loops import vector_programs
from text_models import model

LIMIT = 700
RELAXED = example_settings(60, suppress_health_check=list(HealthCheck))


def runs(m: loopdbg.Model, inputs: dict[str, Any], stops: list[int]) -> None:
    """Run in all modes, and compare the recorded history with the values collected at each boundary."""
    given_values = m.check(inputs)
    plain = Engine(m.plan)
    set_optimizer_options(plain, hot_after=-1, fuse=False)
    result, ended = collect_statistics(plain, given_values, LIMIT)
    results = all_exact_bits(plain.results()) if ended[0] == "end" else {}
    for hot_after, fuse in ((-1, False), (1, True), (20, True)):
        engine = Engine(m.plan)
        set_optimizer_options(engine, hot_after=hot_after, fuse=fuse)
        observe_all_loops(engine)
        for _ in range(2):  # in the second run everything is bound
            engine.start(given_values)
            engine.set_limits(LIMIT)
            assert resume(engine) == ended
            # Reading the history changes nothing.
            if results:
                assert all_exact_bits(engine.results()) == results
            check_histories(engine, result)
    travel(engine, result, ended, given_values, stops)


def travel(engine: Engine, result: Any, ended: Any, given_values: Any, stops: list[int]) -> None:
    """Compare with stops on the way, and once more from each of them."""
    engine.start(given_values)
    engine.set_limits(LIMIT)
    kept = []
    for more in stops:
        engine.clear_stops()
        for index in engine.stack[:1] or [0]:
            engine.stop_at(index, engine.loop_state(index)[0] + more)
        if resume(engine)[0] != "boundary":
            break
        kept.append((engine.checkpoints.save(), seen(engine)))
    for checkpoint, then in reversed(kept):
        engine.checkpoints.restore(checkpoint)
        assert seen(engine) == then
        engine.clear_stops()
        assert resume(engine) == ended
        check_histories(engine, result)


def seen(engine: Engine) -> str:
    """Everything that histories show at the moment."""
    views = [
        (index, entry, engine.histories.view(index, entry))
        for index in range(len(engine.plan.loops))
        for entry in engine.histories.entries(index)
    ]
    return repr([(index, entry, v.rows, v.width, v.stats.tolist()) for index, entry, v in views if v is not None])


STOPS = st.lists(st.integers(1, 200), max_size=5)


@RELAXED
@given(scalar_loops.programs(), STOPS)
def test_history_of_scalar_loops(program: tuple[str, dict[str, Any]], stops: list[int]) -> None:
    text, inputs = program
    with np.errstate(all="ignore"):
        runs(model(text), inputs, stops)


@RELAXED
@given(vector_programs(), STOPS)
def test_history_of_small_tensor_loops(program: tuple[str, dict[str, Any]], stops: list[int]) -> None:
    text, inputs = program
    with np.errstate(all="ignore"):
        runs(model(text), inputs, stops)


@RELAXED
@given(varying_lengths.programs(), STOPS)
def test_history_of_growing_loops(program: Any, stops: list[int]) -> None:
    runs(model(program.text), program.inputs, stops)


@pytest.mark.parametrize(
    "features",
    [(), ("nested", "branches"), ("nested", "growing", "rows"), ("hot", "nested"), ("strings", "delayed", "direct")],
)
@example_settings(25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_history_of_loops_of_all_kinds(features: tuple[str, ...], data: st.DataObject) -> None:
    program: Program
    program, first, _ = data.draw(program_cases(features))
    stops = data.draw(STOPS)
    with np.errstate(all="ignore"):
        runs(load_program(program), first, stops)
