"""Loops whose shapes change: the same results in every way of running, and appends that cost what is appended."""

from __future__ import annotations

import ctypes
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import CHook
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.ops.registry import Op
from loopdbg.runtime.plan.plan import Opcode
from models import model, proto

Inputs = dict[str, Any]
F = np.float32


def loop(body: str, carried: str, outs: str, given: str, types: str, header: str = "") -> str:
    """A model of one Loop. ``carried`` and ``outs``: typed parameters and results of the body."""
    params = [part.split()[-1] for part in given.split("; ")]
    results = ", ".join(f"o{k}" for k in range(len(outs.split("; "))))
    given, types, carried, outs = (text.replace(";", ",") for text in (given, types, carried, outs))
    return f"""
    g (int64 M, {given}) => ({types}) {header} {{
      {results} = Loop <body = b (int64 i, bool c, {carried}) => (bool keep, {outs}) {{
        keep = Identity (c)
        {body}
      }}> (M, , {", ".join(p for p in params if p.startswith("v"))})
    }}"""


APPEND = loop(
    "y = Concat <axis = 0> (x, e)\n t2 = ReduceSum <keepdims = 0> (y)",
    "float[n] x; float t",
    "float[m] y; float t2",
    "float[k] v0; float v1; float[1] e",
    "float[a] o0; float o1",
)
ROWS = loop(
    """f = Cast <to = 1> (i)
    row = Add (e, f)
    y = Concat <axis = 0> (x, row)
    s = ReduceMax <keepdims = 0> (y, first)""",
    "float[n,3] x",
    "float[m,3] y; float[3] s",
    "float[k,3] v0; float[1,3] e",
    "float[a,3] o0; float[b,3] o1",
    "<int64[1] first = {0}>",
)
CACHE = loop(
    """half = Mul (q, point)
    keys = Concat <axis = 2> (k, half)
    values = Concat <axis = 2> (v, q)
    across = Transpose <perm = [0, 1, 3, 2]> (keys)
    scores = MatMul (q, across)
    weights = Softmax <axis = -1> (scores)
    mixed = MatMul (weights, values)
    q2 = Tanh (mixed)""",
    "float[1,2,n,4] k; float[1,2,n,4] v; float[1,2,1,4] q",
    "float[1,2,m,4] keys; float[1,2,m,4] values; float[1,2,1,4] q2",
    "float[1,2,a,4] v0; float[1,2,a,4] v1; float[1,2,1,4] v2",
    "float[1,2,b,4] o0; float[1,2,b,4] o1; float[1,2,1,4] o2",
    "<float point = {0.5}>",
)
ATTENTION = loop(
    """half = Mul (q, point)
    mixed, keys, values = Attention <is_causal = 1> (half, half, q, , k, v)
    scores = Einsum <equation = "bhid,bhjd->bhij"> (mixed, keys)
    weights = Softmax <axis = -1> (scores)
    best, places = TopK <axis = -1, largest = 0> (weights, one)
    chosen = Mul (mixed, best)
    seen = Attention (chosen, keys, values)
    norm = RMSNormalization (seen, scale)
    q2 = Tanh (norm)""",
    "float[1,2,n,4] k; float[1,2,n,4] v; float[1,2,1,4] q",
    "float[1,2,m,4] keys; float[1,2,m,4] values; float[1,2,1,4] q2",
    "float[1,2,a,4] v0; float[1,2,a,4] v1; float[1,2,1,4] v2",
    "float[1,2,b,4] o0; float[1,2,b,4] o1; float[1,2,1,4] o2",
    "<float point = {0.5}, int64[1] one = {1}, float[4] scale = {1, 2, 0.5, 1}>",
)
TOKENS = loop(
    """last = Slice (x, minus, end, second)
    a = Mul (last, three)
    b2 = Add (a, i)
    new = Mod (b2, many)
    y = Concat <axis = 1> (x, new)
    seen = Slice (y, window, end, second)
    total = ReduceSum <keepdims = 0> (seen)""",
    "int64[1,n] x",
    "int64[1,m] y; int64 total",
    "int64[1,k] v0",
    "int64[1,a] o0; int64[b] o1",
    "<int64[1] minus = {-1}, int64[1] window = {-5}, int64[1] end = {9223372036854775807}, int64[1] second = {1}, "
    "int64 three = {3}, int64 many = {97}>",
)
SHRINK = loop(
    "y = Slice (x, one, end, first)\n t = ReduceSum <keepdims = 0> (y)",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0",
    "float[a] o0; float[b] o1",
    "<int64[1] one = {1}, int64[1] end = {9223372036854775807}, int64[1] first = {0}>",
)
# Only the first of two appends to one value can go on in its buffer.
TWICE = loop(
    "y = Concat <axis = 0> (x, e)\n z = Concat <axis = 0> (x, x, e)\n t = ReduceSum <keepdims = 0> (z)\n"
    "same = ReduceSum <keepdims = 0> (x)",
    "float[n] x",
    "float[m] y; float t; float same",
    "float[k] v0; float[2] e",
    "float[a] o0; float[b] o1; float[c] o2",
)
PREPEND = loop("y = Concat <axis = 0> (e, x)", "float[n] x", "float[m] y", "float[k] v0; float[1] e", "float[a] o0")
# Not along a line: a, b = b, a + b.
FIBONACCI = loop(
    "y = Identity (b2)\n z = Concat <axis = 0> (a2, b2)\n t = ReduceSum <keepdims = 0> (z)",
    "float[n] a2; float[m] b2",
    "float[m] y; float[l] z; float t",
    "float[k] v0; float[j] v1",
    "float[a] o0; float[b] o1; float[c] o2",
)
CROSSED = loop(
    "y = Concat <axis = 0> (a2, e)\n z = Concat <axis = 0> (b2, e, e)",
    "float[n] a2; float[m] b2",
    "float[l] z; float[j] y",
    "float[k] v0; float[q] v1; float[1] e",
    "float[a] o0; float[b] o1",
)
SHARED = loop(
    "y = Concat <axis = 0> (a2, e)\n t = ReduceSum <keepdims = 0> (b2)",
    "float[n] a2; float[m] b2",
    "float[l] y; float[l] y; float t",
    "float[k] v0; float[q] v1; float[1] e",
    "float[a] o0; float[b] o1; float[c] o2",
)
SOMETIMES = loop(
    """rest = Mod (i, two)
    odd = Cast <to = 9> (rest)
    y = If <then_branch = grown () => (float[p] up) { up = Concat <axis = 0> (x, e) },
            else_branch = same () => (float[q] down) { down = Identity (x) }> (odd)
    t = ReduceSum <keepdims = 0> (y)""",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1",
    "<int64 two = {2}>",
)
MEAN = loop(
    """y = Concat <axis = 0> (x, e)
    mean = ReduceMean <keepdims = 1> (y, first)
    centred = Sub (y, mean)
    cut = Clip (centred, low)
    last = Gather <axis = 0> (y, minus)
    t = ReduceMax <keepdims = 0> (cut)""",
    "float[n,2] x",
    "float[m,2] y; float[2] last; float t",
    "float[k,2] v0; float[1,2] e",
    "float[a,2] o0; float[b,2] o1; float[c] o2",
    "<int64[1] first = {0}, int64 minus = {-1}, float low = {-1}>",
)
SHAPES = loop(
    "y = Concat <axis = 0> (x, e)\n s = Shape (y)\n z = ConstantOfShape (s)\n w = Add (y, z)\n"
    "t = ReduceSum <keepdims = 0> (w)\n size = Size (y)",
    "float[n] x",
    "float[m] y; float t; int64 size",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1; int64[c] o2",
)
SQUARE = loop(
    "y = Concat <axis = 0> (x, e)\n flat = Unsqueeze (y, zero)\n up = Transpose <perm = [1, 0]> (flat)\n"
    "table = Mul (flat, up)\n t = ReduceSum <keepdims = 0> (table)",
    "float[n] x",
    "float[m] y; float t",
    "float[k] v0; float[1] e",
    "float[a] o0; float[b] o1",
    "<int64[1] zero = {0}>",
)
NESTED = """
g (int64 M, int64 K, float[k] v0, float[1] e) => (float[a] o0, float[b] o1, float[c] o2) <float zero = {0}> {
  o0, o1, o2 = Loop <body = outer (int64 i, bool c, float[n] x) => (bool c2, float[m] y, float s, float first) {
    c2 = Identity (c)
    grown, sums = Loop <body = inner (int64 j, bool d, float[p] u) => (bool d2, float[q] w, float t) {
      d2 = Identity (d)
      w = Concat <axis = 0> (u, e)
      t = ReduceSum <keepdims = 0> (w)
    }> (K, , x)
    again, unused = Loop <body = other (int64 j2, bool d3, float[p2] u2) => (bool d4, float[q2] w2, float t2) {
      d4 = Identity (d3)
      w2 = Concat <axis = 0> (u2, e)
      t2 = ReduceSum <keepdims = 0> (w2)
    }> (K, , v0)
    y = Concat <axis = 0> (grown, e)
    s = ReduceSum <keepdims = 0> (sums)
    first = ReduceSum <keepdims = 0> (again)
  }> (M, , v0)
}"""
# The inner loop is hot and all scalar: a scalar program, while the outer one grows.
COUNTED = """
g (int64 M, int64 K, int64[k] v0) => (int64[a] o0, int64[b] o1) <int64 zero = {0}, int64[1] first = {0}> {
  o0, o1 = Loop <body = outer (int64 i, bool c, int64[n] x) => (bool c2, int64[m] y, int64 t) {
    c2 = Identity (c)
    sum = Loop <body = inner (int64 j, bool d, int64 u) => (bool d2, int64 w) {
      d2 = Identity (d)
      p = Mul (i, j)
      w = Add (u, p)
    }> (K, , zero)
    row = Unsqueeze (sum, first)
    y = Concat <axis = 0> (x, row)
    t = ReduceSum <keepdims = 0> (y)
  }> (M, , v0)
}"""
SEQUENCE = """
g (int64 M, float[2] e) => (seq(float[2]) o0, float[n,2] o1, int64[k] o2) {
  empty = SequenceEmpty <dtype = 1> ()
  o0, o2 = Loop <body = b (int64 i, bool c, seq(float[2]) x) => (bool keep, seq(float[2]) y, int64 length) {
    keep = Identity (c)
    f = Cast <to = 1> (i)
    row = Add (e, f)
    y = SequenceInsert (x, row)
    length = SequenceLength (x)
  }> (M, , empty)
  o1 = ConcatFromSequence <axis = 0, new_axis = 1> (o0)
}"""
STRINGS = loop(
    "y = Concat <axis = 0> (x, e)", "string[n] x", "string[m] y", "string[k] v0; string[1] e", "string[a] o0"
)


