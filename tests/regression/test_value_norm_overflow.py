"""The norm of large float64 numbers was inf, and that of small ones 0, in expressions and in histories."""

from __future__ import annotations

import math

import numpy as np
import pytest

import loopdbg
from loopdbg.tui.render.formatting import delta_text
from text_models import model

MODEL = """g (double[N] x0) => (double[N] x) <int64 n = {2}> {
  x = Loop (n, , x0) <body = b (int64 i, bool c, double[N] d) => (bool c2, double[N] d2) {
    c2 = Identity (c)
    d2 = Neg (d)
  }>
}"""


@pytest.mark.parametrize(
    ("values", "norm", "mean"),
    [
        ([1e300, 1e300], math.sqrt(2) * 1e300, 1e300),
        ([1e-200, -1e-200], math.sqrt(2) * 1e-200, 0),
        ([5e-324, 5e-324], 5e-324, 5e-324),
        ([1.7e308, 1.7e308, 0], math.nan, 1.7e308 / 3 * 2),
        ([3.0, 4.0], 5.0, 3.5),
        ([0.0, 0.0], 0.0, 0.0),
        ([math.inf, 1.0], math.inf, 1.0),
        ([math.nan, 1.0], math.nan, 1.0),
    ],
)
def test_norm_does_not_overflow(values: list[float], norm: float, mean: float) -> None:
    session = loopdbg.debug(model(MODEL), {"x0": np.array(values)})
    if values[0] == 1.7e308:
        # The norm itself is larger than any float64.
        norm = math.inf
    assert float(session.frame["norm(d)"]) == pytest.approx(norm, rel=1e-15, nan_ok=True)
    history = session.frame.evolution["d"]
    assert history.value.last[0] == pytest.approx(norm, rel=1e-15, nan_ok=True)
    assert history.mean is not None and history.mean.last[0] == pytest.approx(mean, rel=1e-15, abs=0)


def test_a_condition_on_a_norm_is_that_of_the_expression() -> None:
    session = loopdbg.debug(model(MODEL), {"x0": np.array([1e300, 1e300])})
    session.breakpoints.add("if norm(d) < 1e301")
    assert session.continue_().breakpoints == (1,)


def test_a_difference_of_the_largest_doubles_is_finite() -> None:
    assert delta_text(np.array([1e308]), np.array([-1e308])) == "-2.0e+308"
    assert delta_text(np.array([1e308, 0]), np.array([-1e308, 0])) == "±2.0e+308"
    assert delta_text(np.array([1e308]), np.array([math.inf])) == "+inf"
