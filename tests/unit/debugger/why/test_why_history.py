"""What was noted while a loop ran answers why as running its last iterations again does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg import Session
from loopdbg.debugger.session.past import Past
from loopdbg.debugger.values.iterations import Iterations
from loopdbg.debugger.why.why import why
from models import SAMPLES

SAMPLE_MODELS = sorted(path.name for path in (*SAMPLES.glob("*.onnx"), *SAMPLES.glob("*.xml")))


def opened(name: str) -> Session:
    path = SAMPLES / name
    inputs = path.with_suffix(".inputs.npz")
    return Session(loopdbg.load(path), dict(np.load(inputs)) if inputs.exists() else {}, max_iterations=40)


def told(session: Session) -> list[str]:
    frame = session.frame
    return list(why(frame, frame.history.recent(), session.model.graph).lines())


@pytest.mark.parametrize("name", SAMPLE_MODELS)
def test_the_answer_is_that_of_running_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(name)
    looked = 0
    for _ in range(30):
        if session.done:
            break
        if session.frame.loop is not None:
            noted = told(session)
            with monkeypatch.context() as patch:
                patch.setattr(Iterations, "_told_by_history", lambda *_: None)
                assert noted == told(session)
            looked += 1
        try:
            session.step()
        except loopdbg.LoopdbgError:
            break
    assert looked or not session.model.loops


@pytest.mark.parametrize("name", ["newton_sqrt.onnx", "collatz.onnx", "counter.onnx"])
def test_nothing_is_run_where_it_was_noted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(name)

    def refuse(*_: Any) -> Any:
        raise AssertionError("run again")

    monkeypatch.setattr(Past, "at", refuse)
    for _ in range(4):
        session.step()
        assert len(told(session)) > 1
