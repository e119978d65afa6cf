"""The result of a run depends only on the model and its inputs, whatever the Model object ran before.

Many more by hand: ``python tests/fuzz/campaign.py sequences 20000``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import run_sequences
from differential_testing import DisagreementError
from fork_server import ChildCrashedError, ForkServer
from hypothesis_settings import example_settings
from strategies import program_generator
from strategies.draws import HypothesisChoices, SeededChoices

FEATURES = sorted(set(program_generator.FEATURES) - {"hot"})


@st.composite
def cases(draw: st.DrawFn) -> run_sequences.SequenceCase:
    features = draw(st.sets(st.sampled_from(FEATURES), min_size=1, max_size=4))
    return run_sequences.draw_case(HypothesisChoices(draw), frozenset(features), str(draw(st.integers(0, 1 << 30))))


@pytest.fixture(scope="module")
def fresh() -> Iterator[ForkServer]:
    with ForkServer(*run_sequences.PRELOADED_MODULES) as server:
        yield server


@example_settings(250, suppress_health_check=list(HealthCheck))
@given(cases())
def test_run_equals_a_run_of_a_fresh_model(case: run_sequences.SequenceCase) -> None:
    run_sequences.check_sequence(case.program, case.sequence)


@pytest.mark.parametrize("number", range(30))
def test_run_equals_a_run_in_a_fresh_process(number: int, fresh: ForkServer) -> None:
    draw = SeededChoices(f"fresh {number}")
    features = frozenset(draw.pick(FEATURES) for _ in range(3))
    case = run_sequences.draw_case(draw, features, str(number))
    run_sequences.check_sequence(
        case.program, case.sequence, lambda *call: fresh.call(run_sequences.run_on_new_model, *call)
    )


def test_differing_run_is_reported(fresh: ForkServer) -> None:
    case = next(
        c
        for c in (run_sequences.draw_case(SeededChoices(n), frozenset(), "") for n in range(99))
        if len(c.sequence) > 2
    )
    with pytest.raises(DisagreementError):
        run_sequences.check_sequence(case.program, case.sequence, lambda program, run: "something else")
    with pytest.raises(ChildCrashedError, match="TypeError"):
        fresh.call(run_sequences.run_on_new_model, 1)
