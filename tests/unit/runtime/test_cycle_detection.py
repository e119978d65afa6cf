"""Runs that cannot end are found out, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime import infinite_loop_detection
from loopdbg.runtime.graph import StoppedBy
from text_models import model

SEARCH = """g (KIND x) => (KIND y) <bool go = {1}, KIND limit = {LIMIT}, KIND k = {K}> {
  y = Loop (, go, x) <body = b (int64 i, bool c, KIND h) => (bool c2, KIND h_next) {
    h_next = OP (h, k)
    c2 = NotEqual_
  }>
}"""


def search(op: str, k: float, condition: str, kind: str = "float", limit: float = 1) -> loopdbg.Model:
    text = SEARCH.replace("KIND", kind).replace("LIMIT", str(limit)).replace("OP", op).replace("K}", f"{k}}}")
    return model(text.replace("NotEqual_", condition))


@pytest.fixture(autouse=True)
def check_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is looked at when it first could be."""
    monkeypatch.setattr(infinite_loop_detection, "CHECK_AFTER_SECONDS", 0.0)


@pytest.mark.parametrize(
    ("factor", "message"), [(0.5, "is bit for bit as one iteration ago"), (-1, "every 2 iterations")]
)
def test_a_state_that_repeats_ends_the_run_as_a_limit_does(factor: float, message: str) -> None:
    m = search("Mul", factor, "Less (h_next, limit)")
    run = m.execute({"x": np.float32(0.5)})
    assert run.stopped_by is StoppedBy.LIMIT
    assert message in run.message and "never ends" in run.message and "nothing else enters" in run.message
    with pytest.raises(loopdbg.LimitError) as caught:
        m.run({"x": np.float32(0.5)})
    assert caught.value.loop == m.loops[0].loop.name
    assert f"before iteration {caught.value.iteration} " in str(caught.value)


def test_a_long_period() -> None:
    m = model("""g (int64 x) => (int64 y) <bool go = {1}, int64 one = {1}, int64 period = {100000}, int64 zero = {0}> {
      y = Loop (, go, x) <body = b (int64 i, bool c, int64 h) => (bool c2, int64 h_next) {
        sum = Add (h, one)
        h_next = Mod (sum, period)
        c2 = GreaterOrEqual (h_next, zero)
      }>
    }""")
    assert "every 100000 iterations" in m.execute({"x": np.int64(0)}).message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.0, 0.0], "every 2 iterations"),  # zeros of another sign between
        ([np.nan, 1.0], "every 2 iterations"),
        ([np.nan, np.nan], "every 2 iterations"),
        ([1.0] + [0.0] * 99, "every 2 iterations"),
        ([], "is bit for bit as one iteration ago"),
    ],
)
def test_all_bits_of_a_state_repeat(values: list[float], message: str) -> None:
    m = model("""g (float[n] x) => (float[n] y) <bool go = {1}, int64 zero = {0}> {
      y = Loop (, go, x) <body = b (int64 i, bool c, float[n] h) => (bool c2, float[n] h_next) {
        h_next = Neg (h)
        size = Size (h)
        c2 = GreaterOrEqual (size, zero)
      }>
    }""")
    assert message in m.execute({"x": np.array(values, np.float32)}).message


def test_a_state_that_rotates() -> None:
    m = model("""g (int64[40] x) => (int64[40] y)
      <bool go = {1}, int64[1] none = {0}, int64[1] one = {1}, int64[1] all = {40}, int64 zero = {0}> {
      y = Loop (, go, x) <body = b (int64 i, bool c, int64[40] h) => (bool c2, int64[40] h_next) {
        first = Slice (h, none, one)
        others = Slice (h, one, all)
        h_next = Concat <axis = 0> (others, first)
        size = Size (h)
        c2 = Greater (size, zero)
      }>
    }""")
    for x, period in ((np.arange(40), 40), (np.arange(40) % 8, 8), (np.array([1] + [0] * 39), 40)):
        assert f"every {period} iterations" in m.execute({"x": x}).message


