"""``loopdbg.plot``: what is drawn for each kind of source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from error_fields import raises_error
from text_models import SAMPLES

NEWTON = SAMPLES / "newton_sqrt.onnx"
MODEL_INPUTS = {"a": 2.0, "tol": 1e-6}


def drawn(figure: Any) -> list[list[float]]:
    """The curves of a figure that have several points."""
    return [list(line.get_ydata()) for axis in figure.axes for line in axis.get_lines() if len(line.get_ydata()) > 1]


def test_model_path_and_session_give_the_same_curves(tmp_path: Path) -> None:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    session.finish()
    session.record(tmp_path / "run.loopdb")
    expected = [2, 1.5, 1.4166667, 1.4142157, 1.4142135, 1.4142135]
    for source in (NEWTON, str(NEWTON), loopdbg.load(NEWTON), NEWTON.read_bytes(), session, tmp_path / "run.loopdb"):
        inputs = None if source in (session, tmp_path / "run.loopdb") else MODEL_INPUTS
        (curve,) = drawn(loopdbg.plot(source, "x", inputs=inputs))
        assert np.allclose(curve, expected), source
    assert session.frame.stopped_by is not None


def test_session_is_drawn_up_to_its_position_and_not_moved() -> None:
    session = loopdbg.debug(NEWTON, MODEL_INPUTS)
    session.step(2)
    assert [len(curve) for curve in drawn(loopdbg.plot(session, "x"))] == [3]
    assert session.frame.iteration == 2


def test_limit_ends_the_curves() -> None:
    (curve,) = drawn(loopdbg.plot(NEWTON, "x", inputs=MODEL_INPUTS, max_iterations=2))
    assert len(curve) == 3


@pytest.mark.parametrize("what", ["carried", "condition", "scan"])
def test_kinds_of_plots(what: str) -> None:
    assert loopdbg.plot(NEWTON, what=what, inputs=MODEL_INPUTS).axes


def test_two_sources_side_by_side() -> None:
    figure = loopdbg.plot(NEWTON, "x", inputs=MODEL_INPUTS, against=loopdbg.load(NEWTON))
    assert len(drawn(figure)) >= 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"what": "colour"}, "one of carried, condition, scan, norms, not 'colour'"),
        ({"loop": "sqr"}, "has no loop 'sqr'"),
        ({"name": "y"}, "nothing called 'y'"),
        ({"what": "condition", "name": "x"}, "one condition"),
        ({"what": "scan", "against": NEWTON}, "not in 'scan'"),
        ({"entry": 3}, "not entered so often"),
    ],
)
def test_unplottable_sources_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(loopdbg.UsageError, match=message):
        loopdbg.plot(NEWTON, inputs=MODEL_INPUTS, **arguments)


def test_other_run_lacks_an_input() -> None:
    with raises_error(loopdbg.InputError, name="start"):
        loopdbg.plot(NEWTON, inputs=MODEL_INPUTS, against=SAMPLES / "collatz.onnx")
