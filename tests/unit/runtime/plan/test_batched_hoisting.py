"""Products that the plain plan computes for a block of iterations at once: no one can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from comparable_values import all_exact_bits
from engine_state import slot_index
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.kernels import loop_nest
from loopdbg.runtime.ops import weight_packing as panels
from loopdbg.runtime.plan import batched_primitives, operator_binder
from optimizer_access import requires_optimizer, start_engine
from text_models import cell_model, random_floats, text_with_initializers

WEIGHTS = {"W": random_floats(8, 8) / 2, "R": random_floats(8, 8) / 2, "b": random_floats(8)}
LAYER = """
g (int64 M, bool cond, float[r,1,8] X, float[1,8] h0) => (float[1,8] h, float[N,1,8] products) {{
  h, products = Loop <body = step (int64 i, bool c, float[1,8] h_in) => (bool keep, float[1,8] h_out, float[1,8] row) {{
    {keep}
    x = Gather <axis = 0> (X, i)
    {x_W}
    h_R = MatMul (h_in, R)
    sum = Add (x_W, h_R)
    h_out = Tanh (sum)
    row = Identity (x_W)
  }}> (M, {cond}, h0)
}}"""
NESTED = """
g (int64 M, float[n,r,8] X, float[1,8] h0) => (float[1,8] h, float[N,1,8] rows) {
  h, rows = Loop <body = outer (int64 i, bool c, float[1,8] h_in) => (bool keep, float[1,8] h_out, float[1,8] row) {
    keep = Identity (c)
    one = Constant <value = int64 {1}> ()
    trips = Add (i, one)
    part = Gather <axis = 0> (X, i)
    h_out = Loop <body = inner (int64 j, bool d, float[1,8] u) => (bool e, float[1,8] u_out) {
      e = Identity (d)
      j1 = Unsqueeze (j, zero)
      x = Gather <axis = 0> (part, j1)
      x_W = MatMul (x, W)
      u_out = Add (u, x_W)
    }> (trips, , h_in)
    row = Identity (h_out)
  }> (M, , h0)
}"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of any size are worth it; blocks of 4 iterations."""
    monkeypatch.setattr(batched_primitives, "MIN_BATCHED_WEIGHTS", 1)
    monkeypatch.setattr(operator_binder, "BLOCK_ITERATIONS", 4)
    monkeypatch.setattr(panels, "PACK_RANGE_BYTES", (1, 1 << 20))


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row counts for which products of a block were bound."""
    seen: list[int] = []
    product = batched_primitives.BatchedPrimitives._batched_product

    def spy(self: batched_primitives.BatchedPrimitives, function: Any, a: Any, b: Any) -> Any:
        seen.append(self.count)
        return product(self, function, a, b)

    monkeypatch.setattr(batched_primitives.BatchedPrimitives, "_batched_product", spy)
    return seen


def layer(
    x_W: str = "x_W = MatMul (x, W)", keep: str = "keep = Identity (c)", cond: str = "", **more: Any
) -> loopdbg.Model:
    return text_with_initializers(LAYER.format(x_W=x_W, keep=keep, cond=cond), **WEIGHTS, **more)


def make_inputs(rows: int = 11, trips: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "M": rows if trips is None else trips, "cond": True, "X": random_floats(rows, 1, 8), "h0": random_floats(1, 8),
        **more
    }  # fmt: skip


def batched_nodes(m: loopdbg.Model) -> list[str]:
    """The nodes that run ahead."""
    return [m.plan.slots[instruction.outputs[0]].name for instruction in m.plan.code if instruction.hoisted is not None]


def run_node_by_node(m: loopdbg.Model, inputs: dict[str, Any]) -> dict[str, Any]:
    """What the model gives where every node runs by itself, in Python."""
    other = loopdbg.Model(m.graph)
    other.run(inputs)
    assert other._engine is not None
    other._engine.binder.native_enabled = False
    other._engine.start(other.check(inputs))
    return other.run(inputs)


def same(have: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert all_exact_bits(have) == all_exact_bits(wanted)


@requires_optimizer
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 11, 12])
@pytest.mark.parametrize(
    "x_W",
    [
        "x_W = MatMul (x, W)",
        "x_W = Gemm <transB = 1, beta = 0.5> (x, W, b)",
        "y = Mul (x, b) z = Relu (y) x_W = MatMul (z, W)",
        "y = MatMul (x, W) x_W = MatMul (x, R)",
    ],
)
def test_a_product_gives_what_it_gives_alone(x_W: str, rows: int, rows_read: list[int]) -> None:
    m = layer(x_W)
    inputs = make_inputs(rows)
    stepped = m.run(inputs, on_iteration=lambda frame: None)
    assert set(rows_read) == {-(-rows // -(-rows // 4))}  # blocks of one size
    assert "x_W" in batched_nodes(m)
    same(stepped, run_node_by_node(m, inputs))
    same(m.run(inputs), stepped)
    for trips in (0, 1, rows - 1):
        same(m.run({**inputs, "M": trips}), run_node_by_node(m, {**inputs, "M": trips}))


@pytest.mark.parametrize(
    "x_W",
    [
        "y = Tanh (x) x_W = MatMul (y, W)",  # NumPy computes several numbers at a time
        "y = MatMul (x, R) x_W = MatMul (y, W)",
        "y = Add (x, h_in) x_W = MatMul (y, W)",
        "y = Add (W, x) x_W = MatMul (x, y)",
    ],
)
def test_varying_nodes_are_not_hoisted(x_W: str) -> None:
    assert "x_W" not in batched_nodes(layer(x_W))
    same(layer(x_W).run(inputs := make_inputs()), run_node_by_node(layer(x_W), inputs))


def test_small_weights_are_not_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "PACK_RANGE_BYTES", (1 << 15, 1 << 23))
    assert batched_nodes(layer()) == []


def test_a_condition_ends_the_loop_anywhere() -> None:
    m = layer(keep="keep = Less (i, stop)", cond="cond", stop=np.array(6))
    inputs = make_inputs(11)
    stops = []
    same(m.run(inputs, on_iteration=lambda frame: stops.append(frame.iteration)), run_node_by_node(m, inputs))
    assert stops[-1] == 7


def test_rows_that_are_not_there_fail_as_ever() -> None:
    m = layer()
    inputs = make_inputs(5, 7)
    with pytest.raises(loopdbg.LoopdbgError) as caught:
        m.run(inputs, on_iteration=lambda frame: None)
    assert (caught.value.op_type, caught.value.iteration) == ("Gather", 5)


def test_what_would_fail_in_an_iteration_that_never_comes() -> None:
    """A block would look a token up that the table does not have."""
    m = text_with_initializers(
        """
    g (int64 M, int64[r] tokens, float[1,8] h0) => (float[1,8] h) {
      h = Loop <body = step (int64 i, bool c, float[1,8] h_in) => (bool keep, float[1,8] h_out) {
        keep = Identity (c)
        token = Gather <axis = 0> (tokens, i)
        x = Gather <axis = 0> (table, token)
        x_W = MatMul (x, W)
        h_out = Add (x_W, h_in)
      }> (M, , h0)
    }""",
        W=WEIGHTS["W"],
        table=random_floats(5, 1, 8),
    )
    assert batched_nodes(m) == ["x_W"]
    inputs = {"M": 20, "tokens": np.arange(40) % 5, "h0": random_floats(1, 8)}
    same(m.run(inputs), run_node_by_node(m, inputs))
    inputs["tokens"][21] = 99
    for _ in range(2):
        same(m.run(inputs), run_node_by_node(m, inputs))
    with pytest.raises(loopdbg.LoopdbgError, match="99") as caught:
        m.run({**inputs, "M": 30})
    assert (caught.value.op_type, caught.value.iteration) == ("Gather", 21)


def test_runs_with_other_rows() -> None:
    m = layer()
    for rows in (3, 1, 0, 9, 9, 2, 30, 7):
        inputs = make_inputs(rows)
        same(m.run(inputs), run_node_by_node(m, inputs))


def test_an_inner_loop_has_its_own_rows_in_each_entry() -> None:
    m = text_with_initializers(NESTED, W=WEIGHTS["W"], zero=np.zeros(1, np.int64))
    assert batched_nodes(m) == ["x_W"]
    inputs = {"M": 9, "X": random_floats(9, 9, 8), "h0": random_floats(1, 8)}
    same(m.run(inputs), run_node_by_node(m, inputs))


@pytest.mark.parametrize(
    ("cell", "states", "shapes"),
    [
        ("LSTMCell", 2, [(32, 6), (32, 8), (32,)]),
        ("GRUCell", 1, [(24, 6), (24, 8), (24,)]),
        ("RNNCell", 1, [(8, 6), (8, 8)]),
    ],
)
def test_a_cell_of_openvino_whose_loop_counts_nothing(cell: str, states: int, shapes: list[Any]) -> None:
    m = cell_model(cell, states, shapes, {})
    assert batched_nodes(m) == ["r00"]
    inputs = {port.name: random_floats(*port.shape) for port in m.inputs}
    stepped = m.run(inputs, on_iteration=lambda frame: None)
    same(stepped, run_node_by_node(m, inputs))


# ------------------------------------------------------------------ while someone looks and changes


@requires_optimizer
def test_profile_marks_a_product_that_runs_ahead() -> None:
    profile = layer().profile(make_inputs(), seconds=0.05)
    assert sorted((node.text.split(" ")[0], node.kind.value) for node in profile.nodes if node.op_type == "MatMul") == [
        ("h_R", "kernel"), ("x_W", "batch"),
    ]  # fmt: skip


@requires_optimizer
def test_every_value_of_every_iteration(rows_read: list[int]) -> None:
    m, inputs = layer(), make_inputs()
    session = loopdbg.debug(m, inputs)
    for i in range(11):
        for _ in range(5):
            session.next_node()
        frame = session.frame
        assert frame.iteration == i
        np.testing.assert_array_equal(frame.values["x"], inputs["X"][i])
        np.testing.assert_array_equal(frame.values["x_W"], panels_product(inputs["X"][i], WEIGHTS["W"]))
        session.step()
    assert 4 in rows_read


def panels_product(x: Any, weights: Any) -> Any:
    """Sums in the order of the weights' rows."""
    return loop_nest.ordered_product(x, weights)


