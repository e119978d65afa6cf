"""The optimised plan: what is taken out of a loop and what is not, when it runs, and what a failure does."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime import batch, bind, kernels
from loopdbg.runtime import model as model_module
from loopdbg.runtime.ahead import Block
from loopdbg.runtime.errors import ExecutionError, LimitError
from loopdbg.runtime.graph import (
    BackEdge,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    Operation,
    System,
    TensorType,
    Value,
    loops,
    walk,
)
from loopdbg.runtime.ops import weights as panels
from loopdbg.runtime.ops.registry import ResolvedOperation
from loopdbg.runtime.optimise import optimise
from models import COUNT, SUM, cell_model, floats, model, with_weights


def optimised(m: loopdbg.Model) -> Graph:
    graph = optimise(m.graph)
    assert graph is not None
    return graph


def names(graph: Graph) -> list[str]:
    """What the nodes of a graph make, without what the graphs inside make."""
    return [value.name for node in graph.nodes for value in node.outputs if value is not None]


def body(graph: Graph, name: str = "") -> Graph:
    return next(loop.body for loop in loops(graph) if not name or loop.body.name == name)


def blocks(graph: Graph) -> list[str]:
    """The outputs that are computed for a block of iterations at once."""
    return [
        str(node.outputs[0].name)
        for node in walk(graph)
        if isinstance(node, ResolvedOperation) and isinstance(node.op.function, Block) and node.outputs[0] is not None
    ]


# ------------------------------------------------------------------ invariants

INVARIANTS = """
g (int64 M, float[3] a, int64 at) => (float[3] v, float[N,3] s) {
  zero = Constant <value = float[3] {0, 0, 0}> ()
  v, s = Loop <body = outer (int64 i, bool c, float[3] x) => (bool keep, float[3] y, float[3] e) {
    keep = Identity (c)
    square = Mul (a, a)
    part = Gather <axis = 0> (a, at)
    drawn = RandomNormalLike <seed = 1.0> (a)
    none = Mul (drawn, zero)
    from_i = Cast <to = 1> (i)
    y = Loop <body = inner (int64 j, bool d, float[3] u) => (bool d_out, float[3] w) {
      d_out = Identity (d)
      deep = Add (square, part)
      per_entry = Mul (square, from_i)
      sum = Add (u, deep)
      more = Add (sum, per_entry)
      w = Add (more, none)
    }> (M, , x)
    e = Identity (square)
  }> (M, , zero)
}
"""


def test_invariants_go_as_far_out_as_they_can() -> None:
    m = model(INVARIANTS)
    graph = optimised(m)
    assert names(graph) == ["zero", "square", "part", "deep", "e", "v", "s"]
    assert names(body(graph, "outer")) == ["keep", "drawn", "none", "from_i", "per_entry", "y"]
    assert names(body(graph, "inner")) == ["d_out", "sum", "more", "w"]
    # What was read stays as it was.
    assert names(body(m.graph, "inner")) == ["d_out", "deep", "per_entry", "sum", "more", "w"]
    for trips in (0, 1, 3):
        inputs = {"M": trips, "a": floats(3), "at": 2}
        fast, plain = m.execute(inputs), m.execute(inputs, exact=True)
        for name, value in plain.outputs.items():
            np.testing.assert_array_equal(fast.outputs[name], value)
        assert [(t.path, t.iterations, t.entries, t.reasons) for t in fast.loops] == [
            (t.path, t.iterations, t.entries, t.reasons) for t in plain.loops
        ]


def test_nothing_leaves_a_branch() -> None:
    m = model("""
    g (int64 M, bool flag, float[3] a, int64 at) => (float[3] v) {
      v = Loop <body = outer (int64 i, bool c, float[3] x) => (bool keep, float[3] y) {
        keep = Identity (c)
        y = If <then_branch = risky () => (float[3] up) {
            part = Gather <axis = 0> (a, at)
            up = Loop <body = inner (int64 j, bool d, float[3] u) => (bool d_out, float[3] w) {
              d_out = Identity (d)
              twice = Add (part, part)
              w = Add (u, twice)
            }> (M, , x)
          }, else_branch = calm () => (float[3] down) { down = Neg (x) }> (flag)
      }> (M, , a)
    }""")
    branch = next(node for node in walk(optimised(m)) if node.op_type == "If").then_branch  # type: ignore[attr-defined]
    assert names(branch) == ["part", "twice", "up"]
    assert names(body(branch)) == ["d_out", "w"]
    a = floats(3)
    np.testing.assert_array_equal(m.run({"M": 3, "flag": False, "a": a, "at": 9})["v"], -a)
    assert m._may_optimise


def test_a_node_that_fails_in_a_loop_of_no_iterations_does_not_fail_the_run() -> None:
    m = model("""
    g (int64 M, float[3] a, int64 at) => (float[3] v) {
      v = Loop <body = step (int64 i, bool c, float[3] x) => (bool keep, float[3] y) {
        keep = Identity (c)
        part = Gather <axis = 0> (a, at)
        y = Add (x, part)
      }> (M, , a)
    }""")
    a = floats(3)
    assert names(optimised(m)) == ["part", "v"]
    np.testing.assert_array_equal(m.run({"M": 1, "a": a, "at": 1})["v"], a + a[1])
    assert m._may_optimise
    np.testing.assert_array_equal(m.run({"M": 0, "a": a, "at": 9})["v"], a)
    assert not m._may_optimise  # a model that does this runs as it is from then on
    np.testing.assert_array_equal(m.run({"M": 2, "a": a, "at": 0})["v"], a + a[0] + a[0])


def test_an_error_is_that_of_the_plain_plan() -> None:
    m = model("""
    g (int64 M, float[3] a, int64 at) => (float[3] v) {
      v = Loop <body = step (int64 i, bool c, float[3] x) => (bool keep, float[3] y) {
        keep = Identity (c)
        part = Gather <axis = 0> (a, at)
        y = Add (x, part)
      }> (M, , a)
    }""")
    inputs = {"M": 2, "a": floats(3), "at": 9}
    with pytest.raises(ExecutionError, match="iteration 0") as fast:
        m.run(inputs)
    with pytest.raises(ExecutionError) as plain:
        m.run(inputs, exact=True)
    assert str(fast.value) == str(plain.value)
    assert m._may_optimise  # both failed: the model is wrong, not the optimiser


def test_invariant_inputs_of_openvino_lead_out() -> None:
    anything = TensorType(np.dtype(np.float32), (None,))
    outer, inner, param, twice, result, last = (Value(name, anything) for name in ("a", "a_in", "x", "t", "y", "v"))
    trips = Value("M", constant=np.array(3, np.int64))
    nodes: list[Any] = [
        Operation("twice", "Add", "opset1", 1, [inner, inner], [twice]),
        Operation("y", "Add", "opset1", 1, [param, twice], [result]),
    ]
    edge = BackEdge(outer, param, result)
    loop = Loop(
        "loop", "Loop", "opset5", 5, [trips, outer], [last],
        body=Graph("body", [inner, param], [result], nodes), system=System.OPENVINO, trip_count=trips,
        back_edges=[edge], invariants=[Invariant(outer, inner)], last_values=[LastValueOutput(result, last, edge)],
    )  # fmt: skip
    m = loopdbg.Model(Graph("main", [outer], [last], [loop], [trips], system=System.OPENVINO))
    graph = optimised(m)
    assert names(graph) == ["t", "v"]
    assert graph.nodes[0].inputs == [outer, outer]
    a = floats(4)
    np.testing.assert_array_equal(m.run({"a": a})["v"], m.run({"a": a}, exact=True)["v"])


def test_a_loop_with_nothing_to_gain_has_one_plan() -> None:
    m = model(COUNT)
    assert optimise(m.graph) is None
    m.run({"M": 3, "cond": True, "v0": 0, "bound": 9})
    assert m._optimised is None
    assert m._engine is not None


# ------------------------------------------------------------------ blocks

LAYER = """
g (int64 M, bool cond, float[r,1,8] X, float[1,8] h0) => (float[1,8] h, float[N,1,8] rows) {{
  h, rows = Loop <body = step (int64 i, bool c, float[1,8] h_in) => (bool keep, float[1,8] h_out, float[1,8] row) {{
    {keep}
    {x}
    x_W = MatMul (x, W)
    shifted = Add (x_W, b)
    h_R = MatMul (h_in, R)
    sum = Add (shifted, h_R)
    h_out = Tanh (sum)
    row = Identity (h_out)
  }}> (M, {cond}, h0)
}}"""
GATHER = "x = Gather <axis = 0> (X, i)"
WEIGHTS = {"W": floats(8, 8) / 2, "R": floats(8, 8) / 2, "b": floats(8)}


def layer(x: str = GATHER, keep: str = "keep = Identity (c)", cond: str = "", **more: Any) -> loopdbg.Model:
    return with_weights(LAYER.format(x=x, keep=keep, cond=cond), **WEIGHTS, **more)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of any size are worth it; blocks of 4 iterations."""
    monkeypatch.setattr(batch, "LEAST_WEIGHTS", 1)
    monkeypatch.setattr(bind, "BLOCK", 4)


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The row counts for which a step of a block was bound."""
    seen: list[tuple[int, ...]] = []
    product = batch.Batched._product

    def spy(self: batch.Batched, function: Any, a: Any, b: Any) -> Any:
        seen.append((self.count, *a.shape))
        return product(self, function, a, b)

    monkeypatch.setattr(batch.Batched, "_product", spy)
    return seen


@pytest.mark.parametrize(
    "x",
    [
        GATHER,
        "k = Cast <to = 6> (i) x = Gather <axis = -3> (X, k)",
        "z = Constant <value = int64[1] {0}> () k = Unsqueeze (i, z) t = Gather (X, k) x = Squeeze (t, z)",
        "t = Gather (X, i) u = Relu (t) v = Mul (u, b) x = Sub (b, v)",
        "t = Gather (X, i) u = MatMul (t, W) x = Tanh (u)",
    ],
)
def test_products_of_rows_are_computed_in_blocks(x: str, small: None, rows_read: list[Any]) -> None:
    m = layer(x)
    assert blocks(optimised(m)) == ["shifted"]
    for rows, trips in ((1, 1), (3, 3), (4, 4), (9, 9), (9, 2), (9, 0), (9, -1)):
        inputs = {"M": trips, "cond": True, "X": floats(rows, 1, 8), "h0": floats(1, 8)}
        plain = m.run(inputs, exact=True)
        for _ in range(2):
            fast = m.run(inputs)
            for name, value in plain.items():
                np.testing.assert_allclose(fast[name], value, rtol=1e-4, atol=1e-5)
    assert (4, 1, 8) in rows_read
    assert m._may_optimise


def test_what_the_chain_made_needlessly_is_gone(small: None) -> None:
    graph = optimised(layer())
    assert names(body(graph)) == ["keep", "shifted", "h_R", "sum", "h_out", "row"]


def test_a_row_that_others_use_stays(small: None) -> None:
    source = LAYER.replace("row = Identity (h_out)", "row = Add (h_out, x)")
    m = with_weights(source.format(x=GATHER, keep="keep = Identity (c)", cond=""), **WEIGHTS)
    assert names(body(optimised(m)))[:3] == ["keep", "x", "shifted"]


@pytest.mark.parametrize(
    "x",
    [
        "one = Constant <value = int64 {1}> () k = Add (i, one) x = Gather (X, k)",  # not row i
        "t = Gather (X, i) x = Add (t, h_in)",  # carried
        "hs = Unsqueeze (h_in, zeros) x = Gather (hs, i)",
        "drawn = RandomNormalLike (h_in) t = Gather (X, i) x = Add (t, drawn)",
    ],
)
def test_what_is_not_known_before_its_iteration_is_not_in_a_block(x: str, small: None) -> None:
    m = layer(x, zeros=np.zeros(1, np.int64))
    assert blocks(optimise(m.graph) or m.graph) == []


def test_few_weights_are_not_worth_it() -> None:
    m = layer()
    assert optimise(m.graph) is None


@pytest.mark.parametrize("kind", ["int8", "uint64", "int32"])
def test_trip_counts_of_other_types(kind: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX has int64; a count that the kernel does not read is no more than a hint."""
    m = layer()
    loop = next(loops(m.graph))
    assert loop.trip_count is not None
    loop.trip_count.type = TensorType(np.dtype(kind), ())
    m.inputs = [model_module.Port("M", loop.trip_count.type), *m.inputs[1:]]
    inputs = {"M": np.array(9, kind), "cond": True, "X": floats(9, 1, 8), "h0": floats(1, 8)}
    fast, plain = m.run(inputs), m.run(inputs, exact=True)
    assert m._may_optimise
    np.testing.assert_allclose(fast["h"], plain["h"], rtol=1e-4, atol=1e-5)


