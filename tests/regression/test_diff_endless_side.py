"""diff of two models of which one never ends, or both: it ends by itself or by Ctrl-C, and reports what it found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopdbg
from cli_runner import save_text_model
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.runtime.errors import InterruptError

NEWTON = """
newton (float[3] a) => (float[3] root) {
    one = Constant <value = bool {1}> ()
    root = Loop (, one, a) <body = step (int64 i, bool more, float[3] x) => (bool again, float[3] x_new) {
        q = DIVISION (a, x)
        sum = Add (x, q)
        half = Constant <value = float {0.5}> ()
        x_new = Mul (sum, half)
        square = Mul (x_new, x_new)
        apart = Sub (square, a)
        distance = Abs (apart)
        largest = ReduceMax <keepdims = 0> (distance)
        tolerance = Constant <value = float {0.001}> ()
        again = Greater (largest, tolerance)
    }>
}"""
INPUTS = {"a": np.array([2, 3, 10], np.float32)}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return save_text_model(tmp_path, NEWTON.replace("DIVISION", "Div"), "good.onnx")


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    return save_text_model(tmp_path, NEWTON.replace("DIVISION", "Mul"), "endless.onnx")


@pytest.mark.parametrize("endless_first", [True, False])
def test_one_endless_side_is_bounded_by_the_other(good: Path, endless: Path, endless_first: bool) -> None:
    first, second = (endless, good) if endless_first else (good, endless)
    result = loopdbg.diff(first, second, INPUTS)
    assert result.verdict is loopdbg.Verdict.DIFFER
    assert result.first is not None and (result.first.iteration, result.first.value) == (0, "x")
    (loop,) = result.loops
    assert loop.trips[1 if endless_first else 0] == 5
    assert "endless.onnx: 'main ▸ Loop_1' was followed for 10000 iterations, and good.onnx ended after 5" in str(result)


class _InterruptAfter:
    """A tick that acts as Ctrl-C once a comparison has run for some ticks."""

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks

    def __call__(self, *progress: object) -> None:
        self.ticks -= 1
        if not self.ticks:
            raise KeyboardInterrupt


def test_interrupt_reports_the_compared_iterations(endless: Path) -> None:
    sides = [ModelSide(loopdbg.load(endless), INPUTS) for _ in range(2)]
    options = ComparisonOptions(on_tick=_InterruptAfter(2), reports_partial=True)
    result = compare_sides(sides[0], sides[1], options)
    assert isinstance(result.error, InterruptError) and result.verdict is loopdbg.Verdict.LIMITED
    assert result.loops[0].iterations > 0 and result.loops[0].truncated_at_iteration == result.loops[0].iterations
    with pytest.raises(KeyboardInterrupt):
        compare_sides(sides[0], sides[1], ComparisonOptions(on_tick=_InterruptAfter(2)))
