"""Nodes that are passed over: which ones, and that whoever wants their values gets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import step
from fusing import by_nodes, same
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from loopdbg.runtime.ops.registry import Op
from models import model

TEXT = """
g (int64 M, float[16,32] x0, float[16,32] w, bool which) => (float[16,32] x_last, float[N,16] s) {
  shape = Constant <value_ints = [2, 8, 32]> ()
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
def m() -> loopdbg.Model:
    return model(TEXT)


def inputs(trips: int = 6) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal((16, 32)).astype(np.float32) for _ in range(2))
    return {"M": np.int64(trips), "x0": x, "w": w, "which": np.array(True)}


def started(m: loopdbg.Model, given: dict[str, Any], fuse: bool = True) -> Engine:
    engine = Engine(m.plan)
    engine.fuse = fuse
    engine.start(m.check(given))
    return engine


def names(engine: Engine) -> list[str]:
    return [engine.plan.slots[engine.plan.code[pc].outputs[0]].name for pc in engine.views.positions]


def slot(m: loopdbg.Model, name: str) -> int:
    return next(k for k, value in enumerate(m.plan.slots) if value.name == name)


def test_who_is_passed_over(m: loopdbg.Model) -> None:
    """Those whose readers take strides; ``whole`` has to be copied."""
    engine = started(m, inputs())
    assert engine.resume() == ("end", -1)
    assert names(engine) == ["apart", "turned", "again"]
    same(m.results(engine), by_nodes(m, inputs()))
    same(m.results(engine), by_nodes(m, inputs(), native=False))


def test_a_second_execution_passes_them_from_its_first_iteration_on(m: loopdbg.Model) -> None:
    engine = started(m, inputs())
    engine.resume()
    other = inputs() | {"x0": inputs()["x0"] * 2}
    engine.start(m.check(other))
    assert names(engine) == ["apart", "turned", "again"]
    assert not engine.has_value(slot(m, "again")), "that of the execution before"
    engine.resume()
    same(m.results(engine), by_nodes(m, other))


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
        np.testing.assert_array_equal(m.results(engine)["y"], x * x)


def test_a_boundary_shows_what_they_would_have_given(m: loopdbg.Model) -> None:
    engine, plain = started(m, inputs()), started(m, inputs(), fuse=False)
    for each in (engine, plain):
        each.stop_at(0, 4)
        assert each.resume() == ("boundary", 0)
    assert names(engine)
    same(dict(Frame(engine, 0).values), dict(Frame(plain, 0).values))
    assert names(engine), "to look changes nothing"


def test_within_an_iteration_values_that_come_later_are_those_of_before_or_none(m: loopdbg.Model) -> None:
    engine = started(m, inputs())
    engine.stop_at(0, 4)
    engine.resume()
    engine.clear_stops()
    engine.set_traps([next(pc for pc, i in enumerate(m.plan.code) if i.node is not None and i.node.op_type == "Add")])
    assert engine.resume()[0] == "node"
    step(engine)
    assert engine.plan.code[engine.pc].node.op_type == "Reshape"
    assert engine.has_value(slot(m, "made"))
    made, apart = engine.value(slot(m, "made")), slot(m, "apart")
    assert not engine.has_value(apart) or not (engine.value(apart).reshape(16, 32) == made).all()
    step(engine)
    assert engine.has_value(apart) and (engine.value(apart).reshape(16, 32) == made).all()


def test_a_predicate_and_a_record_read_what_is_passed_over(m: loopdbg.Model) -> None:
    for name in ("apart", "turned", "again"):
        seen = []
        for fuse in (True, False):
            engine = started(m, inputs(9), fuse)
            engine.stop_at(0, 3)
            engine.resume()
            engine.clear_stops()
            largest = Op(lambda p, x: p.map(np.greater, p.reduce(np.maximum, x, (0, 1, 2), False), _zero(p)), {})
            engine.observers.add_predicate(0, largest, [slot(m, name)])
            hits = []
            while engine.resume()[0] == "predicate":
                hits.append((engine.loop_state(0)[0], engine.value(slot(m, name)).tobytes()))
            seen.append(hits)
            assert not fuse or name not in names(engine)
        assert seen[0] == seen[1] and len(seen[0]) > 3


def _zero(p: Any) -> Any:
    return p.constant(np.array(0.1, np.float32))


@pytest.mark.parametrize("name", ["made", "apart", "turned", "again", "x"])
@pytest.mark.parametrize("after", ["boundary", "node"])
def test_what_is_set_by_hand_is_read(m: loopdbg.Model, name: str, after: str) -> None:
    """Readers that looked through a node read its slot again, once somebody may write there."""
    seen = []
    for fuse in (True, False):
        engine = started(m, inputs(9), fuse)
        engine.stop_at(0, 3)
        engine.resume()
        for _ in range(0 if after == "boundary" else 4):
            step(engine)
        engine.changes.set(slot(m, name), engine.value(slot(m, name)) * 3)
        engine.clear_stops()
        engine.resume()
        seen.append(m.results(engine))
    same(*seen)


def test_a_value_of_another_shape_by_hand(m: loopdbg.Model) -> None:
    """What the memory is that they look through changes: all are bound anew."""
    for name, shape in (("x", (1, 32)), ("x", (16, 1))):
        seen = []
        for fuse in (True, False):
            engine = started(m, inputs(9), fuse)
            engine.stop_at(0, 3)
            engine.resume()
            engine.changes.set(slot(m, name), np.ones(shape, np.float32))
            engine.clear_stops()
            engine.resume()
            seen.append(m.results(engine))
        same(*seen)


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
    given = {"M": np.int64(3), "x": rng.standard_normal((32, 64), np.float32), "w": np.ones((32, 48), np.float32)}
    engine = Engine(m.plan)
    for _ in range(3):
        engine.start(m.check(given), True)
        assert engine.resume()[0] == "end"
        assert engine.views.positions == []
