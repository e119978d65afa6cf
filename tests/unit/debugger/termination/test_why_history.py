"""``why`` answered from the recorded history equals ``why`` after re-executing the last iterations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg import Session
from loopdbg.debugger.scope.other_iterations import IterationValues
from loopdbg.debugger.session.timeline import HistoricalEngine
from loopdbg.debugger.termination.explanation import explain_termination
from text_models import SAMPLES

SAMPLE_MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def open_session(name: str) -> Session:
    path = SAMPLES / name
    inputs = path.with_suffix(".inputs.npz")
    return Session(loopdbg.load(path), dict(np.load(inputs)) if inputs.exists() else {}, max_iterations=40)


def why_text(session: Session) -> list[str]:
    frame = session.frame
    return list(explain_termination(frame, frame.history.recent_boundaries(), session.model.graph).lines())


@pytest.mark.parametrize("name", SAMPLE_MODELS)
def test_answer_equals_that_of_reexecution(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(name)
    looked = 0
    for _ in range(30):
        if session.done:
            break
        if session.frame.loop is not None:
            noted = why_text(session)
            with monkeypatch.context() as patch:
                patch.setattr(IterationValues, "_recent_from_history", lambda *_: None)
                assert noted == why_text(session)
            looked += 1
        try:
            session.step()
        except loopdbg.LoopdbgError:
            break
    assert looked or not session.model.loops


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "collatz.onnx", "counter.onnx"])
def test_recorded_history_needs_no_reexecution(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(name)

    def refuse(*_: Any) -> Any:
        raise AssertionError("run again")

    monkeypatch.setattr(HistoricalEngine, "engine_at", refuse)
    for _ in range(4):
        session.step()
        assert len(why_text(session)) > 1
