"""`break nan` missed a NaN that the main graph makes between two loops, and `sweep --break nan` one in the inputs."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from text_models import model

#: The second loop gets a NaN that no body has made.
TWO_LOOPS = """g (float x0, float zero, int64 n) => (float x, float y) <int64 two = {2}> {
  x = Loop (two, , x0) <body = b1 (int64 i, bool c, float s) => (bool c2, float s2) {
    c2 = Identity (c)
    s2 = Add (s, s)
  }>
  z = Div (zero, zero)
  y = Loop (n, , z) <body = b2 (int64 i2, bool d, float t) => (bool d2, float t2) {
    d2 = Identity (d)
    t2 = Add (t, t)
  }>
}"""
ONE_LOOP = """g (float x0, int64 n) => (float x) {
  x = Loop (n, , x0) <body = b (int64 i, bool c, float s) => (bool c2, float s2) {
    c2 = Identity (c)
    s2 = Add (s, s)
  }>
}"""


@pytest.mark.parametrize("trips", [0, 3])
def test_a_loop_that_gets_a_nan_stops_at_its_entry(trips: int) -> None:
    inputs = {"x0": np.float32(1), "zero": np.float32(0), "n": np.int64(trips)}
    session = loopdbg.debug(model(TWO_LOOPS), inputs)
    session.breakpoints.add("nan")
    assert session.continue_().breakpoints == (1,)
    assert (session.frame.name, session.frame.iteration) == ("Loop_2", 0)


@pytest.mark.parametrize("trips", [0, 3])
def test_a_sweep_stops_where_a_run_does(trips: int) -> None:
    cases = [{"x0": np.float32(x), "n": np.int64(trips)} for x in (1, np.nan)]
    rows = list(loopdbg.sweep(model(ONE_LOOP), cases, breaks=["nan"]))
    assert [(row.status.value, row.bad_iteration) for row in rows] == [("ok", None), ("break", 0)]
