"""The engine: boundaries, back edges, shapes that change, stops, limits, hooks."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import loopdbg
from engine_state import CHook
from error_fields import raises_error
from loopdbg.runtime.engine import engine as engines
from loopdbg.runtime.engine import selfcheck
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.graph import StoppedBy
from loopdbg.runtime.plan.plan import Opcode
from optimizer_access import optimizer_of, requires_unchecked_build, start_engine
from text_models import BRANCHES, COUNT, NESTED, SUM, model, run


def native_nodes(m: loopdbg.Model) -> dict[str, bool]:
    """Node's first output -> bound to kernels after a run."""
    engine = m._engine
    assert engine is not None
    return {
        m.plan.slots[i.outputs[0]].name: engine.binder.is_native(pc)
        for pc, i in enumerate(m.plan.code)
        if i.kind is Opcode.NODE and i.outputs
    }


# ------------------------------------------------------------------ trip count and condition


@pytest.mark.parametrize("trips", [0, 1, 2, 1000])
def test_for_loop(trips: int) -> None:
    outputs = run(SUM, M=trips, v0=1.0)
    sums = np.float32(1) + np.cumsum(np.arange(trips, dtype=np.float32))
    assert outputs["v"] == (sums[-1] if trips else 1)
    np.testing.assert_array_equal(outputs["s"], sums * sums)
    assert outputs["s"].shape == (trips,)


@pytest.mark.parametrize(
    ("trips", "cond", "start", "bound", "expected", "reason"),
    [
        (5, True, 0, 100, 5, "trip_count"),
        (100, True, 0, 5, 5, "condition"),
        (5, True, 0, 5, 5, "condition"),  # both fall together: the condition is named
        (5, False, 0, 100, 0, "condition"),
        (0, True, 0, 100, 0, "trip_count"),
        (0, False, 0, 100, 0, "condition"),
        (5, True, 50, 5, 1, "condition"),  # the iteration that yields false counts
        (-3, True, 0, 100, 0, "trip_count"),  # ONNX: negative runs no trips
    ],
)
def test_why_a_loop_ends(trips: int, cond: bool, start: int, bound: int, expected: int, reason: str) -> None:
    result = model(COUNT).execute({"M": trips, "cond": cond, "v0": start, "bound": bound})
    assert result.outputs["v"] == start + expected
    np.testing.assert_array_equal(result.outputs["s"], np.arange(start, start + expected))
    assert (result.loops[0].iterations, result.loops[0].stopped_by) == (expected, reason)


def test_an_absent_condition_ignores_what_the_body_yields() -> None:
    outputs = run(COUNT.replace("(M, cond, v0)", "(M, , v0)"), M=4, cond=True, v0=10, bound=0)
    assert outputs["v"] == 14


def test_one_element_vectors_serve_as_trip_count_and_condition() -> None:
    text = COUNT.replace("(int64 M, bool cond,", "(int64[1] M, bool[1] cond,")
    assert run(text, M=[3], cond=[True], v0=0, bound=9)["v"] == 3


def test_a_trip_count_of_two_elements_is_an_error() -> None:
    text = COUNT.replace("(int64 M,", "(int64[2] M,")
    with raises_error(
        loopdbg.ExecutionError, loop="Loop_0", name="M", expected="one integer", got="int64 [2]"
    ) as caught:
        run(text, M=[3, 4], cond=True, v0=0, bound=9)
    assert caught.value.fields == {"loop": "Loop_0", "name": "M", "expected": "one integer", "got": "int64 [2]"}


def test_64_bit_integers_stay_64_bits() -> None:
    text = COUNT.replace("Add (v_in, one)", "Add (v_in, v_in)")
    assert run(text, M=3, cond=True, v0=2**30, bound=2**62)["v"] == 2**33


def test_nested_loops_count_every_entry() -> None:
    m = model(NESTED)
    result = m.execute({"M": 4, "K": 3})
    # inner adds i*(0+1+2); the scan collects the running totals of each entry
    assert result.outputs["total"] == sum(3 * i for i in range(4))
    np.testing.assert_array_equal(result.outputs["seen"], [0, 0 + 1 + 3, 3 + 5 + 9, 9 + 12 + 18])
    outer, inner = result.loops
    assert (outer.iterations, outer.entries, inner.iterations, inner.entries) == (4, 1, 12, 4)
    assert inner.reasons == {"trip_count": 4}
    assert inner.path == "main ▸ " + outer.name + " ▸ " + inner.name


