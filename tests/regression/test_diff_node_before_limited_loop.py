"""A run that a limit of iterations ended in a loop was not compared in what the main graph computed before it: of a
wrong node there nothing was known but that it is one of all before the loop. And a difference in a loop that comes from
the main graph reported the value there, not the node that made it.
"""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from text_models import load_proto, proto

MODEL = """
g (float[3] x) => (float[3] y) <int64 n = {5}> {
  [first] a = Sin (x)
  [second] b = Tanh (a)
  [third] d = Add (b, x)
  [L] y = Loop (n, , d) <body = body (int64 i, bool c, float[3] h) => (bool go, float[3] h_new) {
    go = Identity (c)
    [step] h_new = Mul (h, b)
  }>
}"""
X = np.array([0.5, -1.0, 2.0], np.float32)


def reference(trips: int = 5) -> dict[str, np.ndarray]:
    a = np.sin(X)
    b = np.tanh(a)
    d = b + X
    rows = [d]
    for _ in range(trips):
        rows.append(rows[-1] * b)
    return {"x": X, "a": a, "b": b, "d": d, "h": np.stack(rows)}


@pytest.mark.parametrize("limit", [None, 2])
def test_the_model_as_it_is(limit):
    result = loopdbg.diff(load_proto(proto(MODEL)), reference(), {"x": X}, max_iterations=limit)
    assert result.first is None
    assert not result.outputs


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize(
    ("node", "old", "new"), [("first", "Sin", "Cos"), ("second", "Tanh", "Sigmoid"), ("third", "Add", "Sub")]
)
def test_a_wrong_node_before_the_loop_is_named(limit, node, old, new):
    result = loopdbg.diff(load_proto(proto(MODEL.replace(old, new))), reference(), {"x": X}, max_iterations=limit)
    assert result.first.nodes == (node,)
    assert result.first.op_type == new
    assert f"first node that differs: {new} '{node}'" in str(result)


def test_what_a_limited_run_did_not_come_to_is_no_difference():
    text = MODEL.replace("(float[3] y) <", "(float[3] z) <").replace("  }>\n}", "  }>\n  [last] z = Neg (y)\n}")
    result = loopdbg.diff(load_proto(proto(text)), {**reference(), "z": X * 7}, {"x": X}, max_iterations=2)
    assert result.first is None
    assert any("'z' is only in" in note for note in result.notes)
