"""``reverse_continue`` stops at the last earlier position where ``continue_`` would have stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopdbg
from hypothesis_settings import example_settings
from loopdbg import Reason
from text_models import model

NESTED = """g (int64 M, int64 v0) => (int64 v, int64 after) {
  one = Constant <value = int64 {1}> ()
  seven = Constant <value = int64 {7}> ()
  v = Loop <body = outer (int64 i, bool c, int64 a) => (bool c, int64 b) {
    n = Mod (i, seven)
    u = Loop <body = inner (int64 j, bool d, int64 w) => (bool d, int64 x) {
      s = Add (w, j)
      x = Mod (s, seven)
    }> (n, , a)
    b = Add (u, one)
  }> (M, , v0)
  after = Add (v, one)
}"""
PLACES = (
    "if a > 3",
    "if a % 5 == 1",
    "if i >= 0",
    "if i == 31",
    "iter 9,2",
    "if a > 100",
    "if j > 2",
    "if w > 3",
    "iter 20",
    "s",
    "b",
    "after",
)
WATCHES = ("a", "w", "a > 4", "a crosses 3")


def stops(session: loopdbg.Session) -> list[Any]:
    """Where any breakpoint stops, from the beginning to the end."""
    results = []
    while session.continue_().reason is not Reason.DONE:
        if session.stop.breakpoints:
            results.append(session.controller.position)
    return results


@example_settings(60)
@given(
    st.integers(0, 60),
    st.lists(st.sampled_from(PLACES), max_size=2, unique=True),
    st.lists(st.sampled_from(WATCHES), max_size=1),
    st.integers(0, 200),
)
def test_reverse_continue_finds_the_last_hit(trips: int, places: list[str], watches: list[str], steps: int) -> None:
    m = model(NESTED)
    inputs = {"M": np.int64(trips), "v0": np.int64(2)}
    session, other = loopdbg.debug(m, inputs), loopdbg.debug(m, inputs)
    for item in (session, other):
        for text in places:
            item.breakpoints.add(text)
        for text in watches:
            item.watch(text)
    every = stops(other)
    for breakpoint_ in list(session.breakpoints):
        breakpoint_.enabled = False
    if not session.done:
        session.step(steps + 1)
    for breakpoint_ in list(session.breakpoints):
        breakpoint_.enabled = True
    for _ in range(3):
        here = session.controller.position
        before = [position for position in every if position < here]
        stop = session.reverse_continue()
        if not before:
            assert stop.reason is Reason.START
            return
        assert session.controller.position == before[-1], (stop.text, here)


@pytest.mark.parametrize("place", ["if a >= 0", "if j >= 0"])
def test_reverse_continue_skips_over_many_hits(place: str) -> None:
    """There are too many hits to test them one by one."""
    m = model(NESTED)
    session = loopdbg.debug(m, {"M": np.int64(20_000), "v0": np.int64(2)})
    session.continue_()
    session.breakpoints.add(place)
    went = []
    for _ in range(3):
        assert session.reverse_continue().reason is Reason.BREAKPOINT
        went.append(session.controller.position)
    other = loopdbg.debug(m, {"M": np.int64(20_000), "v0": np.int64(2)})
    other.goto(19_997)
    other.breakpoints.add(place)
    assert went == stops(other)[:-4:-1]