def test_an_inner_loop_of_changing_length() -> None:
    text = NESTED.replace("(K, , t)", "(i, , t)")
    outputs = run(text, M=5, K=0)
    assert outputs["total"] == sum(i * j for i in range(5) for j in range(i))


# ------------------------------------------------------------------ back edges

SWAP = """
swap (int64 M, float[2] p, float[2] q) => (float[2] a, float[2] b) {
  a, b = Loop <
    body = body (int64 i, bool c, float[2] x, float[2] y) => (bool c, float[2] y, float[2] x) { }
  > (M, , p, q)
}
"""


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_pass_through_values_swap(trips: int) -> None:
    outputs = run(SWAP, M=trips, p=[1, 1], q=[2, 2])
    first, second = ([1, 1], [2, 2]) if trips % 2 == 0 else ([2, 2], [1, 1])
    np.testing.assert_array_equal(outputs["a"], first)
    np.testing.assert_array_equal(outputs["b"], second)


def test_one_result_feeds_two_back_edges() -> None:
    text = """
    two (int64 M, float a0, float b0) => (float a, float b) {
      a, b = Loop <body = body (int64 i, bool c, float x, float y) => (bool c, float s, float s) {
        s = Add (x, y)
      }> (M, , a0, b0)
    }"""
    assert run(text, M=3, a0=1, b0=2) == {"a": 12, "b": 12}
    assert run(text, M=0, a0=1, b0=2) == {"a": 1, "b": 2}


def test_a_constant_carried_back_is_not_written_over() -> None:
    text = """
    k (int64 M, float a0) => (float a, float[N] s) {
      a, s = Loop <body = body (int64 i, bool c, float x) => (bool c, float k, float e) {
        k = Constant <value = float {7}> ()
        e = Add (x, k)
      }> (M, , a0)
    }"""
    outputs = run(text, M=3, a0=1)
    assert outputs["a"] == 7
    np.testing.assert_array_equal(outputs["s"], [8, 14, 14])


def test_the_iteration_number_can_be_scanned_and_carried_directly() -> None:
    text = """
    it (int64 M, int64 v0) => (int64 last, int64[N] s) {
      last, s = Loop <body = body (int64 i, bool c, int64 v) => (bool c, int64 i, int64 i) { }> (M, , v0)
    }"""
    outputs = run(text, M=4, v0=9)
    assert outputs["last"] == 3
    np.testing.assert_array_equal(outputs["s"], [0, 1, 2, 3])


def test_a_captured_value_can_be_carried() -> None:
    text = """
    cap (int64 M, float[2] w, float[2] v0) => (float[2] v) {
      v = Loop <body = body (int64 i, bool c, float[2] x) => (bool c, float[2] y) { y = Identity (w) }> (M, , v0)
    }"""
    np.testing.assert_array_equal(run(text, M=2, w=[5, 6], v0=[0, 0])["v"], [5, 6])
    np.testing.assert_array_equal(run(text, M=0, w=[5, 6], v0=[0, 0])["v"], [0, 0])


def test_a_carried_value_may_grow() -> None:
    text = """
    grow (int64 M, float[K] v0) => (float[L] v, float[N] s) {
      v, s = Loop <body = body (int64 i, bool c, float[A] x) => (bool c, float[B] y, float total) {
        f = Cast <to = 1> (i)
        axes = Constant <value = int64[1] {0}> ()
        row = Unsqueeze (f, axes)
        y = Concat <axis = 0> (x, row)
        total = ReduceSum <keepdims = 0> (y)
      }> (M, , v0)
    }"""
    m = model(text)
    for trips in (3, 0, 50):  # the same engine, from its grown shapes back to the first
        outputs = m.run({"M": trips, "v0": np.array([10, 20], np.float32)})
        np.testing.assert_array_equal(outputs["v"], [10, 20, *range(trips)])
        np.testing.assert_array_equal(outputs["s"], 30 + np.cumsum(np.arange(trips)))