def numbers(*shape: int) -> Any:
    """Small whole numbers, which sum to the same in any order."""
    return np.random.default_rng(7).integers(-8, 9, shape).astype(F)


CASES: dict[str, tuple[str, Inputs]] = {
    "append": (APPEND, {"v0": numbers(1), "v1": F(0), "e": numbers(1)}),
    "append to nothing": (APPEND, {"v0": numbers(0), "v1": F(0), "e": numbers(1)}),
    "append nothing": (APPEND.replace("float[1] e", "float[p] e"), {"v0": numbers(3), "v1": F(0), "e": numbers(0)}),
    "append to many": (APPEND, {"v0": numbers(50), "v1": F(0), "e": numbers(1)}),
    "rows": (ROWS, {"v0": numbers(1, 3), "e": numbers(1, 3)}),
    "cache": (CACHE, {"v0": numbers(1, 2, 1, 4), "v1": numbers(1, 2, 1, 4), "v2": numbers(1, 2, 1, 4)}),
    "attention": (ATTENTION, {"v0": numbers(1, 2, 1, 4), "v1": numbers(1, 2, 1, 4), "v2": numbers(1, 2, 1, 4)}),
    "tokens": (TOKENS, {"v0": np.array([[3, 1, 4]])}),
    "shrink": (SHRINK, {"v0": numbers(90)}),
    "shrink to nothing": (SHRINK, {"v0": numbers(20)}),
    "twice": (TWICE, {"v0": numbers(2), "e": numbers(2)}),
    "prepend": (PREPEND, {"v0": numbers(2), "e": numbers(1)}),
    "crossed": (CROSSED, {"v0": numbers(2), "v1": numbers(5), "e": numbers(1)}),
    "shared": (SHARED, {"v0": numbers(2), "v1": numbers(5), "e": numbers(1)}),
    "sometimes": (SOMETIMES, {"v0": numbers(2), "e": numbers(1)}),
    "mean": (MEAN, {"v0": numbers(2, 2), "e": numbers(1, 2)}),
    "shapes": (SHAPES, {"v0": numbers(2), "e": numbers(1)}),
    "square": (SQUARE, {"v0": numbers(2), "e": numbers(1)}),
    "nested": (NESTED, {"K": np.array(4), "v0": numbers(2), "e": numbers(1)}),
    "counted": (COUNTED, {"K": np.array(150), "v0": np.array([5])}),
    "sequence": (SEQUENCE, {"e": numbers(2)}),
    "fibonacci": (FIBONACCI, {"v0": numbers(1), "v1": numbers(2)}),
    "strings": (STRINGS, {"v0": np.array(["a"], object), "e": np.array(["b"], object)}),
}
TRIPS = {"nested": 9, "counted": 12, "square": 20, "strings": 9, "fibonacci": 12}


