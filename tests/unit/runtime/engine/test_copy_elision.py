"""Elided copies: which ones, and that whoever wants their values gets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import slot_index, step
from fusion_checks import bits_equal, run_node_by_node
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.ops.registry import ResolvedOperator
from optimizer_access import optimizer_of, set_optimizer_options, start_engine
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


@pytest.fixture
def load_case() -> loopdbg.Model:
    return model(TEXT)


def inputs(trips: int = 6, shape: tuple[int, int] = (16, 32)) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    return {"M": np.int64(trips), "x0": x, "w": w, "which": np.array(True)}


def started(load_case: loopdbg.Model, feeds: dict[str, Any], fuse: bool = True) -> Engine:
    return start_engine(load_case, feeds, fuse=fuse)


def names(engine: Engine) -> list[str]:
    return [
        engine.plan.slots[engine.plan.code[pc].outputs[0]].name
        for pc in optimizer_of(engine).copy_elision.elided_positions
    ]


def test_copy_is_elided_where_readers_take_strides(load_case: loopdbg.Model) -> None:
    """Those whose readers take strides; ``whole`` has to be copied."""
    engine = started(load_case, inputs())
    assert engine.resume() == ("end", -1)
    assert names(engine) == ["apart", "turned", "again"]
    bits_equal(engine.results(), run_node_by_node(load_case, inputs()))
    bits_equal(engine.results(), run_node_by_node(load_case, inputs(), native=False))


@pytest.mark.parametrize(("apart", "shape"), [("[2, 8, 32]", (16, 32)), ("[1, 64, 40]", (64, 40))], ids=str)
def test_matrices_are_turned_by_a_copy(apart: str, shape: tuple[int, int]) -> None:
    """To read them as they lie takes longer, of whoever computes one element after the other."""
    rows, columns = shape
    text = TEXT.replace("[8, 2, 32]", apart).replace("[16, 32]", str([rows, columns]))
    text = text.replace("[16,32]", f"[{rows},{columns}]").replace("[16]", f"[{rows}]").replace("[N,16]", f"[N,{rows}]")
    m = model(text)
    feeds = inputs(shape=shape)
    engine = started(m, feeds)
    engine.resume()
    assert names(engine) == ["apart", "again"]
    bits_equal(engine.results(), run_node_by_node(m, feeds))
    bits_equal(engine.results(), run_node_by_node(m, feeds, native=False))


def test_a_second_execution_passes_them_from_its_first_iteration_on(load_case: loopdbg.Model) -> None:
    engine = started(load_case, inputs())
    engine.resume()
    other = inputs() | {"x0": inputs()["x0"] * 2}
    engine.start(load_case.check(other))
    assert names(engine) == ["apart", "turned", "again"]
    assert not engine.has_value(slot_index(load_case, "again")), "that of the execution before"
    engine.resume()
    bits_equal(engine.results(), run_node_by_node(load_case, other))


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
def test_sums_start_with_rows_that_lie_apart(rows: int) -> None:
    """What a product is added to needs no copy, of however many rows."""
    weights = ", ".join(str(round(float(number), 3)) for number in np.random.default_rng(1).standard_normal(4096) / 8)
    m = model(STARTS.replace("[R,", f"[{rows},").replace("<float[64,64] w>", f"<float[64,64] w = {{{weights}}}>"))
    rng = np.random.default_rng(2)
    feeds = {"M": np.int64(7), "h0": rng.standard_normal((rows, 64)), "x": rng.standard_normal((rows, 96))}
    feeds = {name: value if name == "M" else value.astype(np.float32) for name, value in feeds.items()}
    engine = started(m, feeds)
    engine.resume()
    assert names(engine) == ["part"]
    bits_equal(engine.results(), run_node_by_node(m, feeds))
    bits_equal(engine.results(), run_node_by_node(m, feeds, native=False))


OUTSIDE = """
g (int64 M, float[16,32] x, float[32,32] w) => (float[16,32] y, float z) {
  shape = Constant <value_ints = [2, 8, 32]> ()
  back = Constant <value_ints = [16, 32]> ()
  zero = Constant <value_float = 0.0> ()
  product = MatMul (x, w)
  apart = Reshape (product, shape)
  twice = Mul (apart, apart)
  y = Reshape (twice, back)
  z = Loop <body = body (int64 i, bool c, float a) => (bool d, float b) { d = Identity (c) b = Neg (a) }> (M, , zero)
}"""


def test_nothing_outside_of_loops_is_passed_over() -> None:
    m = model(OUTSIDE)
    x, w = inputs()["x0"], np.eye(32, dtype=np.float32)
    engine = Engine(m.plan)
    for _ in range(3):
        engine.start(m.check({"M": np.int64(2), "x": x, "w": w}), True)
        assert engine.resume() == ("end", -1)
        assert names(engine) == []
        np.testing.assert_array_equal(engine.results()["y"], x * x)


def test_a_boundary_shows_what_they_would_have_given(load_case: loopdbg.Model) -> None:
    engine, plain = started(load_case, inputs()), started(load_case, inputs(), fuse=False)
    for each in (engine, plain):
        each.stop_at(0, 4)
        assert each.resume() == ("boundary", 0)
    assert names(engine)
    bits_equal(dict(Frame(engine, 0).values), dict(Frame(plain, 0).values))
    assert names(engine), "to look changes nothing"


def test_within_an_iteration_values_that_come_later_are_those_of_before_or_none(load_case: loopdbg.Model) -> None:
    engine = started(load_case, inputs())
    engine.stop_at(0, 4)
    engine.resume()
    engine.clear_stops()
    engine.set_traps(
        [next(pc for pc, i in enumerate(load_case.plan.code) if i.node is not None and i.node.op_type == "Add")]
    )
    assert engine.resume()[0] == "node"
    step(engine)
    assert engine.plan.code[engine.pc].node.op_type == "Reshape"
    assert engine.has_value(slot_index(load_case, "made"))
    result, apart = engine.value(slot_index(load_case, "made")), slot_index(load_case, "apart")
    assert not engine.has_value(apart) or not (engine.value(apart).reshape(16, 32) == result).all()
    step(engine)
    assert engine.has_value(apart) and (engine.value(apart).reshape(16, 32) == result).all()


def test_a_predicate_and_a_record_read_what_is_passed_over(load_case: loopdbg.Model) -> None:
    for name in ("apart", "turned", "again"):
        seen = []
        for fuse in (True, False):
            engine = started(load_case, inputs(9), fuse)
            engine.stop_at(0, 3)
            engine.resume()
            engine.clear_stops()
            largest = ResolvedOperator(
                lambda p, x: p.map(np.greater, p.reduce(np.maximum, x, (0, 1, 2), False), _zero(p)), {}
            )
            engine.monitor.add_predicate(0, largest, [slot_index(load_case, name)])
            hits = []
            while engine.resume()[0] == "predicate":
                hits.append((engine.loop_state(0)[0], engine.value(slot_index(load_case, name)).tobytes()))
            seen.append(hits)
            assert not fuse or name not in names(engine)
        assert seen[0] == seen[1] and len(seen[0]) > 3


def _zero(p: Any) -> Any:
    return p.constant(np.array(0.1, np.float32))


@pytest.mark.parametrize("name", ["made", "apart", "turned", "again", "x"])
@pytest.mark.parametrize("after", ["boundary", "node"])
def test_what_is_set_by_hand_is_read(load_case: loopdbg.Model, name: str, after: str) -> None:
    """Readers that looked through a node read its slot again, once a reader may write there."""
    seen = []
    for fuse in (True, False):
        engine = started(load_case, inputs(9), fuse)
        engine.stop_at(0, 3)
        engine.resume()
        for _ in range(0 if after == "boundary" else 4):
            step(engine)
        engine.editor.set(slot_index(load_case, name), engine.value(slot_index(load_case, name)) * 3)
        engine.clear_stops()
        engine.resume()
        seen.append(engine.results())
    bits_equal(*seen)


def test_edit_to_another_shape_rebinds_readers(load_case: loopdbg.Model) -> None:
    """What the memory is that they look through changes: all are bound again."""
    for name, shape in (("x", (1, 32)), ("x", (16, 1))):
        seen = []
        for fuse in (True, False):
            engine = started(load_case, inputs(9), fuse)
            engine.stop_at(0, 3)
            engine.resume()
            engine.editor.set(slot_index(load_case, name), np.ones(shape, np.float32))
            engine.clear_stops()
            engine.resume()
            seen.append(engine.results())
        bits_equal(*seen)


def test_nodes_of_the_main_graph_are_none_of_a_body() -> None:
    m = model("""
    g (int64 M, float[32,64] x, float[32,48] w) => (float[64,48] y, float[32,64] x_last) {
      x_last = Loop <
        body = body (int64 i, bool c, float[32,64] v) => (bool c_out, float[32,64] v_out) {
          v_out = Tanh (v)
          c_out = Identity (c)
        }
      > (M, , x)
      turned = Transpose <perm = [1, 0]> (x_last)
      curved = Tanh (turned)
      y = MatMul (curved, w)
    }""")
    rng = np.random.default_rng(4)
    feeds = {"M": np.int64(3), "x": rng.standard_normal((32, 64), np.float32), "w": np.ones((32, 48), np.float32)}
    engine = Engine(m.plan)
    for _ in range(3):
        engine.start(m.check(feeds), True)
        assert engine.resume()[0] == "end"
        assert optimizer_of(engine).copy_elision.elided_positions == []


ALIASES = """
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