def test_a_carried_value_may_change_its_rank() -> None:
    text = """
    rank (int64 M, float[2] v0) => (float v) {
      v = Loop <body = body (int64 i, bool c, float x) => (bool c, float y) {
        axes = Constant <value = int64[1] {0}> ()
        y = Unsqueeze (x, axes)
      }> (M, , v0)
    }"""
    m = model(text)
    value = m.graph.outputs[0]
    value.type = loopdbg.TensorType(np.dtype(np.float32), None)
    assert m.run({"M": 3, "v0": np.ones(2, np.float32)})["v"].shape == (1, 1, 1, 2)


def test_a_carried_value_keeps_its_dtype() -> None:
    text = """
    d (int64 M, float v0) => (float v) {
      v = Loop <body = body (int64 i, bool c, float x) => (bool c, double y) { y = Cast <to = 11> (x) }> (M, , v0)
    }"""
    with raises_error(
        loopdbg.ExecutionError, loop="Loop_0", iteration=0, name="x", expected="float32", got="float64"
    ) as caught:
        run(text, M=2, v0=1)
    assert (caught.value.loop, caught.value.iteration, caught.value.name) == ("Loop_0", 0, "x")
    assert (caught.value.expected, caught.value.got) == ("float32", "float64")


def test_sequences_are_carried() -> None:
    text = """
    seq (int64 M) => (seq(float[K]) v) {
      empty = SequenceEmpty <dtype = 1> ()
      v = Loop <body = body (int64 i, bool c, seq(float[K]) x) => (bool c, seq(float[K]) y) {
        f = Cast <to = 1> (i)
        axes = Constant <value = int64[1] {0}> ()
        row = Unsqueeze (f, axes)
        y = SequenceInsert (x, row)
      }> (M, , empty)
    }"""
    got = run(text, M=3)["v"]
    assert [x.tolist() for x in got] == [[0.0], [1.0], [2.0]]
    assert run(text, M=0)["v"] == []


# ------------------------------------------------------------------ scan outputs


def scan_of(shape_expression: str) -> str:
    return f"""
    s (int64 M) => (float[N] s) {{
      yes = Constant <value = bool {{1}}> ()
      s = Loop <body = body (int64 i, bool c) => (bool c, float[A] e) {{
        one = Constant <value = int64[1] {{1}}> ()
        two = Constant <value = int64[1] {{2}}> ()
        three = Constant <value = int64[1] {{3}}> ()
        row = Reshape (i, one)
        shape = {shape_expression}
        zero = Constant <value = float {{0}}> ()
        e = Expand (zero, shape)
      }}> (M, yes)
    }}"""


def test_scan_elements_of_changing_size_are_an_error() -> None:
    with raises_error(loopdbg.ExecutionError, loop="Loop_1", iteration=1, name="s", expected="[1]", got="[2]"):
        run(scan_of("Add (row, one)"), M=3)


def test_scan_elements_of_one_byte_count_but_two_shapes_are_an_error() -> None:
    text = scan_of("Where (even, up, down)").replace(
        "shape =",
        """zero64 = Constant <value = int64[1] {0}> ()
           rest = Mod (row, two)
           even = Equal (rest, zero64)
           up = Concat <axis = 0> (two, three)
           down = Concat <axis = 0> (three, two)
           shape =""",
    )
    with pytest.raises(loopdbg.ExecutionError) as caught:
        run(text, M=3)
    assert (caught.value.loop, caught.value.iteration, caught.value.name) == ("Loop_1", 1, "s")
    assert (caught.value.expected, caught.value.got) == ("[2, 3]", "[3, 2]")


def test_zero_trips_give_an_empty_scan_of_the_declared_element() -> None:
    text = SUM.replace("float[N] s", "float[N, 2, 3] s").replace("float e)", "float[2, Q] e)")
    assert run(text, M=0, v0=0)["s"].shape == (0, 2, 0)


