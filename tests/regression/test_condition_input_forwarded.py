"""A body's condition input is what the iteration before yielded; what is carried from it is this iteration's.

Results are taken before a boundary writes anything; a condition that no one asks for (``cond`` is absent) is handed on.
"""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from text_models import model

CARRIED = """
g (int64 n, bool p0, int64 last) => (bool p, bool[t] seen) {
  yes = Constant <value = bool {1}> ()
  p, seen = Loop (n, yes, p0) <body = b (int64 i, bool c, bool q) => (bool c2, bool c, bool q1) {
    c2 = Less (i, last)
    q1 = Identity (q)
  }>
}
"""

NESTED = """
g (int64 n, bool p0) => (bool[t] seen) {
  yes = Constant <value = bool {1}> ()
  five = Constant <value = int64 {5}> ()
  p, seen = Loop (n, yes, p0) <body = b (int64 i, bool c, bool q) => (bool c2, bool q2, bool q3) {
    c2 = Identity (c)
    q2 = Loop (five, yes, q) <body = b2 (int64 j, bool d, bool w) => (bool d2, bool d) {
      two = Constant <value = int64 {2}> ()
      d2 = Less (j, two)
    }>
    q3 = Identity (q2)
  }>
}
"""

# No one asks for the condition, and every third is false.
IGNORED = """
g (int64 n) => (bool[n] got, bool last) {
  yes = Constant <value = bool {1}> ()
  last, got = Loop (n, , yes) <body = b (int64 i, bool c, bool before) => (bool c2, bool c, bool g) {
    three = Constant <value = int64 {3}> ()
    zero = Constant <value = int64 {0}> ()
    rest = Mod (i, three)
    same = Equal (rest, zero)
    c2 = Not (same)
    g = Identity (c)
  }>
}
"""


@pytest.mark.parametrize("last", [2, 700])
def test_carried(last: int) -> None:
    m = model(CARRIED)
    feed = {"n": np.int64(1000), "p0": np.array(False), "last": np.int64(last)}
    session = loopdbg.debug(m, feed)
    session.continue_()
    for outputs in (m.run(feed), m.run(feed), session.outputs):
        assert outputs["p"]
        assert outputs["seen"].tolist() == [False] + [True] * last


@pytest.mark.parametrize("entries", [3, 600])
def test_carried_in_an_inner_loop(entries: int) -> None:
    m = model(NESTED)
    for _ in range(2):
        assert m.run({"n": np.int64(entries), "p0": np.array(False)})["seen"].all()


@pytest.mark.parametrize("n", [10, 1000])
def test_ignored(n: int) -> None:
    m = model(IGNORED)
    feed = {"n": np.int64(n)}
    wanted = [True, *(i % 3 != 0 for i in range(n - 1))]
    session = loopdbg.debug(m, feed)
    stepped = []
    for _ in range(min(n, 20)):
        stepped.append(bool(session.frame.values["c"]))
        session.step()
    assert stepped == wanted[: len(stepped)]
    for _ in range(5):
        session.back()
    session.continue_()
    for outputs in (m.run(feed), m.run(feed), session.outputs):
        assert outputs["got"].tolist() == wanted
        assert outputs["last"] == wanted[-1]
