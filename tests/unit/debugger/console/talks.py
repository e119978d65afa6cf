"""Conversations with the console that its tests begin."""

from __future__ import annotations

from typing import Any

import loopdbg
from models import COUNT, model
from talk import Talk

NO_LOOP = """
none (float x) => (float y) {
  two = Constant <value = float {2}> ()
  t = Mul (x, two)
  y = Add (t, two)
}
"""


def start(text: str, **inputs: Any) -> Talk:
    return Talk(loopdbg.debug(model(text), inputs))


def count(M: int = 20, bound: int = 99) -> Talk:
    return start(COUNT, M=M, cond=True, v0=5, bound=bound)


def newton(a: float = 2.0) -> Talk:
    return Talk(loopdbg.debug("sample_models/newton_sqrt.onnx", {"a": a, "tol": 1e-6}))