def test_a_large_scan_output() -> None:
    text = SUM.replace("float e)", "float[1000] e)").replace(
        "e = Mul (v_out, v_out)", "n = Constant <value = int64[1] {1000}> () e = Expand (v_out, n)"
    )
    m = model(text)
    for _ in range(2):  # the second run must not see the first one's buffer
        outputs = m.run({"M": 70, "v0": np.float32(0)})
        assert outputs["s"].shape == (70, 1000)
        np.testing.assert_array_equal(outputs["s"][:, 0], np.cumsum(np.arange(70)))
        np.testing.assert_array_equal(outputs["s"][:, 999], outputs["s"][:, 0])


# ------------------------------------------------------------------ kinds of instruction


def test_ordinary_bodies_are_native() -> None:
    m = model(SUM)
    m.run({"M": 3, "v0": np.float32(0)})
    assert native_nodes(m) == {"keep": True, "f": True, "v_out": True, "e": True}


def test_a_python_node_leaves_its_neighbours_native() -> None:
    text = SUM.replace("e = Mul (v_out, v_out)", "d = Det (m) w = Add (v_out, d) e = Mul (w, w)").replace(
        "float v0)", "float v0, float[2, 2] m)"
    )
    m = model(text)
    outputs = m.run({"M": 3, "v0": np.float32(0), "m": np.eye(2, dtype=np.float32) * 2})
    np.testing.assert_array_equal(outputs["s"], [16, 25, 49])
    assert native_nodes(m) == {"keep": True, "f": True, "v_out": True, "d": False, "w": True, "e": True}


def test_native_and_python_instructions_agree() -> None:
    for text, inputs in ((SUM, {"M": 9, "v0": 0.5}), (NESTED, {"M": 4, "K": 5})):
        m = model(text)
        results = []
        for native in (True, False):
            engine = start_engine(m, inputs, native=native)
            assert engine.resume() == ("end", -1)
            results.append(engine.results())
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, results[1][name])


def test_an_engine_serves_runs_of_different_shapes() -> None:
    text = """
    e (int64 M, float[N, 3] v0, float[3] w) => (float[N, 3] v) {
      v = Loop <body = body (int64 i, bool c, float[N, 3] x) => (bool c, float[N, 3] y) { y = Mul (x, w) }> (M, , v0)
    }"""
    m = model(text)
    for rows in (1, 4, 2, 4):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        got = m.run({"M": 2, "v0": x, "w": np.array([1, 2, 3], np.float32)})["v"]
        np.testing.assert_array_equal(got, x * [1, 4, 9])


def test_a_failing_node_is_named_with_its_iteration() -> None:
    text = """
    g (int64 M, float[3] x) => (float[N] s) {
      yes = Constant <value = bool {1}> ()
      s = Loop <body = body (int64 i, bool c) => (bool c, float e) { [pick] e = Gather (x, i) }> (M, yes)
    }"""
    with pytest.raises(loopdbg.ExecutionError, match=r"Gather 'pick' .opset 21. in loop '.*', iteration 3: ") as caught:
        run(text, M=5, x=[1, 2, 3])
    error = caught.value
    assert (error.node, error.op_type, error.loop, error.iteration) == ("pick", "Gather", "Loop_1", 3)


def test_integer_division_by_zero_is_an_error_not_a_crash() -> None:
    text = COUNT.replace("keep = Less (v_out, bound)", "keep = Less (v_out, bound)  q = Div (v_out, bound)")
    with pytest.raises(loopdbg.ExecutionError) as caught:
        run(text, M=2, cond=True, v0=0, bound=0)
    assert (caught.value.op_type, caught.value.iteration) == ("Div", 0)


# ------------------------------------------------------------------ If


def test_if_takes_the_branch_of_each_iteration() -> None:
    outputs = run(BRANCHES, M=5, v0=1)
    np.testing.assert_array_equal(outputs["s"], [2, 4, 5, 25, 26])


# ------------------------------------------------------------------ hooks, stops, limits


