"""Elements of a scan output have one shape within an entry of a loop; the next run or entry may have another."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from text_models import model

ROWS = """
g (float[k] x, int64 n) => (float[n,k] rows) {
  yes = Constant <value = bool {1}> ()
  rows = Loop (n, yes) <body = b (int64 i, bool c) => (bool c2, float[k] r) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    r = Add (x, f)
  }>
}
"""

# The inner loop scans the outer one's growing value: its elements have another shape in each entry.
NESTED = """
g (float[1] x, int64 n) => (float[s] sums) {
  last, sums = Loop (n, , x) <body = b (int64 i, bool c, float[k] v) => (bool c2, float[k2] v2, float sum) {
    c2 = Identity (c)
    two = Constant <value = int64 {2}> ()
    yes = Constant <value = bool {1}> ()
    rows = Loop (two, yes) <body = b2 (int64 j, bool d) => (bool d2, float[k] r) {
      d2 = Identity (d)
      r = Neg (v)
    }>
    sum = ReduceSum <keepdims = 0> (rows)
    v2 = Concat <axis = 0> (v, x)
  }>
}
"""

CHANGING = """
g (float[1] x, int64 n) => (float[n,k] rows) {
  last, rows = Loop (n, , x) <body = b (int64 i, bool c, float[k] v) => (bool c2, float[k2] v2, float[k] r) {
    c2 = Identity (c)
    r = Identity (v)
    v2 = Concat <axis = 0> (v, x)
  }>
}
"""


def test_the_next_run_may_have_another() -> None:
    m = model(ROWS)
    for size, n in ((3, 2), (2, 5), (3, 300), (7, 1), (1, 400), (0, 3), (2, 0), (4, 2)):
        x = np.arange(size, dtype=np.float32)
        rows = m.run({"x": x, "n": np.int64(n)})["rows"]
        np.testing.assert_array_equal(rows, x + np.arange(n, dtype=np.float32)[:, None] if n else np.empty((0, 0)))


@pytest.mark.parametrize("n", [3, 250])
def test_the_next_entry_may_have_another(n: int) -> None:
    m = model(NESTED)
    feed = {"x": np.ones(1, np.float32), "n": np.int64(n)}
    wanted = -2.0 * np.arange(1, n + 1)
    np.testing.assert_array_equal(m.run(feed)["sums"], wanted)
    np.testing.assert_array_equal(m.run(feed)["sums"], wanted)
    session = loopdbg.debug(m, feed)
    session.continue_()
    np.testing.assert_array_equal(session.outputs["sums"], wanted)


def test_within_an_entry_it_is_an_error_every_time() -> None:
    m = model(CHANGING)
    feed = {"x": np.ones(1, np.float32)}
    for _ in range(3):
        with raises_error(loopdbg.ExecutionError, loop="Loop_0", iteration=1, name="rows", expected="[1]", got="[2]"):
            m.run({**feed, "n": np.int64(3)})
        np.testing.assert_array_equal(m.run({**feed, "n": np.int64(1)})["rows"], [[1]])
