"""Losses that are injected into one node and one iteration of a loop, and have to be located there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.debugger.precision.runs import PrecisionRuns
from lossy_models import CASES, COUNT, LOSSES, TRIPS, X0, lossy_text
from text_models import model


def exact_values() -> Any:
    """The carried value after each iteration, in NumPy's float64."""
    x, rows = X0.astype(np.float64), []
    for _ in range(TRIPS):
        for k in range(COUNT):
            x = x * (2.0, 0.5)[k % 2]
        x = -x
        rows.append(x)
    return rows


def test_there_are_at_least_twenty() -> None:
    assert len(CASES) == len(set(CASES)) == 32


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES)
def test_loss_is_located_at_its_node_and_iteration(loss: str, position: int, iteration: int) -> None:
    loaded = model(lossy_text(loss, position, iteration))
    inputs = {"M": TRIPS, "x0": X0}
    np.testing.assert_array_equal(np.asarray(loaded.run(inputs)["x"]), exact_values()[-1])
    precision = loaded.precision(inputs, tolerance=1e-6)
    assert precision.first_loss is not None
    assert precision.first_loss.iteration == iteration
    kinds = LOSSES[loss][1]
    assert precision.first_loss.name in ("v", "u", "q", "w")
    assert precision.first_loss.node.split(" ")[0] in kinds
    # Nodes that are narrow alone: only those of the loss cost anything.
    costly = {node.op_type for node in precision.nodes if node.error}
    assert costly and costly <= set(kinds)
    assert precision.wide_nodes is not None and precision.wide_nodes.error == 0
    assert {node.op_type for node in precision.wide_nodes.nodes} <= set(kinds)


@pytest.mark.parametrize(("loss", "position", "iteration"), CASES[::3])
def test_narrow_run_is_that_of_a_float16_file(loss: str, position: int, iteration: int) -> None:
    """A file in which every value is float16, and NumPy's float64."""
    loaded = model(lossy_text(loss, position, iteration))
    inputs = {"M": TRIPS, "x0": X0}
    runs = PrecisionRuns(loaded, inputs, "float16")
    narrow = runs.run(runs.nodes).outputs
    file = model(lossy_text(loss, position, iteration, "float16")).run({**inputs, "x0": X0.astype(np.float16)})["x"]
    assert narrow is not None
    np.testing.assert_array_equal(np.asarray(narrow["x"]), np.asarray(file).astype(np.float32))
    carried = next(value for value in loaded.precision(inputs).values if value.carried)
    expected = exact_values()[-1]
    difference = np.abs(np.asarray(file).astype(np.float64) - expected)
    finite = np.isfinite(difference)
    if finite.all():
        assert carried.metrics["absolute"][-1] == difference.max()
        assert carried.errors[-1] == pytest.approx(difference.max() / np.abs(expected).max())
        assert carried.metrics["ulp"][-1] == pytest.approx(
            (difference / np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)).max()
        )
    else:
        assert carried.errors[-1] == np.inf
