"""Conditions that the engine holds: they hit where evaluating them says so, and its answer is not computed again."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.expression.language import Expression, Scope, ScopeError
from loopdbg.debugger.session.session import Reason, Session

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
    found = []
    while session.continue_().reason is not Reason.DONE:
        found.append((session.frame.entry, session.frame.iteration))
    return found


@pytest.mark.parametrize("text", CONDITIONS)
def test_they_hit_where_evaluating_them_says_so(session: Session, text: str) -> None:
    expected = []
    session.breakpoints.add("if true in factorial")
    while session.continue_().reason is not Reason.DONE:
        with contextlib.suppress(ScopeError):
            if session.frame[text]:
                expected.append((session.frame.entry, session.frame.iteration))
    assert expected
    session.restart()
    session.breakpoints.clear()
    session.breakpoints.add(f"if {text} in factorial")
    assert hits(session) == expected


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    computed: list[str] = []
    truth = Expression.truth

    def count(self: Expression, scope: Scope) -> bool:
        computed.append(self.text)
        return truth(self, scope)

    monkeypatch.setattr(Expression, "truth", count)
    return computed


def test_an_answer_of_the_engine_is_not_computed_again(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.breakpoints.add("if multiply > 5 in factorial")
    computed = counted(monkeypatch)
    session.continue_()
    # Until it had a value once it was tested in Python.
    first = len(computed)
    assert first
    assert len(hits(session)) > 5
    assert len(computed) == first


def test_what_was_changed_by_hand_is_tested_anew(session: Session) -> None:
    session.breakpoints.add("if product > 5 in factorial")
    session.continue_()
    assert session.continue_().breakpoints == (1,)
    hit = session.breakpoints[0].hits
    session.set("product", 1)
    session.check()
    assert session.breakpoints[0].hits == hit
    session.undo()
    session.check()
    assert session.breakpoints[0].hits == hit + 1
