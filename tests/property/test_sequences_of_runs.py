"""What a run gives depends on the model and its inputs alone, whatever the Model ran before.

Many more by hand: ``python tests/campaign.py sequences 20000``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import sequences
from agreement import Differs
from examples import tried
from fresh import Crash, Fresh
from strategies import models
from strategies.draws import FromHypothesis, FromSeed

FEATURES = sorted(set(models.FEATURES) - {"hot"})


@st.composite
def cases(draw: st.DrawFn) -> sequences.Case:
    features = draw(st.sets(st.sampled_from(FEATURES), min_size=1, max_size=4))
    return sequences.case(FromHypothesis(draw), frozenset(features), str(draw(st.integers(0, 1 << 30))))


@pytest.fixture(scope="module")
def fresh() -> Iterator[Fresh]:
    with Fresh(*sequences.IMPORTED) as server:
        yield server


@tried(250, suppress_health_check=list(HealthCheck))
@given(cases())
def test_a_run_gives_what_it_gives_on_a_fresh_model(case: sequences.Case) -> None:
    sequences.check(case.program, case.sequence)


@pytest.mark.parametrize("number", range(30))
def test_a_run_gives_what_it_gives_in_a_fresh_process(number: int, fresh: Fresh) -> None:
    draw = FromSeed(f"fresh {number}")
    features = frozenset(draw.pick(FEATURES) for _ in range(3))
    case = sequences.case(draw, features, str(number))
    sequences.check(case.program, case.sequence, lambda *call: fresh.call(sequences.alone, *call))


def test_a_run_that_is_not_the_same_is_told(fresh: Fresh) -> None:
    case = next(c for c in (sequences.case(FromSeed(n), frozenset(), "") for n in range(99)) if len(c.sequence) > 2)
    with pytest.raises(Differs):
        sequences.check(case.program, case.sequence, lambda program, run: "something else")
    with pytest.raises(Crash, match="TypeError"):
        fresh.call(sequences.alone, 1)
