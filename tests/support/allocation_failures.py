"""Out-of-memory tests: the allocations of Python and NumPy fail one by one, in a separate process, because it may
crash.

Run as a program: ``allocation_failures.py MODEL FIRST STRIDE``, where ``MODEL`` is a key of :data:`TEXTS`. It prints
the faults, and how many allocations failed.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import loopdbg
from loopdbg.runtime.frontends.onnx import reader
from text_models import proto

#: Scalars in one program; a growing value, whose readers are bound again; a sequence, whose nodes run in Python.
MODEL_TEXTS = {
    "scalar": """g (float[1] x0) => (float[1] x, float[N, 1] rows) {
  n = Constant <value = int64 {6}> ()
  x, rows = Loop (n, , x0) <body = b (int64 i, bool c, float[1] a) => (bool c2, float[1] y, float[1] y) {
    c2 = Identity (c)
    k = Constant <value = float[1] {1.5}> ()
    m = Mul (a, k)
    y = Add (m, k)
  }>
}""",
    "growing": """g (float[1] x0) => (float[K] x, float[N] rows) {
  n = Constant <value = int64 {5}> ()
  x, rows = Loop (n, , x0) <body = b (int64 i, bool c, float[K] a) => (bool c2, float[K2] y, float r) {
    c2 = Identity (c)
    y = Concat <axis = 0> (a, a)
    r = ReduceSum <keepdims = 0> (y)
  }>
}""",
    "sequence": """g (float[1] x0) => (float[K] all, float[N, 1] rows) {
  n = Constant <value = int64 {4}> ()
  empty = SequenceEmpty ()
  x, s, rows = Loop (n, , x0, empty) <
    body = b (int64 i, bool c, float[1] a, seq(float) t) => (bool c2, float[1] y, seq(float) u, float[1] z) {
      c2 = Identity (c)
      y = Add (a, a)
      u = SequenceInsert (t, y)
      all = ConcatFromSequence <axis = 0> (u)
      z = ReduceSum <keepdims = 1> (all)
    }
  >
  all = ConcatFromSequence <axis = 0> (s)
}""",
}
INPUTS = {"x0": np.ones(1, np.float32)}
#: Errors that CPython and NumPy raise for some failed allocations.
FOREIGN_ERROR_TEXTS = ("error return without exception set", "returned NULL without setting", "can't allocate lock")
#: After this many failures in a row without an allocation there are no more.
MAX_UNUSED_FAILURES = 300


def output_bytes(outputs: dict[str, Any]) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in outputs.items()}


class AllocationFailureRunner:
    """A model, and the actions to perform while memory runs out."""

    def __init__(self, name: str) -> None:
        self.model = loopdbg.Model(reader.from_proto(proto(MODEL_TEXTS[name], 21), name))
        self.expected_outputs = output_bytes(self.model.run(INPUTS))
        self.carried = next(iter(loopdbg.debug(self.model, INPUTS).frame.carried))

    def session_actions(self) -> dict[str, Callable[[loopdbg.Session], object]]:
        """The actions by method name of a session; ``run`` is the model's own."""
        return {
            "step": lambda session: session.step(2),
            "back": lambda session: session.back(),
            "goto": lambda session: session.goto(1),
            "continue_": lambda session: session.continue_(),
            "set": lambda session: session.set(self.carried, session.frame.carried[self.carried] * 2),
            "run": lambda _: self.model.run(INPUTS),
        }

    def faults(self, name: str, first: int, stride: int) -> Iterator[str]:
        """The faults after single failed allocations of an action; the last line is the number of failures."""
        act = self.session_actions()[name]
        act(self.stopped_session())
        number, failed, unused = first, 0, 0
        while unused * stride < MAX_UNUSED_FAILURES:
            session = self.stopped_session()
            error = call_with_failing_allocation(act, session, number)
            unused = 0 if error is not None else unused + 1
            failed += error is not None
            wrong = self.find_fault(session, error)
            if wrong:
                yield f"{name}, allocation {number}: {wrong}"
            number += stride
        yield f"{name}: {failed} allocations failed"

    def stopped_session(self) -> loopdbg.Session:
        session = loopdbg.debug(self.model, INPUTS)
        session.step(2)
        return session

    def find_fault(self, session: loopdbg.Session, error: BaseException | None) -> str:
        """What is wrong with a session and its model after an error; empty if nothing is."""
        expected = isinstance(error, MemoryError | loopdbg.LoopdbgError | None) or any(
            text in str(error) for text in FOREIGN_ERROR_TEXTS
        )
        if not expected:
            return f"it ended with {error!r}"
        try:
            session.restart()
            session.continue_()
            again = output_bytes(session.outputs or {}), output_bytes(self.model.run(INPUTS))
        except Exception as after:
            return f"{after!r} afterwards"
        return "" if again == (self.expected_outputs, self.expected_outputs) else "other outputs afterwards"


def call_with_failing_allocation(
    act: Callable[[loopdbg.Session], object], session: loopdbg.Session, number: int
) -> BaseException | None:
    """Call a function while one allocation fails; returns the error, if any."""
    import _testcapi

    try:
        _testcapi.set_nomemory(number, number + 1)
        try:
            act(session)
        finally:
            _testcapi.remove_mem_hooks()
    except Exception as error:
        return error
    return None


def main(name: str, first: str, stride: str) -> None:
    gc.disable()  # a garbage collection in between would allocate memory, too
    sys.unraisablehook = lambda _: None
    scarce = AllocationFailureRunner(name)
    for act in scarce.session_actions():
        for line in scarce.faults(act, int(first), int(stride)):
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
