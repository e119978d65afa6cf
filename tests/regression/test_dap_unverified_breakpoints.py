"""What an editor is reported of a breakpoint: it is verified only on the line where it stops, and only if it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.frontends.dap.dap_breakpoints import DapBreakpoints
from text_models import model, sample

#: Nodes that nothing reads, that are the same in all iterations, and in a branch that no execution takes.
ODD_NODES = """
odd (float s, float[3] w) => (float r) {
  M = Constant <value = int64 {3}> ()
  before = Mul(s, s)
  r0 = Loop <body = step (int64 i, bool c, float a) => (bool keep, float a_next) {
    keep = Identity (c)
    two = Constant <value = float {2}> ()
    three = Add(two, two)
    same = ReduceSum <keepdims = 0> (w)
    unread = Mul(a, a)
    no = Constant <value = bool {0}> ()
    b = If (no) <then_branch = then_b () => (float t) { t = Sub (a, two) },
                 else_branch = else_b () => (float e) { e = Add (a, three) }>
    a_next = Add(b, same)
  }> (M, , before)
  r = Add(r0, s)
}
"""

Model = tuple[loopdbg.Model, dict[str, Any]]
MODELS: list[Callable[[], Model]] = [
    lambda: (model(ODD_NODES), {"s": np.float32(1), "w": np.ones(3, np.float32)}),
    lambda: sample("newton_sqrt.onnx"),
    lambda: sample("loop_nested.xml"),
]


@pytest.mark.parametrize("function", MODELS)
def test_a_verified_line_is_hit_and_another_is_not(function: Callable[[], Model]) -> None:
    loaded, inputs = function()
    with loopdbg.debug(loaded, inputs) as session:
        source = session.controller.symbols.pseudo_code
        verified = 0
        for line in source.lines:
            stops = DapBreakpoints(session)
            (message,) = stops.set_line_breakpoints([{"line": line.number}])
            if not message["verified"]:
                assert message["message"] and message["line"] == line.number
                assert not session.breakpoints
                continue
            verified += 1
            assert message["line"] >= line.number
            assert source.lines[message["line"] - source.lines[0].number].node is not None
            stop = session.continue_()
            assert list(stop.breakpoints) == [message["id"]], line.text
            session.breakpoints.clear()
            session.restart()
        assert 0 < verified < len(source.lines)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("before", "it runs before the first loop"), ("t", "its branch is never taken"), ("nothing", "nothing to break")],
)
def test_a_name_that_cannot_be_hit_is_not_verified(text: str, reason: str) -> None:
    with loopdbg.debug(model(ODD_NODES), {"s": np.float32(1), "w": np.ones(3, np.float32)}) as session:
        (message,) = DapBreakpoints(session).set_function_breakpoints([{"name": text}])
        assert not message["verified"] and reason in message["message"] and not session.breakpoints
