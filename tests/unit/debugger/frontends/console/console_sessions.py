"""Console sessions that the tests start from."""

from __future__ import annotations

from typing import Any

import loopdbg
from console_recorder import ConsoleRecorder
from text_models import COUNT, model

NO_LOOP = """
none (float x) => (float y) {
  two = Constant <value = float {2}> ()
  t = Mul (x, two)
  y = Add (t, two)
}
"""


def start(text: str, **inputs: Any) -> ConsoleRecorder:
    return ConsoleRecorder(loopdbg.debug(model(text), inputs))


def start_count(M: int = 20, bound: int = 99) -> ConsoleRecorder:
    return start(COUNT, M=M, cond=True, v0=5, bound=bound)


def start_newton(a: float = 2.0) -> ConsoleRecorder:
    return ConsoleRecorder(loopdbg.debug("sample_models/newton_sqrt.onnx", {"a": a, "tol": 1e-6}))