def test_a_hook_sees_every_boundary_of_every_loop() -> None:
    seen: list[Any] = []
    m = model(NESTED)
    m.run({"M": 2, "K": 2}, on_iteration=lambda f: seen.append((f.name, f.iteration, f.stopped_by)))
    outer, inner = m.loops[0].name, m.loops[0].children[0].name
    results = [(inner, 0, None), (inner, 1, None), (inner, 2, "trip_count")]
    assert seen == [(outer, 0, None), *results, (outer, 1, None), *results, (outer, 2, "trip_count")]


def test_a_hook_sees_what_back_edges_carry() -> None:
    seen: list[Any] = []

    def hook(frame: loopdbg.Frame) -> None:
        edge = frame.back_edges[0]
        seen.append((edge.previous, edge.value, frame.carried["v_in"], list(frame.scan_outputs["s"])))

    model(COUNT).run({"M": 3, "cond": True, "v0": 5, "bound": 99}, on_iteration=hook)
    assert seen == [(None, 5, 5, []), (5, 6, 6, [5]), (6, 7, 7, [5, 6]), (7, 8, 8, [5, 6, 7])]


def test_an_old_frame_says_that_it_is_over() -> None:
    frames: list[loopdbg.Frame] = []
    model(COUNT).run({"M": 3, "cond": True, "v0": 5, "bound": 99}, on_iteration=frames.append)
    with pytest.raises(loopdbg.UsageError, match="this frame is over"):
        _ = frames[0].carried