ALL_ALIASED = ["apart", "flat", "rows", "shown", "square_one", "start", "turned", "y"]


def numbers(trips: int, seed: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x, feeds = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 32), (4, 1, 128)))
    return {"M": np.int64(trips), "x": x, "given": feeds}


def aliased(engine: Engine) -> list[str]:
    return sorted(
        engine.plan.slots[engine.plan.code[pc].outputs[0]].name for pc in optimizer_of(engine).copy_elision.aliased
    )


def run_unobserved(load_case: loopdbg.Model, engine: Engine, feeds: dict[str, Any]) -> dict[str, Any]:
    engine.start(load_case.check(feeds), outputs_only=True)
    assert engine.resume()[0] == "end"
    return engine.results()


def test_nodes_of_the_main_graph_lend_memory() -> None:
    """Nothing else comes out, with other numbers and other extents, and after runs that a reader looked at."""
    m = model(ALIASES)
    engine = Engine(m.plan)
    for trips, seed, looked in ((5, 1, 0), (5, 2, 0), (5, 3, 0), (3, 4, 0), (3, 5, 0), (5, 6, 1), (5, 7, 0), (5, 8, 0)):
        feeds = numbers(trips, seed)
        if looked:
            engine.start(m.check(feeds))
            assert engine.resume()[0] == "end"
            assert aliased(engine) == []
            bits_equal(engine.results(), run_node_by_node(m, feeds))
        bits_equal(run_unobserved(m, engine, feeds), run_node_by_node(m, feeds))
    assert aliased(engine) == ALL_ALIASED
    set_optimizer_options(engine, fuse=False)
    bits_equal(run_unobserved(m, engine, feeds), run_node_by_node(m, feeds))
    assert aliased(engine) == []