def inputs_of(case: str, trips: int | None = None) -> Inputs:
    trips = TRIPS.get(case, 80) if trips is None else trips
    return {"M": np.array(trips)} | {k: np.copy(v) for k, v in CASES[case][1].items()}


def in_python(m: loopdbg.Model, inputs: Inputs) -> dict[str, Any]:
    engine = Engine(m.plan)
    engine.binder.native = False
    engine.start(m.check(inputs))
    assert engine.resume() == ("end", -1)
    return m.results(engine)


def same(a: Any, b: Any, exact: bool = True) -> None:
    if isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y, exact)
        return
    assert np.shape(a) == np.shape(b)
    assert np.asarray(a).dtype == np.asarray(b).dtype
    if exact:
        np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def same_all(a: dict[str, Any], b: dict[str, Any], exact: bool = True) -> None:
    assert list(a) == list(b)
    for name in a:
        same(a[name], b[name], exact)


def peer(text: str, inputs: Inputs) -> dict[str, Any]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto(text, 23).SerializeToString(), options)
    results = session.run(None, {name: np.asarray(value) for name, value in inputs.items()})
    return dict(zip((o.name for o in session.get_outputs()), results, strict=True))


# ------------------------------------------------------------------ what comes out


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_running_gives_the_same(case: str) -> None:
    m, inputs = model(CASES[case][0], 23), inputs_of(case)
    # Softmax and Tanh: NumPy sums and rounds as it likes on other memory layouts, and so does onnxruntime.
    exact = case != "cache"
    native = m.run(inputs)
    same_all(native, in_python(m, inputs), exact)
    same_all(native, m.run(inputs))  # on bindings that are there already
    same_all(native, peer(CASES[case][0], inputs), case not in ("attention", "cache", "mean"))
    same_all(inputs, inputs_of(case))  # nobody wrote into what was given