def test_more_trips_than_rows_is_the_plain_error(small: None) -> None:
    m = layer()
    inputs = {"M": 9, "cond": True, "X": floats(6, 1, 8), "h0": floats(1, 8)}
    with pytest.raises(ExecutionError, match="iteration 6") as fast:
        m.run(inputs)
    with pytest.raises(ExecutionError) as plain:
        m.run(inputs, exact=True)
    assert str(fast.value) == str(plain.value)


@pytest.mark.parametrize(("bound", "most"), [(1, 0), (4, 4), (5, 8), (40, 44)])
def test_a_condition_wastes_little(bound: int, most: int, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    m = layer(keep="one = Constant <value = int64 {1}> () n = Add (i, one) keep = Less (n, stop)",
              cond="cond", stop=np.array(bound))  # fmt: skip
    assert blocks(optimised(m)) == ["shifted"]
    inputs = {"M": 90, "cond": True, "X": floats(90, 1, 8), "h0": floats(1, 8)}
    plain, fast = m.execute(inputs, exact=True), m.execute(inputs)
    assert fast.loops[0].iterations == plain.loops[0].iterations == bound
    for name, value in plain.outputs.items():
        np.testing.assert_allclose(fast.outputs[name], value, rtol=1e-4, atol=1e-5)


def test_a_scan_without_an_iteration_number(small: None, rows_read: list[Any]) -> None:
    for direction in (0, 1):
        m = with_weights(
            f"""
        g (float[1,8] h0, float[r,1,8] X) => (float[1,8] h, float[r,1,8] rows) {{
          h, rows = Scan <num_scan_inputs = 1, scan_input_directions = [{direction}],
                          body = step (float[1,8] h_in, float[1,8] x) => (float[1,8] h_out, float[1,8] row) {{
            x_W = MatMul (x, W)
            h_R = MatMul (h_in, R)
            sum = Add (x_W, h_R)
            h_out = Tanh (sum)
            row = Identity (h_out)
          }}> (h0, X)
        }}""",
            **WEIGHTS,
        )
        assert blocks(optimised(m)) == ["x_W"]
        for count in (1, 4, 11):
            inputs = {"h0": floats(1, 8), "X": floats(count, 1, 8)}
            plain = m.run(inputs, exact=True)
            fast = m.run(inputs)
            for name, value in plain.items():
                np.testing.assert_allclose(fast[name], value, rtol=1e-4, atol=1e-5)
    assert (4, 1, 8) in rows_read


@pytest.mark.parametrize(
    ("cell", "states", "shapes", "attributes"),
    [
        ("LSTMCell", 2, [(32, 6), (32, 8), (32,)], {}),
        ("LSTMCell", 2, [(32, 14), (32,)], {}),  # W and R joined, as in the written example
        ("GRUCell", 1, [(24, 6), (24, 8), (24,)], {}),
        ("GRUCell", 1, [(24, 6), (24, 8), (32,)], {"linear_before_reset": "true", "clip": "0.7"}),
        ("RNNCell", 1, [(8, 6), (8, 8)], {"activations": "relu"}),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 2])
def test_cells_of_openvino_are_cut_in_two(
    cell: str, states: int, shapes: list[Any], attributes: dict[str, str], batch_size: int, small: None
) -> None:
    m = cell_model(cell, states, shapes, attributes, batch_size)
    assert blocks(optimised(m)) == ["cell_input"]
    assert names(body(optimised(m))) == ["cell_input", *(f"r0{k}" for k in range(states)), "kept0"]
    inputs = {port.name: floats(*port.shape) for port in m.inputs}
    plain, fast = m.run(inputs, exact=True), m.run(inputs)
    assert m._may_optimise
    for name, wanted in plain.items():
        np.testing.assert_allclose(fast[name], wanted, rtol=1e-4, atol=1e-5)


def test_an_inner_loop_is_entered_anew(small: None) -> None:
    """The block of the last entry belongs to other rows."""
    m = with_weights(
        """
    g (int64 M, int64 K, float[r,c,1,8] X, float[1,8] h0) => (float[1,8] h) {
      h = Loop <body = outer (int64 j, bool d, float[1,8] h_j) => (bool d_out, float[1,8] h_j_out) {
        d_out = Identity (d)
        Xj = Gather <axis = 0> (X, j)
        h_j_out = Loop <body = step (int64 i, bool c, float[1,8] h_in) => (bool keep, float[1,8] h_out) {
          keep = Identity (c)
          x = Gather <axis = 0> (Xj, i)
          x_W = MatMul (x, W)
          h_R = MatMul (h_in, R)
          sum = Add (x_W, h_R)
          h_out = Tanh (sum)
        }> (K, , h_j)
      }> (M, , h0)
    }""",
        **WEIGHTS,
    )
    assert blocks(optimised(m)) == ["x_W"]
    for trips in (1, 3, 6):
        inputs = {"M": 5, "K": trips, "X": floats(5, 6, 1, 8), "h0": floats(1, 8)}
        np.testing.assert_allclose(m.run(inputs)["h"], m.run(inputs, exact=True)["h"], rtol=1e-4, atol=1e-5)


# ------------------------------------------------------------------ panels


@pytest.mark.parametrize(("rows", "k", "n"), [(1, 64, 128), (1, 90, 130), (3, 128, 100), (8, 128, 65), (17, 300, 64)])
def test_weights_in_panels(rows: int, k: int, n: int) -> None:
    m = with_weights(
        f"""
    g (int64 M, float[{rows},{k}] h0) => (float[{rows},{k}] h, float[N,{rows},{n}] y) {{
      h, y = Loop <body = step (int64 i, bool c, float[{rows},{k}] h_in)
            => (bool keep, float[{rows},{k}] h_out, float[{rows},{n}] row) {{
        keep = Identity (c)
        row = MatMul (h_in, W)
        h_out = Neg (h_in)
      }}> (M, , h0)
    }}""",
        W=floats(k, n),
    )
    inputs: dict[str, Any] = {"M": 5, "h0": floats(rows, k)}
    results = []
    try:
        for kind in (0, 1, 2, 3):
            if kernels.use_tiling(kind):
                results.append(m.run(inputs)["y"])
    finally:
        kernels.use_tiling(0)
    assert len(results) >= 2
    assert m._engine is not None
    m._engine.native = False
    results.append(m.run(inputs)["y"])
    h, weights = inputs["h0"], m.graph.constants[0].constant
    assert weights is not None
    np.testing.assert_allclose(results[0][0], h @ weights, rtol=1e-4, atol=1e-4)
    for fast in results:
        # Whatever the processor, in Python, and forwards or backwards through the panels, a sum is the same.
        np.testing.assert_array_equal(fast, results[0])
        np.testing.assert_array_equal(fast[0], -fast[1])
        np.testing.assert_array_equal(fast[0], fast[2])


def test_a_row_in_a_block_is_what_it_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "LEAST_WEIGHTS", 1)
    monkeypatch.setattr(panels, "PANEL_BYTES", (1, 1 << 20))
    inputs = {"M": 50, "cond": True, "X": floats(50, 1, 8), "h0": floats(1, 8)}
    results = []
    for size in (1, 2, 5, 16, 64):
        monkeypatch.setattr(bind, "BLOCK", size)
        results.append(layer().run(inputs)["rows"])
    for rows in results[1:]:
        np.testing.assert_array_equal(rows, results[0])


