"""Random loops of scalars: a scalar program and the baseline engine give the same state, wherever the program exits."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, event, given
from hypothesis import strategies as st

import loopdbg
from engine_state import resume
from hypothesis_settings import example_settings
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.frontends.tensorrt.enums import TripLimit
from optimizer_access import optimizer_attribute, optimizer_of, set_optimizer_options
from strategies.scalar_loops import programs
from strategies.vector_loops import vector_programs
from tensorrt_networks import NetworkBuilder, Op, output_of
from text_models import model


def outcome(m: loopdbg.Model, inputs: dict[str, Any], hot_after: int, limit: int | None, compiled: bool = False) -> Any:
    """The state after a run: the outputs, or the stop with everything that its frames show."""
    engine = Engine(m.plan)
    set_optimizer_options(engine, hot_after=hot_after, compile_after=0 if compiled else -1)
    engine.start(m.check(inputs))
    engine.set_limits(limit)
    try:
        what = engine.resume()
    except loopdbg.ExecutionError as error:
        what = ("error", str(error))
    used = bool(optimizer_attribute(engine, "program_runs"))
    totals = [(engine.loops.totals(k)[:3], engine.loop_state(k)) for k in range(len(m.plan.loops))]
    frames = []
    for index in engine.stack or [0]:  # after the end: the loop in its final state
        frame = Frame(engine, index)
        frames.append(
            (
                frame.iteration,
                frame.trip_count,
                frame.condition,
                frame.at_boundary,
                {name: value.tobytes() for name, value in frame.carried.items()},
                [
                    (
                        e.param,
                        e.ready,
                        None if e.previous is None else e.previous.tobytes(),
                        None if e.value is None else e.value.tobytes(),
                    )
                    for e in frame.back_edges
                ],
                {name: value.tobytes() for name, value in frame.scan_outputs.items()},
                {name: frame.values[name].tobytes() for name in frame.values},
            )
        )
    outputs = {k: v.tobytes() for k, v in engine.results().items()} if what[0] == "end" else None
    return used, (what, totals, frames, outputs)


def leaves_the_same(text: str, inputs: dict[str, Any], limit: int | None) -> None:
    """Compare the baseline, interpreted and compiled runs."""
    with np.errstate(all="ignore"):
        m = model(text)
        _, plain = outcome(m, inputs, -1, limit)
        used, fast = outcome(m, inputs, 1, limit)
        event(f"program used: {used}")
        event(f"ended by: {plain[0][0]}")
        assert fast == plain
        assert outcome(m, inputs, 1, limit, compiled=True) == (used, plain)


@example_settings(400, suppress_health_check=list(HealthCheck))
@given(programs(), st.one_of(st.none(), st.integers(0, 30)))
def test_scalar_program_leaves_the_baseline_state(program: tuple[str, dict[str, Any]], limit: int | None) -> None:
    leaves_the_same(*program, limit)


@example_settings(200, suppress_health_check=list(HealthCheck))
@given(vector_programs(), st.one_of(st.none(), st.integers(0, 30)))
def test_small_tensor_program_leaves_the_baseline_state(program: tuple[str, dict[str, Any]], limit: int | None) -> None:
    leaves_the_same(*program, limit)


ENTERED_AGAIN = """agraph (int64 M) => (int64 last)
{
  zero = Constant <value = int64 {0}> ()
  last = Loop <body = outer (int64 i, bool c_in, int64 v_in) => (bool c_out, int64 v_out) {
    c_out = Identity (c_in)
    w = Loop <body = inner (int64 j, bool d_in, int64 w_in) => (bool d_out, int64 w_out) {
      d_out = Identity (d_in)
      w_out = Add (w_in, j)
    }> (i, , v_in)
    v_out = Identity (w)
  }> (M, , zero)
}"""


def test_ended_inner_loop_keeps_its_position() -> None:
    m = model(ENTERED_AGAIN)
    seen = []
    for hot_after in (-1, 1):
        engine = Engine(m.plan)
        set_optimizer_options(engine, hot_after=hot_after)
        engine.start(m.check({"M": 9}))
        engine.stop_at(0, 7)
        assert engine.resume() == ("boundary", 0)
        assert (optimizer_of(engine).program_runs > 0) == (hot_after > 0)
        inner = Frame(engine, 1)
        seen.append({name: inner.values[name].tolist() for name in inner.values})
    assert seen[0]["j"] == 6
    assert seen[1] == seen[0]


def test_loop_ended_by_its_pretest_shows_the_previous_carried_values() -> None:
    # TensorRT tests before an iteration: a program crosses a boundary, and finds that the loop ends there.
    net = NetworkBuilder()
    loop = net.add_loop()
    a, b = loop.add_recurrence(net.int32_const(1)), loop.add_recurrence(net.int32_const(2))
    a.set_input(1, output_of(b))
    b.set_input(1, net.elementwise(output_of(a), output_of(b)))
    loop.add_trip_limit(net.elementwise(output_of(a), net.input_tensor("n", "int32"), Op.LESS), TripLimit.WHILE)
    net.last(loop, output_of(b), "last")
    m = net.model()
    seen = []
    for hot_after in (-1, 1):
        engine = Engine(m.plan)
        set_optimizer_options(engine, hot_after=hot_after)
        engine.start(m.check({"n": np.int32(50)}))
        engine.stop_at_end(0)
        assert engine.resume() == ("boundary", 0)
        assert (optimizer_of(engine).program_runs > 0) == (hot_after > 0)
        seen.append([(e.previous.tolist(), e.value.tolist()) for e in Frame(engine, 0).back_edges])
    assert seen == [[(34, 55), (55, 89)]] * 2


def test_program_that_exits_in_its_pretest_shows_the_previous_carried_values() -> None:
    # The engine reports the division by zero, here in the test after the boundary before iteration 5.
    net = NetworkBuilder()
    loop = net.add_loop()
    i, _ = net.add_carried(loop, net.int32_const(0), lambda i: net.elementwise(i, net.int32_const(1)))
    left = net.elementwise(i, net.int32_const(5), Op.SUB)
    left.name = "left"
    loop.add_trip_limit(
        net.elementwise(net.elementwise(net.int32_const(10), left, Op.DIV), net.int32_const(99), Op.LESS),
        TripLimit.WHILE,
    )
    net.last(loop, i, "last")
    m = net.model()
    seen = []
    for hot_after in (-1, 1):
        engine = Engine(m.plan)
        set_optimizer_options(engine, hot_after=hot_after)
        engine.start(m.check({}))
        assert resume(engine)[0] == "error"
        assert (optimizer_of(engine).program_runs > 0) == (hot_after > 0)
        engine.editor.set([value.name for value in m.plan.slots].index("left"), np.int32(1))
        engine.stop_at(0, 5)
        assert resume(engine) == ("boundary", 0)
        seen.append([(e.previous.tolist(), e.value.tolist()) for e in Frame(engine, 0).back_edges])
    assert seen == [[(4, 5)]] * 2
