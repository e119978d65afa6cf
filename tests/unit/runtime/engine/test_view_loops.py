"""Loops and main graphs that transpose, slice and reshape: values in all ways of running."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import step
from engine_tiers import set_optimizer_options
from fusion_checks import bits_equal, run_node_by_node
from loopdbg.runtime.engine.engine import Engine
from text_models import model

TEXT = """
g (int64 M, float[16,32] x0, float[16,32] w, bool which) => (float[16,32] x_last, float[N,16] s) {
  shape = Constant <value_ints = [8, 2, 32]> ()
  back = Constant <value_ints = [16, 32]> ()
  one = Constant <value_ints = [1]> ()
  x_last, s = Loop <
    body = body (int64 i, bool c, float[16,32] x) => (bool c_out, float[16,32] x_out, float[16] e) {
      made = Add (x, w)
      apart = Reshape (made, shape)
      turned = Transpose <perm = [0, 2, 1]> (apart)
      curved = Tanh (turned)
      again = Transpose <perm = [0, 2, 1]> (curved)
      whole = Reshape (again, back)
      x_out = Mul (whole, w)
      e = ReduceSum <keepdims = 0> (x_out, one)
      c_out = Identity (c)
    }
  > (M, , x0)
}"""


def random_inputs(trips: int = 6, shape: tuple[int, int] = (16, 32)) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    return {"M": np.int64(trips), "x0": x, "w": w, "which": np.array(True)}


def slot(m: loopdbg.Model, name: str) -> int:
    return next(k for k, value in enumerate(m.plan.slots) if value.name == name)


def check_values(m: loopdbg.Model, engine: Engine, inputs: dict[str, Any]) -> None:
    """Run all, and compare with kernels node by node and with NumPy."""
    engine.start(m.check(inputs))
    assert engine.resume() == ("end", -1)
    bits_equal(m._internals.results(engine), run_node_by_node(m, inputs))
    bits_equal(m._internals.results(engine), run_node_by_node(m, inputs, native=False))


@pytest.mark.parametrize(
    ("middle", "shape"), [("[8, 2, 32]", (16, 32)), ("[2, 8, 32]", (16, 32)), ("[1, 64, 40]", (64, 40))], ids=str
)
def test_matrices_transposed_in_the_body(middle: str, shape: tuple[int, int]) -> None:
    rows, columns = shape
    text = TEXT.replace("[8, 2, 32]", middle).replace("[16, 32]", str([rows, columns]))
    text = text.replace("[16,32]", f"[{rows},{columns}]").replace("[16]", f"[{rows}]").replace("[N,16]", f"[N,{rows}]")
    m = model(text)
    engine = Engine(m.plan)
    inputs = random_inputs(shape=shape)
    check_values(m, engine, inputs)
    check_values(m, engine, inputs | {"x0": inputs["x0"] * 2})


@pytest.mark.parametrize("name", ["made", "apart", "turned", "again", "x"])
@pytest.mark.parametrize("after", ["boundary", "node"])
def test_edits_reach_the_readers_of_views(name: str, after: str) -> None:
    m = model(TEXT)
    seen = []
    for native in (True, False):
        engine = Engine(m.plan)
        engine.binder.native_enabled = native
        engine.start(m.check(random_inputs(9)))
        engine.stop_at(0, 3)
        engine.resume()
        for _ in range(0 if after == "boundary" else 4):
            step(engine)
        engine.editor.set(slot(m, name), engine.value(slot(m, name)) * 3)
        engine.clear_stops()
        engine.resume()
        seen.append(m._internals.results(engine))
    bits_equal(*seen)


@pytest.mark.parametrize("shape", [(1, 32), (16, 1)], ids=str)
def test_edits_to_another_shape(shape: tuple[int, int]) -> None:
    m = model(TEXT)
    seen = []
    for native in (True, False):
        engine = Engine(m.plan)
        engine.binder.native_enabled = native
        engine.start(m.check(random_inputs(9)))
        engine.stop_at(0, 3)
        engine.resume()
        engine.editor.set(slot(m, "x"), np.ones(shape, np.float32))
        engine.clear_stops()
        engine.resume()
        seen.append(m._internals.results(engine))
    bits_equal(*seen)


STARTS = """
g (int64 M, float[R,64] h0, float[R,96] x) => (float[R,64] h) <float[64,64] w> {
  h = Loop <
    body = body (int64 i, bool c, float[R,64] a) => (bool c_out, float[R,64] b) {
      first = Constant <value_ints = [16]> ()
      last = Constant <value_ints = [80]> ()
      axis = Constant <value_ints = [1]> ()
      step = Cast <to = 1> (i)
      grown = Mul (x, step)
      part = Slice (grown, first, last, axis)
      b_in = Gemm <transB = 1> (a, w, part)
      b = Tanh (b_in)
      c_out = Identity (c)
    }
  > (M, , h0)
}"""


@pytest.mark.parametrize("rows", [1, 2, 8, 33])
def test_sums_start_with_sliced_rows(rows: int) -> None:
    weights = ", ".join(str(round(float(number), 3)) for number in np.random.default_rng(1).standard_normal(4096) / 8)
    m = model(STARTS.replace("[R,", f"[{rows},").replace("<float[64,64] w>", f"<float[64,64] w = {{{weights}}}>"))
    rng = np.random.default_rng(2)
    h0, x = (rng.standard_normal((rows, columns)).astype(np.float32) for columns in (64, 96))
    check_values(m, Engine(m.plan), {"M": np.int64(7), "h0": h0, "x": x})


MAIN_GRAPH = """
g (int64 M, float[16,32] x, float[4,1,128] given)
    => (float[16,32] last, float[N,16,32] s, float[512] flat, float[16,32] y, float[4,128] shown) {
  ones = Constant <value_ints = [1]> ()
  row = Constant <value_ints = [512]> ()
  square = Constant <value_ints = [16, 32]> ()
  back = Constant <value_ints = [1]> ()
  two = Constant <value_ints = [2]> ()
  shown = Squeeze (given, ones)
  square_one = Reshape (shown, square)
  x_last, made = Loop <
    body = first (int64 i, bool c, float[16,32] v) => (bool c_out, float[16,32] v_out, float[16,32] e) {
      v_out = Tanh (v)
      e = Add (v_out, square_one)
      c_out = Identity (c)
    }
  > (M, , x)
  apart = Unsqueeze (made, back)
  turned = Transpose <perm = [0, 2, 1, 3]> (apart)
  rows = Squeeze (turned, two)
  start = Reshape (x_last, square)
  last, s = Scan <num_scan_inputs = 1,
    body = second (float[16,32] v, float[16,32] r) => (float[16,32] v_out, float[16,32] e) {
      v_out = Mul (v, r)
      e = Neg (v_out)
    }
  > (start, rows)
  flat = Reshape (start, row)
  y = Reshape (flat, square)
}"""


def numbers(trips: int, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 32), (4, 1, 128)))
    return {"M": np.int64(trips), "x": x, "given": y}


def run_unobserved(m: loopdbg.Model, engine: Engine, inputs: dict[str, Any]) -> dict[str, Any]:
    engine.start(m.check(inputs), outputs_only=True)
    assert engine.resume()[0] == "end"
    return m._internals.results(engine)


def test_runs_of_one_engine_in_any_order() -> None:
    """With other numbers and extents, and after observed runs."""
    m = model(MAIN_GRAPH)
    engine = Engine(m.plan)
    for trips, seed, observed in (
        (5, 1, 0),
        (5, 2, 0),
        (5, 3, 0),
        (3, 4, 0),
        (3, 5, 0),
        (5, 6, 1),
        (5, 7, 0),
        (5, 8, 0),
    ):
        inputs = numbers(trips, seed)
        if observed:
            check_values(m, engine, inputs)
        bits_equal(run_unobserved(m, engine, inputs), run_node_by_node(m, inputs))
    set_optimizer_options(engine, fuse=False)
    bits_equal(run_unobserved(m, engine, inputs), run_node_by_node(m, inputs))


def test_outputs_share_no_memory() -> None:
    m = model(MAIN_GRAPH)
    inputs = numbers(4)
    expected = run_node_by_node(m, inputs)
    results = [m.run(inputs) for _ in range(4)]
    arrays = [array for result in results for array in result.values()] + list(inputs.values())
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    for result in results:
        bits_equal(result, expected)
        for array in result.values():
            array[...] = -1
    bits_equal(m.run(inputs), expected)


@pytest.mark.parametrize("name", ["made", "apart", "rows", "x_last", "start"])
def test_edits_in_the_main_graph_after_unobserved_runs(name: str) -> None:
    """An edit changes no other value, and its readers follow it."""
    m = model(MAIN_GRAPH)
    seen = []
    for before in (0, 3):
        engine = Engine(m.plan)
        for seed in range(before):
            run_unobserved(m, engine, numbers(4, seed))
        engine.start(m.check(numbers(4, 9)))
        second = m.plan.loops[1].enter
        engine.set_traps([second])
        assert engine.resume() == ("node", second)
        engine.editor.set(slot(m, name), engine.value(slot(m, name)) * 3)
        values = {n: engine.value(slot(m, n)) for n in ("made", "apart", "turned", "rows", "x_last", "start")}
        engine.set_traps([])
        engine.resume()
        seen.append({**values, **m._internals.results(engine)})
    bits_equal(*seen)