def test_an_error_in_a_hook_reaches_the_caller_and_the_model_runs_again() -> None:
    m = model(COUNT)
    inputs = {"M": 3, "cond": True, "v0": 5, "bound": 99}
    with pytest.raises(ZeroDivisionError):
        m.run(inputs, on_iteration=lambda frame: 1 // 0)
    assert m.run(inputs)["v"] == 8


def test_a_c_hook_sees_carried_values_and_can_stop() -> None:
    seen: list[tuple[int, int]] = []

    @CHook
    def hook(context: int, view: Any) -> int:
        v = view.contents
        value = ctypes.cast(v.carried[0], ctypes.POINTER(ctypes.c_int64)).contents.value
        seen.append((v.iteration, value))
        return int(value == 12)

    m = model(COUNT)
    engine = start_engine(m, {"M": 9, "cond": True, "v0": 10, "bound": 99})
    engine.set_c_hook(ctypes.cast(hook, ctypes.c_void_p).value or 0)
    assert engine.resume() == ("boundary", 0)
    assert seen == [(0, 10), (1, 11), (2, 12)]
    engine.set_c_hook(0)
    assert engine.resume() == ("end", -1)
    assert engine.results()["v"] == 19


ENDLESS = COUNT.replace("(M, cond, v0)", "( , cond, v0)")


def test_a_limit_stops_a_loop() -> None:
    result = model(ENDLESS).execute({"M": 0, "cond": True, "v0": 0, "bound": 10**9}, max_iterations=1000)
    assert (result.stopped_by, result.loops[0].iterations, result.loops[0].stopped_by) == ("limit", 1000, "limit")
    with raises_error(loopdbg.LimitError, loop="Loop_0", iteration=7) as caught:
        model(ENDLESS).run({"M": 0, "cond": True, "v0": 0, "bound": 10**9}, max_iterations=7)
    assert (caught.value.loop, caught.value.iteration) == ("Loop_0", 7)


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert model(COUNT).run({"M": 7, "cond": True, "v0": 0, "bound": 99}, max_iterations=7)["v"] == 7


@pytest.mark.parametrize(
    "text",
    [
        COUNT.replace("(M, cond, v0)", "( , , v0)"),
        COUNT.replace("(M, cond, v0)", "( , cond, v0)").replace("Less (v_out, bound)", "Identity (c)"),
        COUNT.replace("(M, cond, v0)", "( , cond, v0)").replace("Less (v_out, bound)", "Less (bound, one)"),
    ],
    ids=["no limiter", "condition passed through", "condition of invariants"],
)
def test_a_loop_that_nothing_can_end_is_refused(text: str) -> None:
    m = model(text)
    inputs = {"M": 0, "cond": True, "v0": 0, "bound": 0}
    with raises_error(loopdbg.LimitError, loop="Loop_0", iteration=None) as caught:
        m.run(inputs)
    assert caught.value.fields == {"loop": "Loop_0"}
    assert m.execute(inputs, max_iterations=20).loops[0].iterations == 20


def test_an_unchanging_condition_that_is_false_ends_after_one_iteration() -> None:
    text = COUNT.replace("(M, cond, v0)", "( , cond, v0)").replace("Less (v_out, bound)", "Less (bound, one)")
    assert run(text, M=0, cond=True, v0=0, bound=5)["v"] == 1


def test_interrupt_stops_at_a_boundary_and_everything_can_be_seen() -> None:
    session = loopdbg.debug(model(ENDLESS), {"M": 0, "cond": True, "v0": 0, "bound": 2**62})

    def interrupt() -> None:
        while not any(loop.iteration for loop in session.underway.values()):
            time.sleep(0.01)
        session.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    stop = session.continue_()
    thread.join()
    assert stop.reason == "interrupt"
    frame = session.frame
    assert frame.at_boundary
    assert frame.iteration == frame.carried["v_in"] == len(frame.scan_outputs["s"]) > 0
    before = frame.iteration
    assert session.step().reason == "step"
    assert session.frame.iteration == before + 1


def test_ctrl_c_before_a_run_asked_for_signals_stops_it() -> None:
    m = model(COUNT)
    inputs = m.check({"M": 1000, "cond": True, "v0": 0, "bound": 2000})
    engine = Engine(m.plan)
    optimizer_of(engine)  # without it a run so short asks for nothing before its end
    engine.start(inputs)
    assert engine.resume() == ("end", -1)
    engine.start(inputs)  # everything is bound now, and no signal is asked for until the loop is hot
    engine.set_c_hook(ctypes.cast(ctypes.CDLL(None)["raise"], ctypes.c_void_p).value or 0, signal.SIGINT)
    assert engine.resume() == ("interrupt", -1)
    engine.set_c_hook(0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert 0 < engine.loop_state(0)[0] < 1000
    engine.clear_interrupt()
    assert engine.resume() == ("end", -1)
    assert engine.results()["v"] == 1000


@pytest.mark.skipif(
    not engines.is_checked_build, reason="only builds with bounds checks compare iterations with a plain engine"
)
@pytest.mark.parametrize("how", ["stop_anywhere", "interrupt"])
def test_a_stop_that_is_asked_for_while_iterations_are_compared(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    m = model(COUNT)
    engine = Engine(m.plan)
    optimizer_of(engine)
    engine.start(m.check({"M": 1000, "cond": True, "v0": 0, "bound": 2000}))
    state, asked = selfcheck.execution_state, []

    def state_and_stop(of: Engine) -> list[Any]:
        """The plain engine has run; the other one is about to."""
        if not asked:
            asked.append(of is not engine)
            getattr(engine, how)()
        return state(of)

    monkeypatch.setattr(selfcheck, "state", state_and_stop)
    assert engine.resume()[0] == ("boundary" if how == "stop_anywhere" else "interrupt")
    assert asked == [True] and engine.loop_state(0)[0] < 1000
    engine.clear_stops()
    assert engine.resume() == ("end", -1)
    assert engine.results()["v"] == 1000


def test_an_interrupt_stops_between_the_nodes_of_a_long_body() -> None:
    lines = "\n".join(f"m{k + 1} = MatMul (m{k}, m{k})" for k in range(400))
    text = f"""
    long (int64 M, float[400, 400] m0) => (float[400, 400] v) {{
      v = Loop <body = body (int64 i, bool c, float[400, 400] x) => (bool c, float[400, 400] y) {{
        {lines}
        y = Identity (m400)
      }}> (M, , m0)
    }}"""
    session = loopdbg.debug(model(text), {"M": 1000, "m0": np.eye(400, dtype=np.float32)})
    threading.Timer(0.3, session.interrupt).start()
    stop = session.continue_()
    assert stop.reason == "interrupt"
    assert session.frame.iteration < 1000
    assert "m1" in session.frame.values


def test_an_operator_with_too_few_outputs_is_an_error() -> None:
    with raises_error(loopdbg.ExecutionError, node="Neg_0", op_type="Neg", expected="2 outputs", got="1") as caught:
        run("g (float x) => (float y) { y, z = Neg (x) }", x=1)
    error = caught.value
    assert (error.op_type, error.loop, error.expected, error.got) == ("Neg", None, "2 outputs", "1")


def test_two_threads_run_one_model() -> None:
    m = model(COUNT)
    results: list[Any] = []

    def work(start: int) -> None:
        for _ in range(20):
            results.append((start, int(m.run({"M": 500, "cond": True, "v0": start, "bound": 10**6})["v"])))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all(got == start + 500 for start, got in results)


def test_inputs_are_not_written() -> None:
    x = np.array([1, 1], np.float32)
    y = np.array([2, 2], np.float32)
    run(SWAP, M=3, p=x, q=y)
    np.testing.assert_array_equal(x, [1, 1])
    np.testing.assert_array_equal(y, [2, 2])


def _inner(k: int, body: str, trips: str, start: str) -> str:
    return f"""r{k} = Loop <body = b{k} (int64 i{k}, bool c{k}, int64 u{k}) => (bool k{k}, int64 o{k}) {{
        k{k} = Identity (c{k})
        {body}
    }}> ({trips}, , {start})"""


@requires_unchecked_build
def test_loops_nested_as_deep_as_a_file_can_hold() -> None:
    depth = 28
    text = "o0 = Add (u0, one)"
    for k in range(depth):
        text = _inner(k, text, "many" if k == depth - 1 else "one", f"u{k + 1}" if k < depth - 1 else "v0")
        if k < depth - 1:
            text += f"\no{k + 1} = Identity (r{k})"
    constants = "one = Constant <value = int64 {1}> () many = Constant <value = int64 {300}> ()"
    m = model(f"deep (int64 v0) => (int64 r{depth - 1}) {{ {constants} {text} }}")
    result = m.execute({"v0": 7})
    assert list(result.outputs.values()) == [307]
    assert [loop.iterations for loop in result.loops] == [300] * depth
    assert m._engine is not None
    assert optimizer_of(m._engine).program_runs == 1


def test_why_an_inner_loop_ended_in_a_scalar_program() -> None:
    """By its trip count, and in the last iterations of the outer loop by its condition."""
    m = model("""
    g (int64 M, int64 five, bool yes) => (int64 total) {
      total = Loop <body = outer (int64 i, bool c, int64 t) => (bool c_out, int64 t_out) {
        c_out = Identity (c)
        left = Sub (M, i)
        t_out = Loop <body = inner (int64 j, bool d, int64 u) => (bool d_out, int64 u_out) {
          less = Less (j, left)
          d_out = Identity (less)
          u_out = Add (u, j)
        }> (five, yes, t)
      }> (M, , five)
    }""")
    inputs = {"M": 400, "five": 5, "yes": True}
    run = m.execute(inputs)
    assert m._engine is not None
    assert optimizer_of(m._engine).program_runs
    assert run.loops[1].reasons == {StoppedBy.TRIP_COUNT: 396, StoppedBy.CONDITION: 4}
    assert run.loops[1].stopped_by is StoppedBy.CONDITION
    assert m._engine.loop_state(1)[:2] == (2, 5)


def test_more_loops_in_a_body_than_a_scalar_program_holds() -> None:
    count = 70
    lines = [_inner(k, f"o{k} = Add (u{k}, one)", "one", f"r{k - 1}" if k else "x") for k in range(count)]
    text = f"""
    wide (int64 M, int64 v0) => (int64 v) {{
      one = Constant <value = int64 {{1}}> ()
      v = Loop <body = body (int64 i, bool c, int64 x) => (bool c, int64 y) {{
        {chr(10).join(lines)}
        y = Identity (r{count - 1})
      }}> (M, , v0)
    }}"""
    assert run(text, M=300, v0=0)["v"] == 300 * count


def test_what_the_engine_writes_begins_with_a_cache_line() -> None:
    """Results, what is carried, what is kept of before, and scan outputs, from 1 KB on."""
    m = model("""
        lined (int64 M, float[16, 17] x0) => (float[16, 17] x, float[n, 16, 17] xs, float[16, 17] y) {
          x, xs = Loop (M, , x0) <body = body (int64 i, bool c, float[16, 17] v)
              => (bool k, float[16, 17] w, float[16, 17] s) {
            k = Identity (c)
            t = Tanh (v)
            w = Add (t, v)
            s = Transpose <perm = [0, 1]> (v)
          }>
          h = Exp (x)
          y = Neg (h)
        }
    """)
    m.run({"M": 40, "x0": np.ones((16, 17), np.float32)})
    engine = m._engine
    assert engine is not None
    results = [slot for i in m.plan.code for slot in i.outputs if slot >= 0]
    large = [value for value in map(engine.memory.peek, results) if value is not None and value.nbytes >= 1024]
    assert len(large) > 3
    assert [value.__array_interface__["data"][0] % 64 for value in large] == [0] * len(large)


COLLECTS = """
    collects (int64 M, float[1000] x0) => (float[1000] x, float[n, 1000] xs) {
      x, xs = Loop (M, , x0) <body = body (int64 i, bool c, float[1000] v)
          => (bool k, float[1000] w, float[1000] s) {
        k = Identity (c)
        w = Add (v, x0)
        s = Identity (v)
      }>
    }
"""


def collected(m: loopdbg.Model, x0: float, trips: int = 400) -> Any:
    """Run, and the scan output where the engine has it."""
    outputs = m.run({"M": trips, "x0": np.full(1000, x0, np.float32)})
    expected = np.arange(1, trips + 1, dtype=np.float32)[:, None] * np.full(1000, x0, np.float32)
    np.testing.assert_array_equal(outputs["xs"], expected)
    assert m._engine is not None
    return m._engine.peek(dict(m.plan.outputs)["xs"])


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_large_scan_output_is_collected_where_the_one_before_was() -> None:
    m = model(COLLECTS)
    first = address(collected(m, 1.0))
    second = address(collected(m, 2.0))
    # What would be given back would go to these.
    others = [np.empty(400 * 1000, np.float32) for _ in range(8)]
    assert [address(collected(m, k)) for k in (3.0, 4.0, 5.0)] == [first, second, first], others
    assert address(collected(m, 6.0, trips=401)) not in (first, second)


def test_referenced_scan_output_is_not_overwritten() -> None:
    m = model(COLLECTS)
    seen = collected(m, 1.0)
    as_it_was = seen.copy()
    part = seen[10:20, ::7]
    del seen
    for k in (2.0, 3.0, 4.0):
        collected(m, k)
    np.testing.assert_array_equal(part, as_it_was[10:20, ::7])


def run_outputs(m: loopdbg.Model, x0: float) -> Any:
    """Run, and what came out."""
    return m.run({"M": 400, "x0": np.full(1000, x0, np.float32)})["xs"]


def test_unreferenced_large_output_is_reused() -> None:
    m = model(COLLECTS)
    first = address(run_outputs(m, 1.0))
    others = [np.empty(400 * 1000, np.float32) for _ in range(8)]
    for k in (2.0, 3.0, 4.0):
        inputs = run_outputs(m, k)
        assert address(inputs) == first, others
        assert inputs[1, 0] == 2 * k
        del inputs


@pytest.mark.parametrize("held", ["itself", "a part", "its bytes", "read only"])
def test_referenced_output_is_unchanged(held: str) -> None:
    m = model(COLLECTS)
    inputs = run_outputs(m, 1.0)
    as_it_was, first = inputs.copy(), address(inputs)
    kept: Any = inputs
    if held == "a part":
        kept = inputs[:, ::3]
    elif held == "its bytes":
        kept = memoryview(inputs)
    elif held == "read only":
        inputs.flags.writeable, kept = False, None
    del inputs
    others = [run_outputs(m, k) for k in (2.0, 3.0)]
    assert first not in map(address, others) or kept is None
    assert [other[0, 0] for other in others] == [2.0, 3.0]
    assert all(other.flags.writeable for other in others)
    if kept is not None:
        np.testing.assert_array_equal(np.asarray(kept), as_it_was[:, ::3] if held == "a part" else as_it_was)
