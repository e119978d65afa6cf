"""A KeyboardInterrupt may arrive at any line of Python: the session still answers, continues from its position, and
gives the same outputs as without the interrupt."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from operator import itemgetter
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import hypothesis_settings
import loopdbg
from loopdbg import LoopdbgError, Model, Session
from text_models import model

PACKAGE = os.path.dirname(loopdbg.__file__)
NESTED = """g (float x0) => (float x, float[N] rows) {
  n = Constant <value = int64 {3}> ()
  x, rows = Loop (n, , x0) <body = b (int64 i, bool c, float a) => (bool c2, float y, float y) {
    c2 = Identity (c)
    m = Constant <value = int64 {2}> ()
    half = Constant <value = float {0.5}> ()
    inner = Loop (m, , a) <body = d (int64 j, bool e, float p) => (bool e2, float q) {
      e2 = Identity (e)
      q = Mul (p, half)
    }>
    y = Add (inner, a)
  }>
}"""
MODEL_INPUTS = {"x0": np.float32(1)}
EDITED = np.float32(4)


def set_(session: Session) -> None:
    session.set("a", EDITED)


def undo(session: Session) -> None:
    set_(session)
    session.step()
    session.undo()


def switch(session: Session) -> None:
    set_(session)
    session.switch(1)


def breaking(session: Session) -> None:
    session.breakpoints.add("if a > 1 and iter >= 3")
    session.continue_()
    session.reverse_continue()


def watching(session: Session) -> None:
    session.watch("a")
    session.continue_()
    session.continue_()


def looking(session: Session) -> None:
    session.history("a")
    assert session.frame["a@1"] == 1.25
    assert session.frame.nodes


COMMANDS: dict[str, Callable[[Session], object]] = {
    "step": Session.step,
    "next_node": Session.next_node,
    "into": Session.into,
    "finish": Session.finish,
    "until": lambda session: session.until(3),
    "continue": Session.continue_,
    "back": Session.back,
    "back_node": Session.back_node,
    "goto": lambda session: session.goto(1),
    "goto ahead": lambda session: session.goto(3),
    "restart": Session.restart,
    "set": set_,
    "undo": undo,
    "switch": switch,
    "break": breaking,
    "watch": watching,
    "look": looking,
}


#: A line that runs often is interrupted at this many of its first and last executions; with LOOPDBG_ALL_LINES at all.
TIMES = 100_000 if "LOOPDBG_ALL_LINES" in os.environ else 2 if hypothesis_settings.ALL_EXAMPLES else 1


#: The position of a line: its code object and its number.
Line = tuple[CodeType, int]


class TracedLines:
    """Records the lines of the package that run in code called from here, in order."""

    def __init__(self) -> None:
        self.seen: list[Line] = []

    def _trace_line(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.seen.append((frame.f_code, frame.f_lineno))
        return self._trace_line

    def __enter__(self) -> TracedLines:
        sys.settrace(self._trace_line)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def chosen(self) -> list[tuple[Line, int]]:
        """The interruption points in order: a line, and which of its executions, counted from 1."""
        results: dict[Line, list[int]] = {}
        for k, line in enumerate(self.seen):
            results.setdefault(line, []).append(k)
        times = {line: range(1, len(result) + 1) for line, result in results.items()}
        picked = {(results[line][n - 1], line, n) for line, ns in times.items() for n in (*ns[:TIMES], *ns[-TIMES:])}
        return [(line, n) for _, line, n in sorted(picked, key=itemgetter(0))]


class InterruptAtLine:
    """Raises KeyboardInterrupt at the ``time``-th execution of a line of the package; traces only the code of that
    line."""

    def __init__(self, line: Line, time: int) -> None:
        self._code, self._number = line
        self._left = time
        #: The line at which it raised; empty until then.
        self.where = ""

    def _called(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._trace_line if frame.f_code is self._code else None

    def _trace_line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and frame.f_lineno == self._number:
            self._left -= 1
            if self._left == 0:
                sys.settrace(None)
                self.where = f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._trace_line

    def __enter__(self) -> InterruptAtLine:
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)


def session_at_iteration_2(loaded: Model) -> Session:
    """A session before iteration 2 of the outer loop."""
    session = loopdbg.debug(loaded, MODEL_INPUTS)
    session.goto(2)
    return session


def run_to_end(session: Session) -> list[float]:
    session.breakpoints.clear()
    if not session.done:
        session.continue_()
    assert session.outputs is not None
    return [float(session.outputs["x"]), *map(float, session.outputs["rows"])]


def expected_outputs(loaded: Model, command: Callable[[Session], object]) -> Iterator[list[float]]:
    """The outputs without the command, and with it."""
    yield run_to_end(session_at_iteration_2(loaded))
    session = session_at_iteration_2(loaded)
    set_(session)
    if command in (set_, undo, switch):
        yield run_to_end(session)


@pytest.mark.parametrize("name", COMMANDS)
def test_session_answers_after_an_interrupt(name: str) -> None:
    command, loaded = COMMANDS[name], model(NESTED)
    right = list(expected_outputs(loaded, command))
    lost: dict[str, str] = {}
    command(session_at_iteration_2(loaded))  # Code that runs once per process has run.
    session = session_at_iteration_2(loaded)
    with TracedLines() as lines:
        command(session)
    tried = 0
    for chosen in lines.chosen():
        session = session_at_iteration_2(loaded)
        line = InterruptAtLine(*chosen)
        try:
            with line:
                command(session)
        except (KeyboardInterrupt, LoopdbgError):
            if not line.where:
                raise
        if not line.where:
            continue  # The retained history, and so the re-execution distance, depends on timing.
        tried += 1
        try:
            on = run_to_end(session)
            session.restart()
            again = run_to_end(session)
        except LoopdbgError as fault:
            lost[line.where] = str(fault)
            continue
        if on not in right or again != right[0]:
            lost[line.where] = f"{on}, then {again}; right is {right}"
    print(f"{name}: {tried} of {len(lines.seen)} lines")
    assert tried > 50
    assert not lost
