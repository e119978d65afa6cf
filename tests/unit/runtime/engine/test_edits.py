"""What-if: what is set by hand is what the execution goes on with, and nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from comparable_values import exact_bits
from engine_state import finish, resume, slot_index, step
from error_fields import raises_error
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frame import Frame
from optimizer_access import optimizer_of, start_engine
from text_models import BRANCHES, COUNT, NESTED, SUM, model, run


def stopped_engine(
    m: loopdbg.Model, inputs: dict[str, Any], iteration: int, loop: int = 0, hot_after: int = -1
) -> Engine:
    """An engine that is at a boundary of a loop."""
    engine = start_engine(m, inputs, hot_after=hot_after)
    engine.stop_at(loop, iteration)
    assert engine.resume() == ("boundary", loop)
    assert engine.loop_state(loop)[0] == iteration
    engine.clear_stops()
    return engine


def outputs(engine: Engine, m: loopdbg.Model) -> dict[str, Any]:
    assert resume(engine)[0] == "end"
    return engine.results()


@pytest.mark.parametrize("hot_after", [-1, 1])
def test_a_carried_value(hot_after: int) -> None:
    m = model(COUNT)
    engine = stopped_engine(m, {"M": 12, "cond": True, "v0": 0, "bound": 10**6}, 5, hot_after=hot_after)
    engine.editor.set(slot_index(m, "v_in"), 1000)
    assert Frame(engine, 0).carried["v_in"] == 1000
    assert Frame(engine, 0).back_edges[0].previous == 4
    results = outputs(engine, m)
    assert results["v"] == 1007
    np.testing.assert_array_equal(results["s"], [*range(5), *range(1000, 1007)])


@pytest.mark.parametrize("size", [1, 3, 5000])
def test_what_the_iteration_before_yielded_stays_to_be_seen(size: int) -> None:
    m = model(f"""
    g (int64 M, float[{size}] x) => (float[{size}] y) {{
      y = Loop <body = body (int64 i, bool c, float[{size}] a) => (bool c, float[{size}] b) {{
        b = Add (a, a)
      }}> (M, , x)
    }}""")
    engine = stopped_engine(m, {"M": 6, "x": np.ones(size, np.float32)}, 3)
    engine.editor.set(slot_index(m, "a"), np.full(size, 50, np.float32))
    frame = Frame(engine, 0)
    assert frame.values["b"][0] == 8 and frame.back_edges[0].previous[0] == 4 and frame.carried["a"][0] == 50
    checkpoint = engine.checkpoints.save()
    assert outputs(engine, m)["y"][0] == 400
    engine.checkpoints.restore(checkpoint)
    frame = Frame(engine, 0)
    assert frame.values["b"][0] == 8 and frame.back_edges[0].previous[0] == 4 and frame.carried["a"][0] == 50
    assert outputs(engine, m)["y"][0] == 400


def test_a_carried_value_of_another_shape() -> None:
    text = """
    g (int64 M, float[N] x) => (float[R] y) {
      y = Loop <body = body (int64 i, bool c, float[P] a) => (bool c, float[P] b) {
        s = Mul (a, a)
        b = Sqrt (s)
      }> (M, , x)
    }"""
    m = model(text)
    engine = stopped_engine(m, {"M": 6, "x": [1.0, 2.0]}, 3)
    engine.editor.set(slot_index(m, "a"), np.arange(100, dtype=np.float32))
    np.testing.assert_array_equal(outputs(engine, m)["y"], np.arange(100))


def test_a_body_value_holds_until_its_node_runs_again() -> None:
    m = model(SUM)
    engine = stopped_engine(m, {"M": 4, "v0": 0.0}, 1)
    while engine.plan.code[engine.pc].node.op_type != "Mul":  # before e = v_out * v_out
        step(engine)
    engine.editor.set(slot_index(m, "v_out"), 7.0)
    engine.clear_stops()
    results = outputs(engine, m)
    np.testing.assert_array_equal(results["s"], [0, 49, 81, 144])
    assert results["v"] == 12


@pytest.mark.parametrize("shape", [(), (200,)])
def test_a_body_value_of_another_shape(shape: tuple[int, ...]) -> None:
    # The node that makes it is bound on the old shape; it must not write that into the new memory.
    text = """
    g (int64 M, float[3] x) => (float[3] y) {
      y = Loop <body = body (int64 i, bool c, float[3] a) => (bool c, float[3] b) {
        t = Neg (a)
        u = ReduceMax <keepdims = 0> (t)
        b = Add (a, u)
      }> (M, , x)
    }"""
    m = model(text)
    engine = stopped_engine(m, {"M": 5, "x": [1.0, 2.0, 3.0]}, 2)
    while engine.plan.code[engine.pc].node.op_type != "ReduceMax":
        step(engine)
    engine.editor.set(slot_index(m, "t"), np.full(shape, 10, np.float32))
    engine.clear_stops()
    np.testing.assert_array_equal(outputs(engine, m)["y"], run(text, M=2, x=[10.0, 11.0, 12.0])["y"])


@pytest.mark.parametrize("size", [1, 2048])
@pytest.mark.parametrize("hot_after", [-1, 1])
def test_a_constant_of_the_body_and_what_was_folded_from_it(hot_after: int, size: int) -> None:
    text = f"""
    g (int64 M, float[{size}] x) => (float[{size}] y) {{
      y = Loop <body = body (int64 i, bool c, float[{size}] a) => (bool c, float[{size}] b) {{
        one = Constant <value = float[{size}] {{{", ".join(["1"] * size)}}}> ()
        two = Add (one, one)
        four = Mul (two, two)
        b = Add (a, four)
      }}> (M, , x)
    }}"""
    m = model(text)
    inputs = {"M": 9, "x": np.zeros(size, np.float32)}

    def holds(expected: float) -> None:
        np.testing.assert_array_equal(outputs(engine, m)["y"], np.full(size, expected))

    engine = stopped_engine(m, inputs, 4, hot_after=hot_after)
    before = engine.checkpoints.save()
    engine.editor.set(slot_index(m, "one"), np.full(size, 3, np.float32))
    after = engine.checkpoints.save()
    holds(4 * 4 + 5 * 36)
    engine.checkpoints.restore(before)
    holds(4 * 9)
    engine.checkpoints.restore(after)
    holds(4 * 4 + 5 * 36)
    engine.start(m.check(inputs))  # constants are the model's again
    holds(4 * 9)


def test_many_folded_numbers_are_held_once_and_changed_by_themselves() -> None:
    text = f"""
    g (int64 M, float[2048] x) => (float[2048] y) {{
      y = Loop <body = body (int64 i, bool c, float[2048] a) => (bool c, float[2048] b) {{
        one = Constant <value = float[2, 1024] {{{", ".join(["1"] * 2048)}}}> ()
        shape = Constant <value = int64[1] {{2048}}> ()
        flat = Reshape (one, shape)
        t = Add (a, flat)
        all = ReduceSum <keepdims = 0> (one)
        b = Add (t, all)
      }}> (M, , x)
    }}"""
    m = model(text)
    engine = stopped_engine(m, {"M": 4, "x": np.zeros(2048, np.float32)}, 2)
    assert np.shares_memory(engine.peek(slot_index(m, "flat")), engine.peek(slot_index(m, "one")))
    before = engine.checkpoints.save()
    while engine.pc != next(pc for pc, i in enumerate(m.plan.code) if i.outputs == (slot_index(m, "t"),)):
        step(engine)
    engine.editor.set(slot_index(m, "flat"), np.full(2048, 100, np.float32))
    np.testing.assert_array_equal(engine.peek(slot_index(m, "one")), np.ones((2, 1024)))
    engine.clear_stops()
    np.testing.assert_array_equal(outputs(engine, m)["y"], np.full(2048, 4 * 2048 + 3 + 100))
    engine.checkpoints.restore(before)
    np.testing.assert_array_equal(outputs(engine, m)["y"], np.full(2048, 4 * 2049))


def test_a_constant_that_did_not_run_yet() -> None:
    m = model(COUNT)
    engine = stopped_engine(m, {"M": 5, "cond": True, "v0": 0, "bound": 100}, 0)
    before = engine.checkpoints.save()
    engine.editor.set(slot_index(m, "one"), 10)
    after = engine.checkpoints.save()
    assert outputs(engine, m)["v"] == 50
    for checkpoint, expected in ((before, 5), (after, 50), (before, 5)):
        engine.checkpoints.restore(checkpoint)
        assert outputs(engine, m)["v"] == expected


def test_a_folded_value_is_computed_again_in_the_next_iteration() -> None:
    text = """
    g (int64 M, float x) => (float y) {
      y = Loop <body = body (int64 i, bool c, float a) => (bool c, float b) {
        one = Constant <value = float {1}> ()
        two = Add (one, one)
        t = Add (a, two)
        b = Identity (t)
      }> (M, , x)
    }"""
    m = model(text)
    engine = stopped_engine(m, {"M": 5, "x": 0.0}, 2)
    while engine.pc != next(pc for pc, i in enumerate(m.plan.code) if i.outputs == (slot_index(m, "t"),)):
        step(engine)
    engine.editor.set(slot_index(m, "two"), 100.0)
    engine.clear_stops()
    assert outputs(engine, m)["y"] == 4 + 100 + 4


def test_a_capture() -> None:
    m = model(COUNT)
    inputs = {"M": 100, "cond": True, "v0": 0, "bound": 1000}
    engine = stopped_engine(m, inputs, 7)
    engine.editor.set(slot_index(m, "bound"), 20)
    assert outputs(engine, m)["v"] == 20
    engine.start(m.check(inputs))
    assert outputs(engine, m)["v"] == 100


SLICED = """
g (float[5, 2] x, float[2] h0) => (float[2] h, float[5, 2] y) {
  h, y = Scan <num_scan_inputs = 1, body = body (float[2] h1, float[2] row) => (float[2] h2, float[2] out) {
    h2 = Add (h1, row)
    out = Identity (row)
  }> (h0, x)
}
"""
ROWS = np.arange(10, dtype=np.float32).reshape(5, 2)


def test_the_part_of_one_iteration() -> None:
    m = model(SLICED)
    engine = stopped_engine(m, {"x": ROWS, "h0": [0, 0]}, 2)
    engine.editor.set(slot_index(m, "row"), np.float32([50, 60]))
    saved = engine.checkpoints.save()
    for _ in range(2):
        assert exact_bits(Frame(engine, 0).values["row"]) == exact_bits(np.float32([50, 60]))
        np.testing.assert_array_equal(outputs(engine, m)["y"], [[0, 1], [2, 3], [50, 60], [6, 7], [8, 9]])
        engine.checkpoints.restore(saved)


@pytest.mark.parametrize("axis_first", [True, False])
def test_the_outer_value_of_a_sliced_input(axis_first: bool) -> None:
    text = SLICED if axis_first else SLICED.replace("num_scan_inputs = 1", "num_scan_inputs = 1, scan_input_axes = [1]")
    text = text if axis_first else text.replace("float[5, 2] x", "float[2, 5] x")
    x = ROWS if axis_first else np.ascontiguousarray(ROWS.T)
    m = model(text)
    engine = stopped_engine(m, {"x": x, "h0": [0, 0]}, 2)
    engine.editor.set(slot_index(m, "x"), -x)
    np.testing.assert_array_equal(outputs(engine, m)["y"], np.concatenate([ROWS[:2], -ROWS[2:]]))
    np.testing.assert_array_equal(x, ROWS if axis_first else ROWS.T)  # the caller's array is not written
    engine = stopped_engine(m, {"x": x, "h0": [0, 0]}, 2)
    engine.editor.set(slot_index(m, "x"), x[:4] if axis_first else x[:, :4])
    assert outputs(engine, m)["y"].shape == (4, 2)
    engine = stopped_engine(m, {"x": x, "h0": [0, 0]}, 2)
    with raises_error(loopdbg.UsageError, name="x", loop="Scan_0", expected="a tensor of numbers") as caught:
        engine.editor.set(slot_index(m, "x"), None)
    assert (caught.value.name, caught.value.expected) == ("x", "a tensor of numbers")
    with pytest.raises(loopdbg.UsageError, match="no axis") as caught:
        engine.editor.set(slot_index(m, "x"), np.float32(1))
    assert caught.value.fields == {"name": "x"}
    np.testing.assert_array_equal(outputs(engine, m)["y"], ROWS)


@pytest.mark.parametrize("hot_after", [-1, 1])
def test_the_iteration_number_of_one_iteration(hot_after: int) -> None:
    m = model(SUM)
    engine = stopped_engine(m, {"M": 5, "v0": 0.0}, 3, hot_after=hot_after)
    engine.editor.set(slot_index(m, "i"), 100)
    assert outputs(engine, m)["v"] == 0 + 1 + 2 + 100 + 4
    engine = stopped_engine(m, {"M": 5, "v0": 0.0}, 3)
    with raises_error(loopdbg.UsageError, name="i", expected="int64 []", got="float32 []") as caught:
        engine.editor.set(slot_index(m, "i"), np.float32(1))
    assert caught.value.fields == {"name": "i", "expected": "int64 []", "got": "float32 []"}


def test_a_sequence_is_copied() -> None:
    text = """
    g (int64 M, seq(float[N]) s) => (seq(float[N]) t, int64[R] lengths) {
      t, lengths = Loop <body = body (int64 i, bool c, seq(float[N]) a) => (bool c, seq(float[N]) b, int64 n) {
        n = SequenceLength (a)
        b = Identity (a)
      }> (M, , s)
    }"""
    m = model(text)
    engine = stopped_engine(m, {"M": 3, "s": [np.float32([1])]}, 1)
    mine = [np.float32([1]), np.float32([2])]
    engine.editor.set(slot_index(m, "a"), mine)
    mine[0][0] = 9
    mine.clear()
    results = outputs(engine, m)
    np.testing.assert_array_equal(results["lengths"], [1, 2, 2])
    assert [part.tolist() for part in results["t"]] == [[1.0], [2.0]]
    with raises_error(loopdbg.UsageError, name="a", got="object") as caught:
        engine.editor.set(slot_index(m, "a"), object())
    assert caught.value.fields == {"name": "a", "got": "object"}


# ------------------------------------------------------------------ condition and trip count


@pytest.mark.parametrize("hot_after", [-1, 1])
def test_a_condition_set_to_false_ends_the_loop(hot_after: int) -> None:
    m = model(COUNT)
    engine = stopped_engine(m, {"M": 50, "cond": True, "v0": 0, "bound": 100}, 7, hot_after=hot_after)
    engine.editor.set_condition(0, False)
    assert Frame(engine, 0).stopped_by == "condition"
    assert outputs(engine, m)["v"] == 7
    assert engine.loops.totals(0)[:3] == (7, 1, {"condition": 1})


@pytest.mark.parametrize("hot_after", [-1, 1])
def test_a_loop_that_ends_goes_on(hot_after: int) -> None:
    m = model(COUNT)
    engine = stopped_engine(m, {"M": 50, "cond": True, "v0": 0, "bound": 7}, 7, hot_after=hot_after)
    assert Frame(engine, 0).stopped_by == "condition"
    engine.editor.set_condition(0, True)
    assert Frame(engine, 0).stopped_by is None
    assert outputs(engine, m)["v"] == 8  # what the body yields next is false again
    engine = stopped_engine(m, {"M": 7, "cond": True, "v0": 0, "bound": 100}, 7)
    assert Frame(engine, 0).stopped_by == "trip_count"
    engine.editor.set_trip_count(0, 20)
    assert Frame(engine, 0).trip_count == 20
    results = outputs(engine, m)
    assert results["v"] == 20
    np.testing.assert_array_equal(results["s"], np.arange(20))


@pytest.mark.parametrize("hot_after", [-1, 1])
def test_a_trip_count_inside_an_iteration(hot_after: int) -> None:
    m = model(NESTED)
    engine = stopped_engine(m, {"M": 4, "K": 3}, 2, loop=1, hot_after=hot_after)
    engine.editor.set_trip_count(1, 5)
    engine.editor.set_trip_count(0, 2)
    outputs(engine, m)
    assert engine.loops.totals(0)[:2] == (2, 1)
    assert engine.loops.totals(1)[:2] == (5 + 3, 2)  # the next entry has its own again
    engine.start(m.check({"M": 4, "K": 3}))
    engine.stop_at(0, 1)
    engine.resume()
    engine.editor.set_trip_count(0, None)
    engine.set_limits(100)
    engine.clear_stops()
    assert engine.resume() == ("limit", 0)


def test_the_condition_input_of_the_body_follows() -> None:
    text = """
    g (int64 M) => (bool[N] seen) {
      seen = Loop <body = body (int64 i, bool c) => (bool keep, bool e) {
        e = Identity (c)
        keep = Not (c)
      }> (M, yes)
    }""".replace("seen = Loop", "yes = Constant <value = bool {1}> ()\n      seen = Loop")
    m = model(text)
    engine = stopped_engine(m, {"M": 9}, 1)
    assert Frame(engine, 0).stopped_by == "condition"
    engine.editor.set_condition(0, True)
    assert outputs(engine, m)["seen"].tolist() == [True, True]


def test_unsettable_values_are_refused() -> None:
    m = model(NESTED)
    engine = stopped_engine(m, {"M": 4, "K": 3}, 1, loop=1)
    with pytest.raises(loopdbg.UsageError, match="only at one of its boundaries"):
        engine.editor.set_condition(0, False)
    with pytest.raises(loopdbg.UsageError, match="0 or more"):
        engine.editor.set_trip_count(1, -1)
    finish(engine, m)
    with pytest.raises(loopdbg.UsageError, match="is not running"):
        engine.editor.set_trip_count(0, 3)


def test_last_taken_branch_is_reported_in_every_mode() -> None:
    m = model(BRANCHES)
    engine = stopped_engine(m, {"M": 50, "v0": 0.0}, 30, hot_after=1)
    assert optimizer_of(engine).program_runs
    (branch,) = [pc for pc, i in enumerate(m.plan.code) if i.kind.name == "BRANCH"]
    assert engine.loops.branch_taken(branch) is False  # iteration 29 was odd
