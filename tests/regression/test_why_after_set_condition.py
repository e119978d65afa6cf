"""why stated "is true: 21 < 20" of a condition that was set."""

from __future__ import annotations

import loopdbg
from loopdbg.debugger.termination.explanation import explain_termination
from text_models import model

COUNT = """g (int64 v0) => (int64 v) {
  yes = Constant <value = bool {1}> ()
  v = Loop <body = b (int64 i, bool c, int64 x) => (bool keep, int64 x2) {
    one = Constant <value = int64 {1}> ()
    limit = Constant <value = int64 {3}> ()
    x2 = Add (x, one)
    keep = Less (x2, limit)
  }> (, yes, v0)
}"""


def test_set_condition_is_not_shown_as_computed() -> None:
    session = loopdbg.debug(model(COUNT), {"v0": 0})
    session.goto(3)
    assert "keep = x2 < 3 is false: 3 < 3" in explain_termination(session).headline
    session.set("cond", True)
    message = explain_termination(session).headline
    assert "the condition was set to true; keep = x2 < 3 is false: 3 < 3" in message
    session.set("cond", False)
    assert (
        "keep = x2 < 3 is false: 3 < 3" in explain_termination(session).headline
        and "was set" not in explain_termination(session).headline
    )


def test_the_initial_condition_as_well() -> None:
    session = loopdbg.debug(model(COUNT), {"v0": 0})
    session.set("cond", False)
    assert "the condition was set to false; the initial condition is true" in explain_termination(session).headline