def test_outputs_share_no_memory() -> None:
    m = model(ALIASES)
    feeds = numbers(4)
    expected = run_node_by_node(m, feeds)
    results = [m.run(feeds) for _ in range(4)]
    arrays = [array for result in results for array in result.values()] + list(feeds.values())
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
    for result in results:
        bits_equal(result, expected)
        for array in result.values():
            array[...] = -1
    bits_equal(m.run(feeds), expected)


def test_values_after_unobserved_runs_are_correct() -> None:
    """Before each instruction of a run that follows, all that has a value has that of an engine that never aliased."""
    m = model(ALIASES)
    used, fresh = Engine(m.plan), Engine(m.plan)
    for seed in (1, 2, 3):
        run_unobserved(m, used, numbers(4, seed))
    assert aliased(used) == ALL_ALIASED
    for engine in (used, fresh):
        engine.start(m.check(numbers(4, 9)))
    items: set[int] = set()
    ended = False
    while not ended:
        if not fresh.stack and fresh.pc:
            items.update(k for k in m.plan.code[fresh.pc - 1].outputs if k >= 0)
        for k in items:
            assert np.array_equal(used.value(k), fresh.value(k))
        ended = [step(engine)[0] for engine in (used, fresh)] == ["end", "end"]
    assert len(items) > 8
    for engine in (used, fresh):
        engine.clear_stops()
        engine.resume()
    bits_equal(used.results(), fresh.results())


@pytest.mark.parametrize("name", ["made", "apart", "rows", "x_last", "start"])
def test_what_is_set_in_an_engine_with_aliases_is_set_alone(name: str) -> None:
    m = model(ALIASES)
    seen = []
    for before in (0, 3):
        engine = Engine(m.plan)
        for seed in range(before):
            run_unobserved(m, engine, numbers(4, seed))
        engine.start(m.check(numbers(4, 9)))
        second = m.plan.loops[1].enter
        engine.set_traps([second])
        assert engine.resume() == ("node", second)
        engine.editor.set(slot_index(m, name), engine.value(slot_index(m, name)) * 3)
        values = {n: engine.value(slot_index(m, n)) for n in ("made", "apart", "turned", "rows", "x_last", "start")}
        engine.set_traps([])
        engine.resume()
        seen.append({**values, **engine.results()})
    bits_equal(*seen)


def test_an_engine_that_lends_goes_to_a_checkpoint() -> None:
    """What it restores is changed by nothing that it aliased."""
    m = model(ALIASES)
    taken, used = Engine(m.plan), Engine(m.plan)
    taken.start(m.check(numbers(4, 9)))
    second = m.plan.loops[1].enter
    taken.set_traps([second])
    taken.resume()
    point = taken.checkpoints.save()
    for seed in (1, 2, 3):
        run_unobserved(m, used, numbers(4, seed))
    assert aliased(used) == ALL_ALIASED
    used.checkpoints.restore(point)
    assert aliased(used) == []
    for name in ("made", "apart", "turned", "rows", "x_last", "start"):
        assert np.array_equal(used.value(slot_index(m, name)), taken.value(slot_index(m, name)))
    used.editor.set(slot_index(m, "made"), np.zeros_like(used.value(slot_index(m, "made"))))
    for engine in (used, taken):
        engine.set_traps([])
        engine.resume()
    bits_equal(used.results(), taken.results())