def test_a_large_state_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    m, inputs = search("Mul", -1, "Less (h_next, limit)"), {"x": np.float32(0.5)}
    assert "never ends" in m.execute(inputs, max_iterations=3_000_000).message
    monkeypatch.setattr(infinite_loop_detection, "_MAX_STATE_BYTES", 3)
    assert_reaches_iteration_limit(m, inputs, 3_000_000)


def test_a_loop_within_that_never_ends() -> None:
    m = model("""g (int64 n, float x) => (float y) <bool go = {1}, float zero = {0}, float one = {1}> {
      y = Loop (n, , x) <body = outer (int64 i, bool c, float a) => (bool c2, float b) {
        c2 = Identity (c)
        b = Loop (, go, a) <body = inner (int64 j, bool d, float h) => (bool d2, float k) {
          k = Add (h, zero)
          d2 = Less (k, one)
        }>
      }>
    }""")
    run = m.execute({"n": np.int64(3), "x": np.float32(0.5)})
    assert run.stopped_by is StoppedBy.LIMIT and "never ends" in run.message


def assert_reaches_iteration_limit(m: loopdbg.Model, inputs: dict[str, Any], most: int) -> None:
    run = m.execute(inputs, max_iterations=most)
    assert run.stopped_by is StoppedBy.LIMIT and "reached the limit" in run.message


def test_what_changes_or_reads_its_number_goes_on() -> None:
    counter = search("Add", 1, "Greater (h_next, limit)", "int64", -1)
    assert_reaches_iteration_limit(counter, {"x": np.int64(0)}, 30_000_000)
    number = model("""g (float x) => (float y) <bool go = {1}, int64 most = {30000000}> {
      y = Loop (, go, x) <body = b (int64 i, bool c, float h) => (bool c2, float k) {
        k = Identity (h)
        c2 = Less (i, most)
      }>
    }""")
    run = number.execute({"x": np.float32(1)})
    assert run.stopped_by is None and run.loops[0].iterations == 30_000_001


def test_checked_run_gives_same_results() -> None:
    m = model("""g (int64 n, float[64] x) => (float[64] y) {
      y = Loop (n, , x) <body = b (int64 i, bool c, float[64] h) => (bool c2, float[64] k) {
        c2 = Identity (c)
        s = Sin (h)
        k = Add (s, x)
      }>
    }""")
    x = np.linspace(0, 1, 64, dtype=np.float32)
    looked = m.run({"n": np.int64(200_000), "x": x})["y"]
    session = loopdbg.debug(m, {"n": np.int64(200_000), "x": x})
    session.continue_()
    assert looked.tobytes() == session.outputs["y"].tobytes()


@pytest.mark.parametrize("trips", [10, 1000, 2_000_000])
def test_a_limit_does_not_deny_a_trip_count_that_ends_the_loop(trips: int) -> None:
    still = model("""g (int64 n, float x0) => (float x) {
      x = Loop (n, , x0) <body = b (int64 i, bool c, float s) => (bool c2, float s2) {
        c2 = Identity (c)
        s2 = Min (s, s)
      }>
    }""")
    inputs = {"n": np.int64(trips), "x0": np.float32(1)}
    run = still.execute(inputs, max_iterations=trips - 1)
    assert run.stopped_by is StoppedBy.LIMIT and run.message.endswith(f": its trip count of {trips} alone ends it")
    assert still.execute(inputs, max_iterations=trips).stopped_by is None


def test_a_limit_says_where_nothing_changes_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infinite_loop_detection, "CHECK_AFTER_SECONDS", 1e9)
    run = search("Mul", 1, "Less (h_next, limit)").execute({"x": np.float32(0.5)}, max_iterations=20)
    assert "bit for bit as one iteration ago" in run.message and "no greater limit helps" in run.message
    run = search("Mul", -1, "Less (h_next, limit)").execute({"x": np.float32(0.5)}, max_iterations=20)
    assert run.message.endswith("without ending")
