"""A tensor without elements was marked as not finite; a NaN among many elements was not: not all were looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest

import loopdbg
from loopdbg.tui.render.history_plots import draw_history
from text_models import model

CARRIES = """g (float[n] x) => (float[n] y) { k = Constant <value_int = 4> ()
  y = Loop (k, , x) <body = b (int64 i, bool c, float[n] a) => (bool go, float[n] r) {
    go = Identity (c)
    r = Neg (a)
  }>
}"""


def history(x: np.ndarray) -> loopdbg.History:
    session = loopdbg.debug(model(CARRIES), {"x": x})
    session.continue_()
    return session.history("a")


def test_no_elements() -> None:
    result = history(np.zeros(0, np.float32))
    assert not result.value.odd.any()
    assert np.isnan(result.values).all()
    assert draw_history(result, 20, "float32").strip() == ""


@pytest.mark.parametrize("place", [0, 777, 99_999])
def test_one_nan_among_many(place: int) -> None:
    x = np.ones(100_000, np.float32)
    x[place] = math.nan
    result = history(x)
    assert result.value.odd.all()
    assert "×" in draw_history(result, 20, "float32")


def test_the_norm_is_that_of_all_elements() -> None:
    x = np.random.default_rng(0).normal(size=10**6).astype(np.float32)
    assert history(x).values[0] == pytest.approx(np.linalg.norm(x.astype(np.float64)), rel=1e-12)