def test_panels_hold_the_weights() -> None:
    weights = floats(5, 130)
    packed = panels.panels(weights)
    assert packed.shape == (3, 5, 64)
    assert packed.ctypes.data % 64 == 0
    np.testing.assert_array_equal(np.concatenate(packed, axis=1)[:, :130], weights)
    assert not packed[2, :, 2:].any()


# ------------------------------------------------------------------ which plan runs


def test_who_looks_gets_the_plain_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    m = model(INVARIANTS)
    inputs = {"M": 2, "a": floats(3), "at": 0}
    m.run(inputs, exact=True)
    m.run(inputs, on_iteration=lambda frame: None)
    loopdbg.debug(m, inputs).finish()
    assert m._optimised is None
    m.run(inputs)
    assert m._optimised is not None


def test_each_plan_has_one_engine_made_when_it_is_needed() -> None:
    m = model(INVARIANTS)
    inputs = {"M": 2, "a": floats(3), "at": 0}
    m.run(inputs)
    assert m._engine is None
    assert m._optimised is not None
    engine = m._optimised.engine
    m.run(inputs)
    assert m._optimised.engine is engine
    m.run(inputs, exact=True)
    assert m._engine is not None


def test_a_limit_counts_as_in_the_plain_plan(small: None) -> None:
    m = layer()
    inputs = {"M": 20, "cond": True, "X": floats(20, 1, 8), "h0": floats(1, 8)}
    runs = [m.execute(inputs, max_iterations=6, exact=exact) for exact in (False, True)]
    assert runs[0].message == runs[1].message
    assert [run.loops[0].iterations for run in runs] == [6, 6]
    with pytest.raises(LimitError, match="limit of 6"):
        m.run(inputs, max_iterations=6)


