"""``loopdbg.inputs``: a Hypothesis strategy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings

import loopdbg
from text_models import COUNT, model

SHAPES = model("g (float[N] x, bfloat16[N,2] y, string[N] t, seq(int8[2]) s) => (float[N] z) { z = Abs (x) }")
LOOP = model(COUNT)
VECTOR = model("g (float[N] x) => (float[N] z) { z = Abs (x) }")


@given(loopdbg.inputs(SHAPES))
@settings(max_examples=50, suppress_health_check=list(HealthCheck))
def test_inputs_fit(inputs: dict[str, object]) -> None:
    assert len(SHAPES.check(inputs)) == 4


@given(loopdbg.inputs(LOOP))
@settings(max_examples=50)
def test_a_loop_ends_for_all(inputs: dict[str, object]) -> None:
    assert len(LOOP.run(inputs)["s"]) <= 64


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max, 1e-45])
def test_edge_cases_are_among_them(value: float) -> None:
    inputs = find(loopdbg.inputs(VECTOR), lambda inputs: np.float32(value).tobytes() in map(bytes, inputs["x"]))
    assert len(inputs["x"]) <= 2


def test_failures_shrink() -> None:
    assert find(loopdbg.inputs(LOOP), lambda inputs: inputs["M"] > 1)["M"] == 2
    assert find(loopdbg.inputs(LOOP), lambda inputs: inputs["v0"] == -(2**63))["M"] == 0
    inputs = find(loopdbg.inputs(SHAPES, where=["x sorted", "x finite"]), lambda inputs: len(set(inputs["x"])) > 1)
    assert set(inputs["x"].tolist()) in ({0, 1}, {-1, 0})


def test_conditions_filter() -> None:
    inputs = find(loopdbg.inputs(LOOP, where=["v0 > bound + 3"]), lambda inputs: bool(inputs["cond"]))
    with np.errstate(over="ignore"):  # the sum wraps, as in the condition
        assert inputs["v0"] > inputs["bound"] + 3


def test_hypothesis_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(loopdbg.UsageError) as caught:
        loopdbg.inputs(LOOP)
    assert caught.value.name == "hypothesis" and "loopdbg[fuzz]" in str(caught.value)
