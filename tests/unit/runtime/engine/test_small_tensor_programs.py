"""Scalar programs over small tensors: what they leave to the engine, and what may look at them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from cpu_features import FLOAT_LEVELS, available_levels, limit_to
from engine_state import resume, slot_index
from loopdbg.runtime.compiler import llvm_jit
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import optimizer_of, requires_optimizer
from text_models import model

from .test_predicates import rows_of

pytestmark = requires_optimizer

#: Plain, interpreted, and as code where that can be made: (hot after, compile after).
WAYS = [(-1, -1.0), (1, -1.0)] + [(1, 0.0)] * llvm_jit.is_available()

TURN = """g (int64 M, float[4] q0, float[N,4] turns) => (float[4] q_last, float[n,3] ahead)
<int64[4] order = {1, 2, 3, 0}, int64[1] zero = {0}, int64[1] one = {1}, int64[1] four = {4}> {
  q_last, ahead = Loop <body = body (int64 i, bool c, float[4] q) => (bool more, float[4] q_next, float[3] axis) {
    t = Gather <axis = 0> (turns, i)
    turned = Gather <axis = 0> (q, order)
    product = Mul (turned, t)
    squares = Mul (product, product)
    sum = ReduceSum <keepdims = 1> (squares, zero)
    length = Sqrt (sum)
    q_next = Div (product, length)
    axis = Slice (q_next, one, four, zero)
    more = Identity (c)
  }> (M, , q0)
}"""
ROWS = 400


def inputs() -> dict[str, Any]:
    turns = np.linspace(0.5, 2, 4 * ROWS, dtype=np.float32).reshape(ROWS, 4)
    return {"M": ROWS, "q0": np.array([1, -0.5, 0.25, -0.125], np.float32), "turns": turns}


def started(m: loopdbg.Model, feeds: dict[str, Any], way: tuple[int, float]) -> Engine:
    engine = Engine(m.plan)
    engine.optimizer.hot_after, engine.optimizer.compile_after = way
    engine.start(m.check(feeds))
    return engine


def any_above(p: Any, x: Any) -> Any:
    """Is one of the elements large?"""
    return p.reduce(np.logical_or, p.map(np.greater, x, p.constant(np.float32(0.6))), (0,), False)


def outputs(m: loopdbg.Model, engine: Engine) -> dict[str, bytes]:
    assert resume(engine) == ("end", -1)
    return {name: value.tobytes() for name, value in engine.results().items()}


def same(text: str, feeds: dict[str, Any]) -> loopdbg.Model:
    """A model that gives the same in all ways, and runs as a program."""
    m = model(text)
    results = []
    for way in WAYS:
        engine = started(m, feeds, way)
        results.append(outputs(m, engine))
        assert (optimizer_of(engine).program_runs > 0) == (way[0] > 0)
    assert all(other == results[0] for other in results)
    return m


def test_all_ways_give_the_same() -> None:
    same(TURN, inputs())


def test_a_record_and_a_predicate_see_every_boundary() -> None:
    m = model(TURN)
    seen = []
    for way in WAYS:
        engine = started(m, inputs(), way)
        record = engine.monitor.add_record(0, [slot_index(m, "q"), slot_index(m, "axis")])
        engine.monitor.add_predicate(0, ResolvedOperator(any_above, {}), [slot_index(m, "q")], True)
        stops = []
        while (what := resume(engine))[0] == "predicate":
            stops.append((engine.loop_state(0)[0], Frame(engine, 0).carried["q"].tobytes()))
        assert what[0] == "end"
        assert (optimizer_of(engine).program_runs > 0) == (way[0] > 0)
        rows = rows_of(engine, record)
        seen.append((stops, rows))
    assert stops
    assert all(other == seen[0] for other in seen)


def test_edited_indices_are_reread() -> None:
    m = model(TURN)
    ended = []
    for way in WAYS:
        engine = started(m, inputs(), way)
        engine.stop_at(0, 100)
        assert resume(engine) == ("boundary", 0)
        engine.editor.set(slot_index(m, "order"), np.array([3, 2, 1, 0], np.int64))
        engine.clear_stops()
        ended.append(outputs(m, engine))
    engine = started(m, inputs(), WAYS[0])
    assert outputs(m, engine) != ended[0]
    assert all(other == ended[0] for other in ended)


def test_edited_carried_value_is_carried_on() -> None:
    m = model(TURN)
    ended = []
    for way in WAYS:
        engine = started(m, inputs(), way)
        engine.stop_at(0, 250)
        assert resume(engine) == ("boundary", 0)
        engine.editor.set(slot_index(m, "q"), np.array([0, 1, 0, np.nan], np.float32))
        engine.clear_stops()
        ended.append(outputs(m, engine))
    assert all(other == ended[0] for other in ended)


def test_weights_that_are_no_register_are_read_where_they_are() -> None:
    text = """g (int64 M, float[1,8] h0, float[8,64] up, float[64,8] down) => (float[1,8] h) {
      h = Loop <body = body (int64 i, bool c, float[1,8] x) => (bool c, float[1,8] y) {
        wide = MatMul (x, up)
        bent = Tanh (wide)
        y = MatMul (bent, down)
      }> (M, , h0)
    }"""
    generator = np.random.default_rng(3)
    feeds = {name: generator.normal(0, 0.3, shape).astype(np.float32) for name, shape in
             (("h0", (1, 8)), ("up", (8, 64)), ("down", (64, 8)))}  # fmt: skip
    same(text, {"M": 300, **feeds})


PRODUCTS = """
g (int64 M, float[3,4] a0, float[4,3] b0) => (float[3,4] a, float[S,3,3] c, float[S,4,4] d, float[S,3,3] e)
<float shrink = {0.75}, int64[2] all = {0, 1}> {
  a, c, d, e = Loop <body = body (int64 i, bool k, float[3,4] x)
      => (bool kept, float[3,4] y, float[3,3] p, float[4,4] q, float[3,3] r) {
    kept = Identity (k)
    p = MatMul (x, b0)
    z = Transpose <perm = [1, 0]> (x)
    q = MatMul (z, x)
    r = Gemm <transB = 1> (x, x, p)
    most = ReduceMax <keepdims = 0> (q, all)
    scaled = Mul (x, shrink)
    part = Div (scaled, most)
    y = Sub (x, part)
  }> (M, , a0)
}"""


@pytest.mark.parametrize("odd", [None, np.nan, np.inf, -0.0])
@pytest.mark.parametrize("kind", available_levels(*FLOAT_LEVELS))
def test_small_products_are_summed_as_the_processor_s_kernels_do_it(kind: int, odd: float | None) -> None:
    generator = np.random.default_rng(4)
    a, b = (generator.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4, 3)))
    if odd is not None:
        a[1, 2] = b[0, 1] = odd
    with limit_to(kind):
        same(PRODUCTS, {"M": 300, "a0": a, "b0": b})


def test_a_part_of_a_value_that_the_loop_changes() -> None:
    text = """g (int64 M, float[4] x0) => (float[4] x) <int64 four = {4}, float half = {0.5}> {
      x = Loop <body = body (int64 i, bool c, float[4] v) => (bool c, float[4] w) {
        at = Mod (i, four)
        one = Gather <axis = 0> (v, at)
        part = Mul (one, half)
        w = Sub (v, part)
      }> (M, , x0)
    }"""
    same(text, {"M": 300, "x0": np.array([1, 2, 3, 4], np.float32)})


@pytest.mark.parametrize("n", [3, 16, 40])
def test_a_division_by_zero_is_the_engine_s_to_tell(n: int) -> None:
    text = f"""g (int64 M, int64[{n}] x0, int64[{n}] step) => (int64[{n}] x) <int64 many = {{1000}}> {{
      x = Loop <body = body (int64 i, bool c, int64[{n}] v) => (bool c, int64[{n}] w) {{
        d = Div (many, v)
        r = Mod (d, v)
        kept = Where (c, v, r)
        w = Sub (kept, step)
      }}> (M, , x0)
    }}"""
    m = model(text)
    start, step = np.full(n, 500, np.int64), np.ones(n, np.int64)
    start[n // 2] = 250
    seen = []
    for way in WAYS:
        engine = started(m, {"M": 1000, "x0": start, "step": step}, way)
        what = resume(engine)
        seen.append((what, engine.loop_state(0), Frame(engine, 0).carried["v"].tobytes()))
        assert what[0] == "error"
        assert (optimizer_of(engine).program_runs > 0) == (way[0] > 0)
    assert all(other == seen[0] for other in seen)


def test_a_shape_that_changes_between_runs_makes_another_program() -> None:
    text = """g (int64 M, float[N] x0) => (float[N] x) <float half = {0.5}> {
      x = Loop <body = body (int64 i, bool c, float[N] v) => (bool c, float[N] w) {
        h = Mul (v, half)
        w = Add (h, half)
      }> (M, , x0)
    }"""
    m = model(text)
    for way in WAYS:
        engine = Engine(m.plan)
        engine.optimizer.hot_after, engine.optimizer.compile_after = way
        for n in (3, 5, 200, 3):
            engine.start(m.check({"M": 100, "x0": np.arange(n, dtype=np.float32)}))
            expected = np.arange(n, dtype=np.float32)
            for _ in range(100):
                expected = expected * np.float32(0.5) + np.float32(0.5)
            assert outputs(m, engine)["x"] == expected.tobytes()


def test_time_goes_back_and_forth() -> None:
    m = model(TURN)
    seen = []
    for way in WAYS:
        engine = started(m, inputs(), way)
        engine.stop_at(0, 150)
        assert resume(engine) == ("boundary", 0)
        kept = engine.checkpoints.save()
        engine.clear_stops()
        first = outputs(m, engine)
        engine.checkpoints.restore(kept)
        assert engine.loop_state(0)[0] == 150
        seen.append((first, outputs(m, engine)))
    assert all(a == b == seen[0][0] for a, b in seen)