def test_an_endless_loop_is_refused_in_the_plain_words() -> None:
    text = SUM.replace("(M, , v0)", "(, , v0)").replace("e = Mul (v_out, v_out)", "a = Mul (v0, v0) e = Add (a, v_out)")
    m = model(text)
    assert optimise(m.graph) is not None
    with pytest.raises(LimitError, match="would never end") as fast:
        m.run({"M": 1, "v0": 0.0})
    with pytest.raises(LimitError) as plain:
        m.run({"M": 1, "v0": 0.0}, exact=True)
    assert str(fast.value) == str(plain.value)


def test_progress_and_interrupt_reach_an_optimised_run() -> None:
    m = model("""
    g (int64 M, float[3] a) => (float[3] v) {
      v = Loop <body = step (int64 i, bool c, float[3] x) => (bool keep, float[3] y) {
        keep = Identity (c)
        square = Mul (a, a)
        y = Add (x, square)
      }> (M, , a)
    }""")
    seen: list[int] = []
    m.run({"M": 1, "a": floats(3)})
    assert m._optimised is not None
    engine = m._optimised.engine
    assert engine is not None

    def tick(run: model_module.Run) -> None:
        seen.append(run.loops[0].iterations)
        if len(seen) == 3:
            threading.Thread(target=engine.interrupt).start()

    run = m.execute({"M": 10**10, "a": floats(3)}, on_tick=tick)
    assert run.stopped_by == "interrupt"
    assert "interrupted in loop" in run.message
    assert 0 < seen[0] < seen[-1] <= run.loops[0].iterations
