"""Conditions compiled into the engine hit where evaluating them gives true, and the engine's verdict is not computed
again."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.expression.expression import Expression, Scope, ScopeError
from loopdbg.debugger.session.session import Reason, Session
from text_models import model

NESTED = Path("sample_models/loop_nested.xml")
CONDITIONS = (
    "iter == 0 or prev(product) > 1e9",
    "iter == 0 or multiply > 20",
    "not (iter > 0 and prev(product) < 1e9)",
    "not (iter == 0 or multiply > 20)",
    "(iter == 0 or prev(product) > 6) == true",
    "prev(product) > 1 or iter == 0",
    "iter > 1 and prev(product) > 1",
    "multiply > 5 and iter < 4",
    "iter == 2",
    "product > 1",
)


@pytest.fixture
def session() -> Session:
    root = Path(__file__).parents[4]
    return loopdbg.debug(str(root / NESTED), dict(np.load(root / NESTED.with_suffix(".inputs.npz"))))


def hits(session: Session) -> list[tuple[Any, ...]]:
    results = []
    while session.continue_().reason is not Reason.DONE:
        results.append((session.frame.entry, session.frame.iteration))
    return results


#: Back edges that carry an input of the iteration: another parameter, a capture, the iteration number.
PASSED_ON = """
passed_on (int64 M, float a, float w) => (float x, float y, int64 n, float s) {
  zero = Constant <value = int64 {0}> ()
  x, y, n, s = Loop <body = body (int64 i, bool c, float p, float q, int64 k, float r) =>
      (bool c_out, float q, float w, int64 i, float r_out) {
    c_out = Identity (c)
    r_out = Add (r, q)
  }> (M, , a, a, zero, a)
}
"""


ENGINE_CONDITIONS = (
    "prev(p) > 2",
    "p > 2",
    "prev(q) > 2",
    "q > 2",
    "w > 2",
    "prev(w) > 2",
    "prev(i) < 2",
    "i > 1",
    "prev(k) < 2",
)
COMPUTED = ("prev(r_out) < 100", "not prev(r_out) > 5", "r_out > 5", "iter == 1 or prev(r_out) > 5", "prev(r) > 5")


@pytest.mark.parametrize("text", ENGINE_CONDITIONS + COMPUTED)
def test_conditions_on_values_passed_on_unchanged(text: str) -> None:
    check(loopdbg.debug(model(PASSED_ON), {"M": 6, "a": 1.0, "w": 5.0}), "", text)


@pytest.mark.parametrize("text", CONDITIONS)
def test_compiled_conditions_hit_where_evaluation_is_true(session: Session, text: str) -> None:
    check(session, " in factorial", text)


def check(session: Session, place: str, text: str) -> None:
    expected = []
    session.breakpoints.add(f"if true{place}")
    while session.continue_().reason is not Reason.DONE:
        with contextlib.suppress(ScopeError):
            if session.frame[text]:
                expected.append((session.frame.entry, session.frame.iteration))
    assert expected
    session.restart()
    session.breakpoints.clear()
    session.breakpoints.add(f"if {text}{place}")
    assert hits(session) == expected


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    computed: list[str] = []
    truth = Expression.truth

    def count(self: Expression, scope: Scope) -> bool:
        computed.append(self.text)
        return truth(self, scope)

    monkeypatch.setattr(Expression, "truth", count)
    return computed


def test_engine_verdict_is_not_computed_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.breakpoints.add("if multiply > 5 in factorial")
    computed = counted(monkeypatch)
    session.continue_()
    # Until the value existed once, the condition was tested in Python.
    first = len(computed)
    assert first
    assert len(hits(session)) > 5
    assert len(computed) == first


def test_edited_values_are_retested(session: Session) -> None:
    session.breakpoints.add("if product > 5 in factorial")
    session.continue_()
    assert session.continue_().breakpoints == (1,)
    hit = session.breakpoints[0].hits
    session.set("product", 1)
    session.controller.check_breakpoints()
    assert session.breakpoints[0].hits == hit
    session.undo()
    session.controller.check_breakpoints()
    assert session.breakpoints[0].hits == hit + 1