@pytest.mark.parametrize("case", CASES)
def test_one_engine_runs_any_length(case: str) -> None:
    m = model(CASES[case][0], 23)
    most = 19 if case == "shrink to nothing" else TRIPS.get(case, 80)
    for trips in (0, most, 3, 1, most // 2, 7, most):
        inputs = inputs_of(case, trips)
        if trips == 0 and case == "sequence":
            continue  # there is nothing to concatenate
        expected = in_python(m, inputs)
        same_all(m.run(inputs), expected, case != "cache")
        same_all(m.run(inputs), expected, case != "cache")


@pytest.mark.parametrize("case", CASES)
def test_stepping_shows_every_value(case: str) -> None:
    """Boundary by boundary and node by node against an engine that runs everything in Python."""
    m = model(CASES[case][0], 23)
    inputs = inputs_of(case, min(TRIPS.get(case, 12), 12))
    engines = [Engine(m.plan), Engine(m.plan)]
    engines[1].binder.native = False
    for engine in engines:
        engine.start(m.check(inputs))
        engine.stop_before_node()
    before: list[dict[str, Any]] = []
    while True:
        stops = [engine.resume() for engine in engines]
        assert stops[0] == stops[1]
        if stops[0][0] == "end":
            break
        frames = [loopdbg.runtime.frame.Frame(e, e.stack[-1] if e.stack else -1) for e in engines]
        views = [{"values": dict(f.values), "edges": [(e.previous, e.value) for e in f.back_edges]} for f in frames]
        assert list(views[0]["values"]) == list(views[1]["values"])
        for name, value in views[0]["values"].items():
            same(value, views[1]["values"][name], case != "cache")
        for mine, theirs in zip(views[0]["edges"], views[1]["edges"], strict=True):
            for a, b in zip(mine, theirs, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    same(a, b, case != "cache")
        before.append(views[0])
        for engine in engines:
            engine.stop_at_node()
            engine.stop_anywhere()
    assert len(before) > 12


def test_the_value_before_is_the_beginning_of_the_value_now() -> None:
    m = model(APPEND)
    seen: list[tuple[Any, Any]] = []

    def look(frame: loopdbg.Frame) -> None:
        edge = frame.back_edges[0]
        seen.append((edge.previous, edge.value))

    m.run({"M": 100, "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)}, on_iteration=look)
    assert len(seen) == 101
    for k, (previous, value) in enumerate(seen):
        np.testing.assert_array_equal(value, [0] + k * [1])
        assert (previous is None) == (k == 0)
        if k:
            np.testing.assert_array_equal(previous, [0] + (k - 1) * [1])
    # Those were copies: they did not change while the buffer went on.
    assert [len(value) for _, value in seen] == list(range(1, 102))


def test_a_session_steps_through_a_growing_loop() -> None:
    session = loopdbg.debug(model(APPEND), {"M": 40, "v0": numbers(1), "v1": F(0), "e": numbers(1)})
    for k in range(40):
        assert session.frame.carried["x"].shape == (k + 1,)
        session.next_node()
        while not session.frame.at_boundary:
            values = session.frame.values
            assert values["x"].shape == (k + 1,)
            if "y" in values and session.frame.back_edges[0].ready:
                assert session.frame.back_edges[0].value.shape == (k + 2,)
            session.next_node()
    while not session.done:
        session.step()
    assert session.outputs is not None
    assert session.outputs["o0"].shape == (41,)


def test_what_is_set_goes_on_and_the_value_before_stays() -> None:
    """Setting a carried value must not write into the buffer that the previous one is in."""
    m = model(APPEND)
    engine = Engine(m.plan)
    engine.start(m.check({"M": 60, "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)}))
    param = m.plan.loops[0].edges[0].param
    engine.stop_at(0, 40)
    engine.resume()
    engine.clear_stops()
    engine.changes.set(param, np.full(41, 5, F))  # of the same shape
    np.testing.assert_array_equal(engine.loops.previous(0, 0), [0] + 39 * [1])
    engine.stop_at(0, 45)
    engine.resume()
    np.testing.assert_array_equal(engine.value(param), 41 * [5] + 5 * [1])
    engine.clear_stops()
    engine.changes.set(param, np.array([9, 8], F))  # of another one
    np.testing.assert_array_equal(engine.loops.previous(0, 0), 41 * [5] + 4 * [1])
    engine.resume()
    np.testing.assert_array_equal(m.results(engine)["o0"], [9, 8, *(15 * [1])])


@pytest.mark.parametrize(
    "case", ["append", "rows", "cache", "tokens", "shrink", "twice", "crossed", "nested", "sequence"]
)
def test_checkpoints_of_any_length_can_be_gone_back_to(case: str) -> None:
    m = model(CASES[case][0], 23)
    inputs = inputs_of(case, min(TRIPS.get(case, 70), 70))
    engine = Engine(m.plan)
    engine.start(m.check(inputs))
    taken = []
    while True:
        engine.stop_anywhere()
        if engine.resume()[0] == "end":
            break
        index = engine.stack[-1]
        edges = range(len(m.plan.loops[index].edges))
        previous = [engine.loops.previous(index, k) for k in edges] if engine.loop_state(index)[0] else []
        taken.append(
            (
                engine.checkpoints.take(),
                index,
                [engine.value(m.plan.loops[index].edges[k].param) for k in edges],
                previous,
            )
        )
    expected = m.results(engine)
    order = np.random.default_rng(1).permutation(len(taken))[:40]
    for k in order:
        checkpoint, index, values, previous = taken[k]
        engine.checkpoints.restore(checkpoint)
        for j, value in enumerate(values):
            same(engine.value(m.plan.loops[index].edges[j].param), value)
        for j, value in enumerate(previous):
            same(engine.loops.previous(index, j), value)
        engine.clear_stops()
        if k % 2:
            assert engine.resume() == ("end", -1)
            same_all(m.results(engine), expected, case != "cache")


def test_predicates_see_what_grew() -> None:
    """A predicate is a node on the same values: it follows them, or is bound anew, but never reads what was."""
    text = CASES["append"][0]
    m = model(text)
    inputs = {"M": np.array(80), "v0": np.zeros(1, F), "v1": F(0), "e": np.ones(1, F)}
    param = m.plan.loops[0].edges[0].param

    def more_than(bound: int) -> Op:
        return Op(
            lambda p, x: p.map(np.greater, p.reduce(np.add, x, (0,), False), p.constant(F(bound).reshape(()))), {}
        )

    for bounds in ((3,), (5, 20, 21), (3, 4, 63, 64, 65)):
        engine = Engine(m.plan)
        engine.start(m.check(inputs))
        # Added while nodes are bound for ranges already, which must survive that instructions move.
        engine.stop_at(0, 3)
        assert engine.resume() == ("boundary", 0)
        engine.clear_stops()
        for bound in bounds:
            key = engine.observers.add_predicate(0, more_than(bound), [param])
            what = engine.resume()
            assert what == ("predicate", 0)
            assert engine.loop_state(0)[0] == bound + 1
            engine.observers.remove_predicate(key)
        assert engine.resume() == ("end", -1)
        np.testing.assert_array_equal(m.results(engine)["o0"], [0] + 80 * [1])


def test_an_axis_that_does_not_fit_any_more_is_an_error_with_its_place() -> None:
    text = loop(
        "y = Concat <axis = 0> (x, e)\n z = Add (y, w)",
        "float[n] x",
        "float[m] y; float[l] z",
        "float[k] v0; float[1] e; float[p] w",
        "float[a] o0; float[b,c] o1",
    )
    inputs = {"M": 20, "v0": numbers(1), "e": numbers(1), "w": numbers(1)}
    m = model(text)
    with pytest.raises(loopdbg.ExecutionError, match="scan output 'o1' got"):
        m.run(inputs)
    with pytest.raises(loopdbg.ExecutionError, match=r"Add 'Add_2'.* iteration 1"):
        m.run(inputs | {"w": numbers(2)})


def test_a_slice_is_bound_anew_where_its_end_is_reached() -> None:
    """Slice(x, 0:12) is all of x up to 12 elements, and 12 of them from there on."""
    text = loop(
        "y = Concat <axis = 0> (x, e)\n head = Slice (y, zero, twelve, zero)\n t = ReduceSum <keepdims = 0> (head)",
        "float[n] x",
        "float[m] y; float t",
        "float[k] v0; float[1] e",
        "float[a] o0; float[b] o1",
        "<int64[1] zero = {0}, int64[1] twelve = {12}>",
    )
    outputs = model(text).run({"M": 30, "v0": np.ones(1, F), "e": np.ones(1, F)})
    np.testing.assert_array_equal(outputs["o1"], np.minimum(np.arange(2, 32), 12))


def test_openvino_concat_grows_too(tmp_path: Path) -> None:
    import onnx
    import openvino

    onnx.save(proto(APPEND), tmp_path / "append.onnx")
    converted = openvino.convert_model(tmp_path / "append.onnx")
    openvino.save_model(converted, tmp_path / "append.xml", compress_to_fp16=False)
    m = loopdbg.load(tmp_path / "append.xml")
    names = [port.name for port in m.inputs]
    inputs = {k: v for k, v in inputs_of("append").items() if k in names}
    native = m.run(inputs)
    same_all(native, in_python(m, inputs))
    expected = np.concatenate([inputs["v0"], np.repeat(inputs["e"], 80)])
    np.testing.assert_array_equal(native["o0"], expected)
    concats = [pc for pc, i in enumerate(m.plan.code) if i.node is not None and i.node.op_type == "Concat"]
    assert concats
    assert all(m._engine is not None and m._engine.binder.is_native(pc) for pc in concats)


# ------------------------------------------------------------------ what it costs


def addresses(text: str, inputs: Inputs, edge: int = 0) -> list[int]:
    """Where a carried value was at each boundary."""
    seen: list[int] = []

    @CHook
    def hook(context: int, view: Any) -> int:
        seen.append(view.contents.carried[edge])
        return 0

    m = model(text)
    engine = Engine(m.plan)
    engine.start(m.check(inputs))
    engine.set_c_hook(ctypes.cast(hook, ctypes.c_void_p).value or 0)
    assert engine.resume() == ("end", -1)
    engine.set_c_hook(0)
    return seen


@pytest.mark.parametrize(("case", "width"), [("append", 1), ("rows", 3), ("tokens", 1)])
def test_appends_copy_no_more_than_a_few_times_the_result(case: str, width: int) -> None:
    """What a value that stays where it is was not copied for."""
    trips = 5000
    seen = addresses(CASES[case][0], inputs_of(case, trips))
    assert len(seen) == trips + 1
    copied = sum(k * width for k in range(1, trips + 1) if seen[k] != seen[k - 1])
    assert copied < 4 * trips * width
    assert len(set(seen)) < 60


def test_nodes_stay_bound_while_shapes_grow() -> None:
    for case in ("append", "rows", "cache", "attention", "tokens", "twice", "prepend", "mean", "shrink"):
        m = model(CASES[case][0], 23)
        inputs = inputs_of(case)
        m.run(inputs)
        m.run(inputs)
        engine = m._engine
        assert engine is not None
        unbound = [
            i.node for pc, i in enumerate(m.plan.code) if i.kind is Opcode.NODE and not engine.binder.is_native(pc)
        ]
        assert not unbound, case


def test_memory_stays_near_what_the_result_needs() -> None:
    trips, width = 4000, 512
    m = model(ROWS.replace(",3]", f",{width}]").replace("[3]", f"[{width}]"))
    inputs = {"M": np.int64(trips), "v0": np.ones((1, width), F), "e": np.ones((1, width), F)}
    engine = Engine(m.plan)
    engine.start(m.check(inputs))
    engine.stop_at_end(0)
    tracemalloc.start()
    try:
        assert engine.resume() == ("boundary", 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    grown = (trips + 1) * width * 4
    scanned = trips * width * 4
    # While it moves to a buffer of 1.5 times its size, both are there.
    assert peak < 2.6 * grown + scanned + 1_000_000


def test_thousands_of_shapes_take_no_memory() -> None:
    trips = 100_000
    text = loop("y = Concat <axis = 0> (x, e)", "float[n] x", "float[m] y", "float[k] v0; float[1] e", "float[a] o0")
    m = model(text)
    inputs = {"M": np.int64(trips), "v0": np.ones(1, F), "e": np.ones(1, F)}
    engine = Engine(m.plan)
    engine.start(m.check(inputs))
    tracemalloc.start()
    try:
        assert engine.resume() == ("end", -1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * 4 * trips


def test_bindings_are_kept_for_when_a_loop_starts_small_again() -> None:
    """After two runs of every length a third one binds nothing: the operators' own functions are not called."""
    m = model(APPEND)
    inputs = inputs_of("append", 200)
    calls = 0
    for instruction in m.plan.code:
        op = instruction.op
        if op is not None:
            function = op.function

            def counted(*args: Any, _function: Any = function, **keywords: Any) -> Any:
                nonlocal calls
                calls += 1
                return _function(*args, **keywords)

            object.__setattr__(op, "function", counted)
    m.run(inputs)
    m.run(inputs)
    assert calls > 0
    calls = 0
    for _ in range(20):
        m.run(inputs)
    assert calls == 0
