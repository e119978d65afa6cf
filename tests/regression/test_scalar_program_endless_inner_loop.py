"""An inner loop that nothing can end was refused, but not once the loops around it had become a scalar program."""

from __future__ import annotations

import numpy as np
import pytest

import loopdbg
from text_models import model

# The inner loop runs three times in each entry, but in entry ``bad`` it has a trip count that ends nothing.
MODEL = """g (float x0, int64 bad) => (float x) {
  n = Constant <value = int64 {2000}> ()
  yes = Constant <value = bool {1}> ()
  endless = Constant <value = int64 {9223372036854775807}> ()
  three = Constant <value = int64 {3}> ()
  x = Loop (n, yes, x0) <body = b (int64 i, bool c, float a) => (bool c2, float a2) {
    c2 = Identity (c)
    is_bad = Equal (i, bad)
    trips = Where (is_bad, endless, three)
    a2 = Loop (trips, yes, a) <body = b2 (int64 j, bool d, float y) => (bool d2, float y2) {
      d2 = Identity (d)
      one = Constant <value = float {1}> ()
      y2 = Add (y, one)
    }>
  }>
}"""


@pytest.mark.parametrize("bad", [0, 5, 1000, 1999])
def test_endless_entry(bad: int) -> None:
    with pytest.raises(loopdbg.LimitError) as caught:
        model(MODEL).run({"x0": np.float32(0), "bad": np.int64(bad)})
    assert caught.value.loop == "Loop_3"


def test_entries_that_end() -> None:
    result = model(MODEL).run({"x0": np.float32(0), "bad": np.int64(-1)})["x"]
    assert result == 6000
