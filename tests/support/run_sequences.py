"""Sequences of runs on one Model: each gives the result of a run on a new Model, or in a fresh process."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import execution_modes
import loopdbg
from comparable_values import all_exact_bits
from differential_testing import assert_equal
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.session.stop import Reason
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frame import Frame, frame_reader
from random_program_checks import load_program
from strategies import program_generator, program_oracle
from strategies.draws import ChoiceSource, SeededChoices
from strategies.program import Program

#: The modules that a server imports before it forks.
PRELOADED_MODULES = ("numpy", "onnx", "onnx.helper", "loopdbg", "execution_modes", "run_sequences")
RUN_KINDS = (
    "headless",
    "headless",
    "headless",
    "hook",
    "C hook",
    "recorded",
    "session",
    "session",
    "abandoned",
    "limit",
    "raising",
    "interrupted",
    "inside",
    "invalid",
    "no trips",
)


@dataclass
class SequenceRun:
    """One run. ``seed``: for random choices during the run. ``feeds`` of an invalid run do not fit the model."""

    kind: str
    feeds: Mapping[str, Any]
    seed: str


def draw_runs(draw: ChoiceSource, program: Program, seed: str, most: int = 7) -> list[SequenceRun]:
    """Draw a sequence. All valid feeds lead to short runs."""
    pool = []
    for _ in range(draw.integer(2, 4)):
        feeds = program_generator.draw_feeds(program, draw)
        if program_oracle.terminates(program, feeds):
            pool.append(feeds)
    items: list[SequenceRun] = []
    for k in range(draw.integer(2, most) if pool else 0):
        kind, feeds = draw.pick(RUN_KINDS), draw.pick(pool)
        if kind == "invalid":
            feeds = _invalid_feeds(draw, feeds)
        elif kind == "no trips" and "M" in feeds:
            feeds = {**feeds, "M": np.array(0)}
        items.append(SequenceRun(kind, feeds, f"{seed}.{k}"))
    return items


def _invalid_feeds(draw: ChoiceSource, feeds: Mapping[str, Any]) -> dict[str, Any]:
    spoilt = dict(feeds)
    if not spoilt:
        return {"nothing": np.array(1)}
    name = draw.pick(sorted(spoilt))
    match draw.integer(0, 5):
        case 0:
            del spoilt[name]
        case 1:
            spoilt["nothing"] = np.array(1)
        case 2:
            spoilt[name] = np.array(1j)
        case 3:
            spoilt[name] = np.asarray(spoilt[name])[None, None]
        case 4:
            spoilt[name] = [[1], [2, 3]]
        case 5:
            spoilt[name] = "text"
    return spoilt


def perform_run(model: loopdbg.Model, run: SequenceRun) -> execution_modes.Outcome:
    """Perform a run; returns everything that is visible of it."""
    draw = SeededChoices(run.seed)
    match run.kind:
        case "hook":
            return execution_modes.run_with_hook(model, run.feeds)
        case "C hook":
            return execution_modes.run_with_c_hook(model, run.feeds)
        case "recorded":
            return execution_modes.run_outcome(lambda: execution_modes.run_recorded(model, run.feeds))
        case "limit":
            return execution_modes.run_headless(model, run.feeds, max_iterations=draw.integer(0, 5))
        case "session" | "abandoned":
            return run_random_session(model, run.feeds, draw, run.kind == "session")
        case "raising" | "interrupted" | "inside":
            return _run_with_incident(model, run, draw)
    return execution_modes.run_headless(model, run.feeds)


class _InjectedError(Exception):
    pass


def _run_with_incident(model: loopdbg.Model, run: SequenceRun, draw: ChoiceSource) -> execution_modes.Outcome:
    """A run with an incident at a boundary: the hook raises, or interrupts, or runs the Model itself."""
    index, seen, result = draw.integer(0, 9), [0], []
    by_signal = draw.chance(50)

    def hook(frame: Frame) -> None:
        seen[0] += 1
        if seen[0] != index + 1:
            return
        if run.kind == "raising":
            raise _InjectedError(str(execution_modes.frame_values(frame)))
        if run.kind == "inside":
            result.append(execution_modes.run_headless(model, run.feeds))
            result.append(execution_modes.frame_values(frame))
        elif by_signal:
            signal.raise_signal(signal.SIGINT)
        else:
            frame_reader(frame).engine.interrupt()

    try:
        ran = execution_modes.run_headless(model, run.feeds, on_iteration=hook)
    except _InjectedError as incident:
        return "raised", str(incident)
    return ran, seen[0], result


SESSION_COMMANDS = (
    "step", "step", "next", "into", "finish", "back", "node", "goto", "set", "undo", "restart", "until", "reverse",
    "condition",
)  # fmt: skip


def run_random_session(
    model: loopdbg.Model, feeds: Mapping[str, Any], draw: ChoiceSource, to_end: bool
) -> execution_modes.Outcome:
    """A session that goes back and forth and edits values, and the state that it showed at each stop."""
    seen: list[Any] = []

    def run() -> execution_modes.Outcome:
        first = loopdbg.debug(model, feeds, max_iterations=40 if draw.chance(20) else None)
        seen.append(_session_state(first))
        for _ in range(draw.integer(1, 10)):
            word, number = draw.pick(SESSION_COMMANDS), draw.integer(1, 4)
            try:
                _move_session(first, word, number)
            except LoopdbgError as error:
                seen.append((word, type(error).__name__, str(error)))
            seen.append((word, _session_state(first)))
        for _ in range(3 if to_end else 0):
            if first.done or first.stop.reason is Reason.ERROR:
                break
            first.continue_()
        return _session_state(first)

    return execution_modes.run_outcome(run), seen


def _move_session(session: Session, word: str, number: int) -> None:
    moves: dict[str, Callable[[], object]] = {
        "step": lambda: session.step(number),
        "next": lambda: session.next_node(number),
        "into": session.into,
        "finish": session.finish,
        "back": lambda: session.back(number),
        "node": lambda: session.back_node(number),
        "goto": lambda: session.goto(number),
        "undo": session.undo,
        "restart": session.restart,
        "until": lambda: session.until(session.frame.iteration + number),
        "reverse": session.reverse_continue,
        "condition": lambda: session.set("cond", False),
        "set": lambda: _set_random_value(session, number),
    }
    moves[word]()


def _set_random_value(session: Session, number: int) -> None:
    carried = session.frame.carried
    names = sorted(carried)
    if not names:
        return
    name = names[number % len(names)]
    value = carried[name]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        session.set(name, value if value.dtype == bool else value + np.array(1, value.dtype))


def _session_state(session: Session) -> Any:
    outputs = None if session.outputs is None else all_exact_bits(session.outputs)
    engine = session.controller.engine
    frames = [execution_modes.frame_values(Frame(engine, index)) for index in engine.stack]
    return (
        session.controller.position,
        session.stop.reason,
        session.stop.text,
        frames,
        outputs,
        execution_modes.loop_totals(session.totals),
    )


def run_on_new_model(program: Program, run: SequenceRun) -> execution_modes.Outcome:
    """A run on a new Model."""
    return perform_run(load_program(program), run)


def check_sequence(
    program: Program,
    sequence: list[SequenceRun],
    answer: Callable[[Program, SequenceRun], execution_modes.Outcome] = run_on_new_model,
) -> None:
    """Run a sequence on one Model, and compare each run with its expected result.

    Raises:
        DisagreementError: a run had another result.
    """
    model = load_program(program)
    done: list[str] = []
    for run in sequence:
        got = perform_run(model, run)
        assert_equal(f"{run.kind} after {', '.join(done) or 'nothing'}", got, answer(program, run))
        done.append(run.kind)


@dataclass
class SequenceCase:
    program: Program
    sequence: list[SequenceRun]


def draw_case(draw: ChoiceSource, features: frozenset[str], seed: str) -> SequenceCase:
    program = program_generator.draw_program(draw, features)
    return SequenceCase(program, draw_runs(draw, program, seed))
