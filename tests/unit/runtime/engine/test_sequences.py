"""Sequences in native loops: nodes stay bound, and an append shares what is there."""

from __future__ import annotations

import tracemalloc

import numpy as np

from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.plan.plan import Opcode
from text_models import model

COLLECT = """
g (int64 M, float[256] x, seq(float[256]) start) => (seq(float[256]) out, float[M,256] all) {
  out = Loop <body = body (int64 i, bool c, seq(float[256]) s) => (bool c, seq(float[256]) t) {
    f = Cast <to = 1> (i)
    y = Add (x, f)
    t = SequenceInsert (s, y)
    n = SequenceLength (t)
    zero = Constant <value = int64 {0}> ()
    first = SequenceAt (t, zero)
  }> (M, , start)
  all = ConcatFromSequence <axis = 0, new_axis = 1> (out)
}
"""


def started(trips: int, elements: int = 1) -> Engine:
    m = model(COLLECT)
    engine = Engine(m.plan)
    x = np.arange(256, dtype=np.float32)
    engine.start(m.check({"M": np.array(trips), "x": x, "start": [-x] * elements}))
    return engine


def test_nodes_are_bound() -> None:
    engine = started(5)
    engine.resume()
    nodes = {
        i.node.op_type: engine.binder.is_native(pc)
        for pc, i in enumerate(engine.plan.code)
        if i.kind == Opcode.NODE and i.node is not None
    }
    assert {name for name in nodes if "Sequence" in name} == {
        "SequenceInsert", "SequenceLength", "SequenceAt", "ConcatFromSequence",
    }  # fmt: skip
    assert all(nodes.values()), nodes


def test_appends_share_what_is_there() -> None:
    """What 2000 iterations hold, with a checkpoint and a look at each: elements are neither copied nor made again."""
    engine = started(2000)
    edge = engine.plan.loops[0].edges[0]
    kept, seen = [], []
    tracemalloc.start()
    for iteration in range(0, 2000, 10):
        engine.stop_at(0, iteration)
        engine.resume()
        kept.append(engine.checkpoints.save())
        seen.append(engine.value(edge.param))
        engine.clear_stops()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 3 * 2000 * 1024
    assert [len(values) for values in seen] == [1 + k for k in range(0, 2000, 10)]
    assert all(a is b for values in seen for a, b in zip(values, seen[-1], strict=False))
    engine.checkpoints.restore(kept[3])
    engine.editor.set(edge.param, seen[1])
    engine.resume()
    assert [len(values) for values in seen] == [1 + k for k in range(0, 2000, 10)]
    assert len(engine.value(edge.param)) == 11 + 2000 - 30


def test_an_element_of_another_shape_is_read_in_python() -> None:
    m = model("""
    g (int64 M, seq(float[N]) s) => (float[M] sums) <bool go = {1}> {
      sums = Loop <body = body (int64 i, bool c) => (bool c, float sum) {
        x = SequenceAt (s, i)
        sum = ReduceSum <keepdims = 0> (x)
      }> (M, go)
    }
    """)
    elements = [np.ones(k % 4, np.float32) for k in range(40)]
    out = m.run({"M": np.array(40), "s": elements})
    np.testing.assert_array_equal(out["sums"], [k % 4 for k in range(40)])
