"""A scan output of no iteration has the dtype of what the body returns, also where that is declared nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from loopdbg.runtime.graph import Array
from text_models import model

OUTER = """
g (int64 n, KIND k) => (rows) {
  v = NODE (k)
  yes = Constant <value = bool {1}> ()
  rows = Loop (n, yes) <body = b (int64 i, bool c) => (bool c2, KIND v) { c2 = Identity (c) }>
}
"""

CARRIED = """
g (int64 n, double[2] a0) => (rows) {
  a, rows = Loop (n, , a0) <body = b (int64 i, bool c, a) => (bool c2, a2, a) {
    c2 = Identity (c)
    a2 = Neg (a)
  }>
}
"""


@pytest.mark.parametrize(
    ("kind", "node", "value"), [("bool", "Not", np.array(True)), ("int64[3]", "Neg", np.arange(3, dtype=np.int64))]
)
@pytest.mark.parametrize("n", [0, 2])
def test_an_outer_value(n: int, kind: str, node: str, value: Array) -> None:
    """Of a value that nothing declares but the body's output it has the dimensions, too."""
    rows = model(OUTER.replace("KIND", kind).replace("NODE", node)).run({"n": np.int64(n), "k": value})["rows"]
    assert (rows.dtype, rows.shape) == (value.dtype, (n, *value.shape))


def test_a_parameter() -> None:
    rows = model(CARRIED).run({"n": np.int64(0), "a0": np.ones(2)})["rows"]
    assert (rows.dtype, rows.shape) == (np.dtype(np.float64), (0, 2))
