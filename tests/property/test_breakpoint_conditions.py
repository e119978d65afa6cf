"""Random scalar loops: conditional breakpoints hit exactly at the boundaries where their condition evaluates to
true."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import loopdbg
from hypothesis_settings import example_settings
from loopdbg.debugger.expression.expression import ExpressionError, ScopeError
from strategies.scalar_loops import programs
from text_models import model

_NUMBERS = ("0", "1", "-2", "0.5", "3", "100")


@st.composite
def conditions(draw: st.DrawFn, names: list[str]) -> str:
    """Comparisons of current and previous values, alone or combined."""
    name = st.sampled_from(names)
    value = st.one_of(name, name.map("prev({})".format), st.just("iter"), name.map("abs(delta({}))".format))
    sign = st.sampled_from(("<", ">=", "==", "!=", "!="))
    first = st.tuples(value, sign, st.one_of(value, st.sampled_from(_NUMBERS))).map(" ".join)
    several = st.recursive(
        first,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(("and", "or")), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map("not {}".format),
        ),
        max_leaves=3,
    )
    return draw(st.one_of(first, several))


Hits = list[tuple[tuple[int, ...], int]]


def run(session: loopdbg.Session, place: str, condition: str | None) -> Hits:
    """Where a breakpoint stops; if a condition is passed, at which of the stops it is true."""
    hits: Hits = []
    session.breakpoints.add(place)
    for _ in range(400):
        stop = session.continue_()
        if not stop.breakpoints:
            break
        frame = session.frame
        try:
            holds = condition is None or bool(frame[condition])
        except ScopeError:
            holds = False
        except ExpressionError:
            # A condition that cannot be tested stops as well.
            holds = True
        if holds:
            hits.append((frame.entry, frame.iteration))
    return hits


@example_settings(150, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_breakpoints_hit_where_their_condition_is_true(
    program: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    text, inputs = program
    m = model(text)
    plan = data.draw(st.sampled_from(m.plan.loops))
    body = plan.loop.body
    names = [v.name for v in body.inputs] + [v.name for node in body.nodes for v in node.outputs if v is not None]
    # Carried values most of all, and captures.
    names += 2 * [v.name for edge in plan.loop.back_edges for v in (edge.param, edge.result)] + ["w", "n"]
    condition = data.draw(conditions(names))
    place = f"in '{plan.path}'"
    with np.errstate(all="ignore"):
        expected = run(loopdbg.debug(m, inputs, max_iterations=12), f"if true {place}", condition)
        session = loopdbg.debug(m, inputs, max_iterations=12)
        result = run(session, f"if {condition} {place}", None)
    event(f"by the engine: {bool(session.breakpoints[0].engine_verdicts)}, hits: {bool(result)}")
    assert result == expected, (condition, text)
