"""A scan output of no iterations, whose element an If computes, had the shape of an earlier run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from text_models import model

TEXT = """g (int64[] start, bool go) => (int64[] rows) <int64 one = {1}> {
  last, rows = Loop (, go, start) <body = b (int64 i, bool c, int64[] n) => (bool stop, int64[] m, int64[] m) {
    m = If (c) <then_branch = t () => (int64[] less) { less = Sub (n, one) },
      else_branch = e () => (int64[] more) { more = Add (n, one) }>
    stop = Less (one, i)
  }>
}"""


@pytest.mark.parametrize("before", [[16], [[16]]])
def test_it_has_the_shape_that_a_fresh_model_gives(before: Any) -> None:
    m = model(TEXT)
    m.run({"start": np.int64(before), "go": np.True_})
    rows = m.run({"start": np.int64(1), "go": np.False_})["rows"]
    assert rows.shape == model(TEXT).run({"start": np.int64(1), "go": np.False_})["rows"].shape == (0,)
