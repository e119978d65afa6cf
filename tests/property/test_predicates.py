"""Random scalar loops: native predicates stop at, and records contain, what a Python hook sees at each boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import loopdbg
from comparable_values import exact_bits
from engine_state import resume
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import optimizer_attribute, set_optimizer_options
from strategies.scalar_loops import programs
from text_models import model

COMPARISONS = (np.less, np.greater_equal, np.equal, np.not_equal)


@st.composite
def questions(draw: st.DrawFn, m: loopdbg.Model) -> tuple[int, str, int, Any, float]:
    """Tuples (loop, value read, edge, comparison, operand)."""
    loop = draw(st.integers(0, len(m.plan.loops) - 1))
    edge = draw(st.integers(0, len(m.plan.loops[loop].edges) - 1))
    kinds = ["value", "delta", "iteration", "condition"]
    result = m.plan.loops[loop].edges[edge].edge.result
    if result not in m.plan.loops[loop].loop.body.inputs:  # a parameter has its own location at a boundary
        kinds.append("body")
    return (
        loop,
        draw(st.sampled_from(kinds)),
        edge,
        draw(st.sampled_from(COMPARISONS)),
        draw(st.integers(-6, 12)) / 2,
    )


def ask(engine: Engine, asked: tuple[int, str, int, Any, float]) -> int:
    loop, what, edge, comparison, bound = asked
    plan = engine.plan.loops[loop].edges[edge]
    slots = {
        "value": [plan.param],
        "delta": [plan.param, engine.monitor.previous_slot(loop, edge)],
        "iteration": [engine.monitor.iteration_slot(loop)],
        "condition": [engine.monitor.condition_slot(loop)],
        "body": [engine.monitor.slot_at_boundary(loop, plan.result)],
    }[what]

    def apply(p: Any, *values: Any) -> Any:
        x = values[0]
        if what == "delta":
            x = p.map(np.subtract, *values)
        if what == "condition":
            return p.map(np.logical_not, x)
        return p.map(comparison, p.cast(x, np.dtype(np.float64)), p.constant(np.float64(bound)))

    return engine.monitor.add_predicate(loop, ResolvedOperator(apply, {}), slots, needs_body=what in ("delta", "body"))


def answer(frame: Frame, asked: tuple[int, str, int, Any, float]) -> bool:
    """The expected answer, looked up through the frame."""
    _, what, edge, comparison, bound = asked
    state = frame.back_edges[edge]
    if what in ("delta", "body") and frame.iteration == 0:
        return False
    if what == "condition":
        return frame.condition is False
    x = frame.iteration if what == "iteration" else state.value
    with np.errstate(all="ignore"):
        if what == "delta":
            x = np.subtract(state.value, state.previous)
        return bool(comparison(np.float64(x), np.float64(bound)))


Trail = list[tuple[Any, ...]]


def by_hook(m: loopdbg.Model, inputs: dict[str, Any], asked: list[tuple[int, str, int, Any, float]]) -> Any:
    engine = Engine(m.plan)
    engine.start(m.check(inputs))
    engine.set_limits(200)
    hits: Trail = []
    rows: dict[int, Trail] = {k: [] for k in range(len(m.plan.loops))}

    def hook(index: int) -> None:
        frame = Frame(engine, index)
        carried = [engine.value(e.param) for e in m.plan.loops[index].edges]
        rows[index].append((frame.iteration, engine.loops.totals(index)[1] - 1, *map(exact_bits, carried)))
        true = tuple(k + 1 for k, item in enumerate(asked) if item[0] == index and answer(frame, item))
        if true:
            hits.append((index, engine.position, true))

    engine.set_hook(hook)
    what = resume(engine)
    return what, hits, rows


def natively(
    m: loopdbg.Model, inputs: dict[str, Any], asked: list[tuple[int, str, int, Any, float]], hot_after: int
) -> Any:
    engine = Engine(m.plan)
    set_optimizer_options(engine, hot_after=hot_after)
    for item in asked:
        ask(engine, item)
    records = [engine.monitor.add_record(k, [e.param for e in plan.edges]) for k, plan in enumerate(m.plan.loops)]
    engine.start(m.check(inputs))
    engine.set_limits(200)
    hits: Trail = []
    while (what := resume(engine))[0] == "predicate":
        hits.append((what[1], engine.position, engine.monitor.hits))
    rows: dict[int, Trail] = {}
    for k, key in enumerate(records):
        iterations, entries, values = engine.monitor.read_record(key)
        rows[k] = [
            (i, e, *(exact_bits(np.array(value[j])) for value in values))
            for j, (i, e) in enumerate(zip(iterations.tolist(), entries.tolist(), strict=True))
        ]
    event(f"program runs: {optimizer_attribute(engine, 'program_runs')}")
    return what, hits, rows


@example_settings(300, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_native_predicates_and_records_see_what_a_hook_sees(
    program: tuple[str, dict[str, Any]], data: st.DataObject
) -> None:
    text, inputs = program
    m = model(text)
    asked = data.draw(st.lists(questions(m), min_size=1, max_size=3))
    with np.errstate(all="ignore"):
        expected = by_hook(m, inputs, asked)
        assert natively(m, inputs, asked, -1) == expected
        assert natively(m, inputs, asked, 1) == expected