def test_a_row_that_is_changed_is_the_one_that_is_multiplied() -> None:
    m, inputs = layer(), make_inputs()
    session = loopdbg.debug(m, inputs)
    session.until(5)
    while session.frame.values.get("x") is None or not np.array_equal(session.frame.values["x"], inputs["X"][5]):
        session.next_node()
    session.set("x", 2 * inputs["X"][5])
    session.continue_()
    changed = inputs["X"].copy()
    changed[5] *= 2
    assert session.outputs is not None
    same(session.outputs, run_node_by_node(m, {**inputs, "X": changed}))
    # The next execution is as if nothing had been.
    session.restart()
    session.continue_()
    assert session.outputs is not None
    same(session.outputs, run_node_by_node(m, inputs))


def test_weights_that_are_changed() -> None:
    m, inputs = layer(), make_inputs()
    session = loopdbg.debug(m, inputs)
    session.until(3)
    session.set("W", 3 * WEIGHTS["W"])
    session.continue_()
    assert session.outputs is not None
    products = session.outputs["products"]
    np.testing.assert_array_equal(products[:3], run_node_by_node(m, inputs)["products"][:3])
    np.testing.assert_array_equal(products[3:], panels_product(inputs["X"][3:], 3 * WEIGHTS["W"]))


def test_a_part_of_a_sliced_input_that_is_changed() -> None:
    m = cell_model("RNNCell", 1, [(8, 6), (8, 8)], {"activations": "relu"})
    inputs = {port.name: random_floats(*port.shape) for port in m.inputs}
    engine = start_engine(m, inputs)
    value_at(engine, 0, 5)
    engine.clear_stops()
    engine.stop_before_node()
    assert engine.resume()[0] == "node"
    engine.editor.set(m.plan.loops[0].slices[0].inner, 2 * inputs["X"][:, 5:6])
    engine.clear_stops()
    assert engine.resume()[0] == "end"
    changed = inputs["X"].copy()
    changed[:, 5] *= 2
    same(engine.results(), run_node_by_node(m, {**inputs, "X": changed}))


