"""Checkpoints: whatever an engine shows at a stop, it shows again after it was put back there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from comparable_values import exact_bits
from engine_state import finish, step, visible_state
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import optimizer_of, set_optimizer_options, start_engine
from text_models import BRANCHES, COUNT, NESTED, SAMPLES, SUM, model, sample

GROW = """
g (int64 M, float[K] v0) => (float[R] v, float[S] s) {
  v, s = Loop <body = body (int64 i, bool c, float[P] x) => (bool c, float[Q] y, float e) {
    one = Constant <value = float[1] {1.5}> ()
    y = Concat <axis = 0> (x, one)
    e = ReduceSum <keepdims = 0> (y)
  }> (M, , v0)
}
"""

SEQUENCE = """
g (int64 M) => (seq(float[N]) out, float[T] last) {
  start = SequenceEmpty <dtype = 1> ()
  out, last = Loop <body = body (int64 i, bool c, seq(float[N]) s) => (bool c, seq(float[N]) t, float f) {
    f = Cast <to = 1> (i)
    v = Expand (f, shape)
    t = SequenceInsert (s, v)
  }> (M, , start)
}
""".replace("f = Cast", "shape = Constant <value = int64[1] {2}> ()\n    f = Cast")

OPTIONAL = """
g (int64 M, float x) => (optional(float) out, float[S] s) {
  start = Optional (x)
  out, s = Loop <body = body (int64 i, bool c, optional(float) o) => (bool c, optional(float) p, float v) {
    v = OptionalGetElement (o)
    w = Add (v, v)
    p = Optional (w)
  }> (M, , start)
}
"""

# Swapped, shared and passed-through results.
EDGES = """
g (int64 M, float[3] p, float[3] q, float[3] r) => (float[3] a, float[3] b, float[3] c, float[3] d) {
  a, b, c, d = Loop <body = body (int64 i, bool k, float[3] x, float[3] y, float[3] z, float[3] w)
      => (bool k, float[3] y, float[3] t, float[3] t, float[3] w) {
    t = Add (x, z)
  }> (M, , p, q, r, p)
}
"""

STRINGS = """
g (int64 M, string[1] w) => (string[N] out, string[M, N] s) {
  out, s = Loop <body = body (int64 i, bool c, string[N] x) => (bool c, string[N] y, string[N] e) {
    y = StringConcat (x, w)
    e = Identity (w)
  }> (M, , w)
}
"""

FAILING = """
g (int64 M, float[5] table) => (float total) {
  zero = Constant <value = float {0}> ()
  total = Loop <body = body (int64 i, bool c, float t) => (bool c, float u) {
    v = Gather (table, i)
    u = Add (t, v)
  }> (M, , zero)
}
"""

# An inner loop with scan outputs and a sliced input, entered again and again; its elements change shape.
INNER_SCANS = """
g (int64 M, float[4, 2] x) => (float[N, T] seen, float[2] h) {
  zero = Constant <value = float[2] {0, 0}> ()
  h, seen = Loop <body = outer (int64 i, bool c, float[2] h0) => (bool c, float[2] h1, float[T] flat) {
    h1, y = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
                  body = inner (float[2] h2, float[2] row) => (float[2] h3, float[2] out) {
      h3 = Add (h2, row)
      out = Mul (h3, row)
    }> (h0, x)
    minus = Constant <value = int64[1] {-1}> ()
    flat = Reshape (y, minus)
  }> (M, , zero)
}
"""

# The sliced tensor is carried by the outer loop, so that its memory moves.
MOVING_SLICES = """
g (int64 M, float[3, 2] x) => (float[3, 2] out, float[N, 2] s) {
  out, s = Loop <body = outer (int64 i, bool c, float[3, 2] a) => (bool c, float[3, 2] b, float[2] h1) {
    zero = Constant <value = float[2] {0, 1}> ()
    h1, y = Scan <num_scan_inputs = 1, body = inner (float[2] h, float[2] row) => (float[2] h3, float[2] o) {
      h3 = Add (h, row)
      o = Sub (row, h)
    }> (zero, a)
    b = Add (y, a)
  }> (M, , x)
}
"""

# Columns: each entry rearranges what it takes, and puts what it gives to their places.
MOVING_COLUMNS = MOVING_SLICES.replace("[3, 2]", "[2, 3]").replace(
    "num_scan_inputs = 1",
    "num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], scan_output_directions = [1]",
)

# Inner elements change their shape from entry to entry while their number stays the same.
CHANGING_ELEMENTS = """
g (int64 M, int64 K, float[A] x) => (float[B] out) {
  out = Loop <body = outer (int64 i, bool c, float[P] a) => (bool c, float[Q] b) {
    none = Constant <value = float {0}> ()
    last, rows = Loop <body = inner (int64 j, bool d, float u) => (bool d, float v, float[R] row) {
      f = Cast <to = 1> (j)
      v = Add (u, f)
      row = Add (a, v)
    }> (K, , none)
    axes = Constant <value = int64[1] {0}> ()
    sums = ReduceSum <keepdims = 0> (rows, axes)
    b = Concat <axis = 0> (sums, sums)
  }> (M, , x)
}
"""

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "sum": (SUM, {"M": 9, "v0": 1.0}),
    "zero trips": (SUM, {"M": 0, "v0": 1.0}),
    "while": (COUNT, {"M": 30, "cond": True, "v0": 0, "bound": 11}),
    "nested": (NESTED, {"M": 4, "K": 3}),
    "inner loop of changing length": (NESTED.replace("(K, , t)", "(i, , t)"), {"M": 5, "K": 0}),
    "branches": (BRANCHES, {"M": 8, "v0": 0.5}),
    "grow": (GROW, {"M": 7, "v0": [1.0, 2.0]}),
    "sequence": (SEQUENCE, {"M": 5}),
    "optional": (OPTIONAL, {"M": 5, "x": 1.5}),
    "edges": (EDGES, {"M": 7, "p": [1, 2, 3], "q": [4, 5, 6], "r": [7, 8, 9]}),
    "strings": (STRINGS, {"M": 4, "w": ["ab"]}),
    "error": (FAILING, {"M": 9, "table": [1, 2, 3, 4, 5]}),
    "inner scans": (INNER_SCANS, {"M": 3, "x": [[1, 2], [3, 4], [5, 6], [7, 8]]}),
    "moving slices": (MOVING_SLICES, {"M": 4, "x": [[1, 2], [3, 4], [5, 6]]}),
    "moving columns": (MOVING_COLUMNS, {"M": 4, "x": [[1, 2, 3], [4, 5, 6]]}),
    "changing elements": (CHANGING_ELEMENTS, {"M": 3, "K": 3, "x": [1.0, 2.0]}),
}


def started(m: loopdbg.Model, inputs: dict[str, Any], hot_after: int = -1) -> Engine:
    return start_engine(m, inputs, hot_after=hot_after)


def check_every_stop(m: loopdbg.Model, inputs: dict[str, Any], most: int = 250, nodes: bool = True) -> None:
    """Save at every stop, then go to each in random order: all is as it was, and goes on as it went on."""
    engine = started(m, inputs)
    engine.set_limits(40)
    moments = [(engine.checkpoints.save(), visible_state(engine))]
    what = ("start", -1)
    while what[0] not in ("end", "error", "limit") and len(moments) < most:
        what = step(engine, nodes)
        moments.append((engine.checkpoints.save(), visible_state(engine)))
    positions = [checkpoint.position for checkpoint, _ in moments]
    assert positions == sorted(positions)
    fresh = started(m, inputs)
    fresh.set_limits(40)
    expected = finish(fresh, m)
    chance = random.Random(1)
    # The same engine; one that ran; one that never started.
    others = [engine, fresh, Engine(m.plan)]
    for other in others[1:]:
        other.set_limits(40)
    set_optimizer_options(others[1], hot_after=1)
    set_optimizer_options(others[2], hot_after=1)
    for round_ in range(2 * len(moments)):
        checkpoint, seen = moments[chance.randrange(len(moments))]
        other = others[round_ % 3]
        other.checkpoints.restore(checkpoint)
        assert visible_state(other) == seen
        again = other.checkpoints.save()
        assert again.position == checkpoint.position
        if round_ % 4 == 0:
            assert finish(other, m) == expected
        elif round_ % 4 == 1:
            step(other, nodes)
            other.checkpoints.restore(again)
            assert visible_state(other) == seen


@pytest.mark.parametrize("name", MODELS)
def test_every_stop_of_a_model_can_be_gone_back_to(name: str) -> None:
    text, inputs = MODELS[name]
    check_every_stop(model(text), inputs)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.onnx")) + sorted(SAMPLES.glob("*.xml")), ids=lambda p: p.name)
def test_every_stop_of_a_sample_model_can_be_gone_back_to(path: Path) -> None:
    check_every_stop(*sample(path.name), most=60)


def test_a_scan_output_of_another_way_of_time_is_its_own() -> None:
    m = model(SUM)
    engine = started(m, {"M": 12, "v0": 1.0})
    slot = m.plan.loops[0].edges[0].param
    moments = [engine.checkpoints.save() for _ in range(6) if step(engine, nodes=False)]
    step(engine, nodes=False)
    late = engine.checkpoints.save()
    expected = finish(engine, m)
    engine.checkpoints.restore(moments[3])
    engine.editor.set(slot, np.float32(100))
    other_way = [(engine.checkpoints.save(), visible_state(engine)) for _ in range(5) if step(engine, nodes=False)]
    changed = finish(engine, m)
    assert changed != expected
    engine.checkpoints.restore(late)
    assert finish(engine, m) == expected
    for checkpoint, seen in reversed(other_way):
        engine.checkpoints.restore(checkpoint)
        assert visible_state(engine) == seen
        assert finish(engine, m) == changed
    engine.checkpoints.restore(moments[1])
    assert finish(engine, m) == expected


def test_scan_outputs_cost_their_size_once_however_many_checkpoints_there_are() -> None:
    m = model(SUM)
    engine = started(m, {"M": 2000, "v0": 1.0})
    kept = [engine.checkpoints.save() for _ in range(2000) if step(engine, nodes=False)]
    sizes = [checkpoint.nbytes for checkpoint in kept]
    assert max(sizes[1000:]) < 2000
    # Gone over again, the elements are the same and are not kept again.
    engine.checkpoints.restore(kept[0])
    again = [engine.checkpoints.save() for _ in range(1500) if step(engine, nodes=False)]
    assert max(checkpoint.nbytes for checkpoint in again[100:]) < min(sizes[100:])


def test_large_tensors_that_did_not_change_are_shared() -> None:
    text = """
    g (int64 M, float[1000] x, float v0) => (float v, float[1000] y) {
      y = Neg (x)
      v = Loop <body = body (int64 i, bool c, float v_in) => (bool c, float v_out) {
        s = ReduceSum <keepdims = 0> (y)
        v_out = Add (v_in, s)
      }> (M, , v0)
    }"""
    m = model(text)
    engine = started(m, {"M": 5, "x": np.arange(1000, dtype=np.float32), "v0": 0.0})
    step(engine, nodes=False)
    first = engine.checkpoints.save()
    step(engine, nodes=False)
    second = engine.checkpoints.save()
    assert first.nbytes > 4000 > second.nbytes
    del first
    engine.checkpoints.restore(second)
    assert finish(engine, m)[1] == {
        k: exact_bits(v) for k, v in m.run({"M": 5, "x": np.arange(1000, dtype=np.float32), "v0": 0.0}).items()
    }


def test_a_checkpoint_of_another_model_is_refused() -> None:
    engine = started(model(SUM), {"M": 3, "v0": 1.0})
    other = started(model(SUM), {"M": 3, "v0": 1.0})
    with pytest.raises(loopdbg.UsageError, match="another model"):
        other.checkpoints.restore(engine.checkpoints.save())


def test_a_running_engine_is_saved_by_hooks_but_not_restored() -> None:
    m = model(SUM)
    engine = started(m, {"M": 4, "v0": 1.0})
    kept = []

    def hook(index: int) -> None:
        kept.append(engine.checkpoints.save())
        with pytest.raises(RuntimeError, match="running"):
            engine.checkpoints.restore(kept[0])

    engine.set_hook(hook)
    engine.resume()
    engine.set_hook(None)
    expected = finish(engine, m)
    assert len(kept) == 5
    for checkpoint in kept:
        engine.checkpoints.restore(checkpoint)
        assert engine.position == checkpoint.position
        assert finish(engine, m) == expected


# ------------------------------------------------------------------ while it runs at full speed

SPIN = """
spin (int64 M, float v0) => (float v) {
  v = Loop <body = body (int64 i, bool c, float v_in) => (bool c, float v_out) {
    a = Constant <value = float {0.999999}> ()
    m = Mul (v_in, a)
    v_out = Add (m, a)
  }> (M, , v0)
}
"""


@pytest.mark.parametrize("text", [SPIN, NESTED], ids=["one loop", "nested"])
def test_a_tick_may_ask_for_a_stop_at_the_next_boundary(text: str) -> None:
    m = model(text)
    inputs = {"M": 6_000_000, "v0": 1.0} if text is SPIN else {"M": 1_000, "K": 4_000}
    engine = started(m, inputs, hot_after=200)
    engine.on_tick = engine.stop_anywhere
    kept = []
    while (what := engine.resume())[0] != "end":
        assert what[0] == "boundary"
        assert engine.stack[-1] == what[1]
        kept.append((engine.checkpoints.save(), visible_state(engine)))
        engine.clear_stops()
    assert optimizer_of(engine).program_runs >= len(kept) >= 2
    engine.on_tick = None
    expected = finish(engine, m)
    for checkpoint, seen in kept[::3]:
        other = started(m, inputs, hot_after=200)
        for e in (engine, other):
            e.checkpoints.restore(checkpoint)
            assert visible_state(e) == seen
            before = optimizer_of(e).program_runs
            assert finish(e, m) == expected
            assert optimizer_of(e).program_runs > before


def test_a_tick_may_save_and_an_error_in_it_leaves_a_state_to_go_on_from() -> None:
    m = model(SPIN)
    engine = started(m, {"M": 15_000_000, "v0": 1.0}, hot_after=200)
    kept = []

    def tick() -> None:
        kept.append(engine.checkpoints.save())
        if len(kept) == 3:
            raise ZeroDivisionError

    engine.on_tick = tick
    with pytest.raises(ZeroDivisionError):
        engine.resume()
    engine.on_tick = None
    expected = m.run({"M": 15_000_000, "v0": 1.0})["v"]
    assert finish(engine, m)[1] == {"v": exact_bits(expected)}
    for checkpoint in kept:
        engine.checkpoints.restore(checkpoint)
        assert engine.position == checkpoint.position
        assert finish(engine, m)[1] == {"v": exact_bits(expected)}


def test_what_is_known_of_many_elements_may_be_one_number() -> None:
    """What ConstantOfShape gives is one number in memory, where its extent changes from iteration to iteration."""
    text = """
    g (int64 M, float[k] v0, float[1] e) => (float[a] y, float[b] t) {
      y, t = Loop <body = body (int64 i, bool c, float[n] x) => (bool c, float[m] y, float t) {
        y = Concat <axis = 0> (x, e)
        s = Shape (y)
        sevens = ConstantOfShape <value = float[1] {7}> (s)
        w = Add (y, sevens)
        t = ReduceSum <keepdims = 0> (w)
      }> (M, , v0)
    }"""
    m = model(text)
    engine = start_engine(m, {"M": 12, "v0": np.ones(2, np.float32), "e": np.ones(1, np.float32)})
    kept = []
    while step(engine)[0] != "end":
        kept.append((engine.checkpoints.save(), visible_state(engine)))
    for checkpoint, shown in reversed(kept):
        engine.checkpoints.restore(checkpoint)
        assert visible_state(engine) == shown
