"""Back edges that take one body result begin with different values: a trace keeps each edge's own at iteration 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recordings import assert_same_boundary, record_run
from text_models import model, random_floats

SHARED = """
g (int64 M, {t}[20] p0, {t}[20] q0) => ({t}[20] p, {t}[20] q) {{
  p, q = Loop <body = body (int64 i, bool c, {t}[20] a, {t}[20] b) => (bool d, {t}[20] r, {t}[20] r) {{
    d = Identity (c)
    r = Identity (a)
  }}> (M, , p0, q0)
}}
"""
# Of what is read from outside as well: a trace keeps that where the loop is entered.
CAPTURED = """
g (int64 M, float[20] w, float[20] p0) => (float[20] p, float[N] s) {
  v = Neg (w)
  p, s = Loop <body = body (int64 i, bool c, float[20] a) => (bool d, float[20] v, float e) {
    d = Identity (c)
    t = Add (a, v)
    e = ReduceSum <keepdims = 0> (t)
  }> (M, , p0)
}
"""


def check(path: Path, text: str, inputs: dict[str, Any]) -> None:
    trace, seen, _ = record_run(path / "run.loopdb", model(text), inputs)
    kept = list(trace.boundaries())
    assert len(kept) == len(seen) == 4
    for a, b in zip(kept, seen, strict=True):
        assert_same_boundary(a, b)


@pytest.mark.parametrize("kind", ["float", "string"])
def test_two_edges_with_one_result(tmp_path: Path, kind: str) -> None:
    starts = random_floats(2, 20) if kind == "float" else np.array([["a"] * 20, ["b"] * 20], object)
    check(tmp_path, SHARED.format(t=kind), {"M": 3, "p0": starts[0], "q0": starts[1]})


def test_an_edge_that_takes_a_captured_value(tmp_path: Path) -> None:
    check(tmp_path, CAPTURED, {"M": 3, "w": random_floats(20), "p0": random_floats(20)})