def test_a_checkpoint_taken_after_a_change_is_of_the_changed_execution() -> None:
    """Also in an engine in which no one changed anything; and one from before the change is as if there were none."""
    m, inputs = layer(), make_inputs()
    engine = start_engine(m, inputs)
    value_at(engine, 0, 5)
    before = engine.checkpoints.save()
    x = slot_index(m, "x")
    while not np.array_equal(engine.value(x), inputs["X"][5]):
        engine.clear_stops()
        engine.stop_at_node()
        assert engine.resume()[0] == "node"
    engine.editor.set(x, 2 * inputs["X"][5])
    after = engine.checkpoints.save()
    changed = inputs["X"].copy()
    changed[5] *= 2
    wanted = {before: run_node_by_node(m, inputs), after: run_node_by_node(m, {**inputs, "X": changed})}
    other = start_engine(m, inputs)
    for mark in (after, before, after, before):
        for item in (engine, other):
            item.checkpoints.restore(mark)
            item.clear_stops()
            assert item.resume()[0] == "end"
            same(item.results(), wanted[mark])


def value_at(engine: Engine, index: int, iteration: int) -> None:
    engine.stop_at(index, iteration)
    assert engine.resume()[0] == "boundary"


def test_going_back_within_and_beyond_a_block() -> None:
    m = text_with_initializers(NESTED, W=WEIGHTS["W"], zero=np.zeros(1, np.int64))
    inputs = {"M": 9, "X": random_floats(9, 9, 8), "h0": random_floats(1, 8)}
    wanted = run_node_by_node(m, inputs)
    engine = start_engine(m, inputs)
    marks = []
    for iteration in (0, 3, 4, 7):
        value_at(engine, 1, iteration)
        marks.append(engine.checkpoints.save())
        engine.clear_stops()
    for mark in (marks[1], marks[3], marks[0], marks[2], marks[3], marks[1]):
        engine.checkpoints.restore(mark)
        assert engine.resume()[0] == "end"
        same(engine.results(), wanted)
    # Another engine, which never was where it goes on.
    other = start_engine(m, inputs)
    other.checkpoints.restore(marks[3])
    assert other.resume()[0] == "end"
    same(other.results(), wanted)
