"""Sequences of runs on one Model: each gives what it gives on a Model, or in a process, that ran nothing before."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import loopdbg
import ways
from agreement import same
from loopdbg.debugger.session.session import Session
from loopdbg.debugger.session.stop import Reason
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.runtime.frame import Frame
from plain import all_bits
from random_programs import load
from strategies import models, oracle
from strategies.draws import Draw, FromSeed
from strategies.programs import Program

#: What a server imports before it forks for ``alone``.
IMPORTED = ("numpy", "onnx", "onnx.helper", "loopdbg", "ways", "sequences")
KINDS = (
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
class Run:
    """``seed``: what else is drawn while it runs. ``feeds`` of an invalid run do not fit the model."""

    kind: str
    feeds: Mapping[str, Any]
    seed: str


def runs(draw: Draw, program: Program, seed: str, most: int = 7) -> list[Run]:
    """A sequence. All feeds that fit are such that a run has an end, and soon."""
    pool = []
    for _ in range(draw.integer(2, 4)):
        feeds = models.feeds(program, draw)
        if oracle.ends(program, feeds):
            pool.append(feeds)
    made: list[Run] = []
    for k in range(draw.integer(2, most) if pool else 0):
        kind, feeds = draw.pick(KINDS), draw.pick(pool)
        if kind == "invalid":
            feeds = _spoilt(draw, feeds)
        elif kind == "no trips" and "M" in feeds:
            feeds = {**feeds, "M": np.array(0)}
        made.append(Run(kind, feeds, f"{seed}.{k}"))
    return made


def _spoilt(draw: Draw, feeds: Mapping[str, Any]) -> dict[str, Any]:
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


def perform(model: loopdbg.Model, run: Run) -> ways.Outcome:
    """Run, and tell all that could be seen of it."""
    draw = FromSeed(run.seed)
    match run.kind:
        case "hook":
            return ways.hooked(model, run.feeds)
        case "C hook":
            return ways.c_hooked(model, run.feeds)
        case "recorded":
            return ways.outcome(lambda: ways.recorded(model, run.feeds))
        case "limit":
            return ways.executed(model, run.feeds, max_iterations=draw.integer(0, 5))
        case "session" | "abandoned":
            return session(model, run.feeds, draw, run.kind == "session")
        case "raising" | "interrupted" | "inside":
            return _with_incident(model, run, draw)
    return ways.executed(model, run.feeds)


class _Incident(Exception):
    pass


def _with_incident(model: loopdbg.Model, run: Run, draw: Draw) -> ways.Outcome:
    """Something happens at a boundary: the hook raises, or interrupts, or runs the Model itself."""
    at, seen, found = draw.integer(0, 9), [0], []
    by_signal = draw.chance(50)

    def hook(frame: Frame) -> None:
        seen[0] += 1
        if seen[0] != at + 1:
            return
        if run.kind == "raising":
            raise _Incident(str(ways.shown(frame)))
        if run.kind == "inside":
            found.append(ways.executed(model, run.feeds))
            found.append(ways.shown(frame))
        elif by_signal:
            signal.raise_signal(signal.SIGINT)
        else:
            frame._inside.engine.interrupt()

    try:
        ran = ways.executed(model, run.feeds, on_iteration=hook)
    except _Incident as incident:
        return "raised", str(incident)
    return ran, seen[0], found


WORDS = (
    "step", "step", "next", "into", "finish", "back", "node", "goto", "set", "undo", "restart", "until", "reverse",
    "condition",
)  # fmt: skip


def session(model: loopdbg.Model, feeds: Mapping[str, Any], draw: Draw, to_end: bool) -> ways.Outcome:
    """A session that goes back and forth and changes things, and what it showed at each stop."""
    seen: list[Any] = []

    def run() -> ways.Outcome:
        one = loopdbg.debug(model, feeds, max_iterations=40 if draw.chance(20) else None)
        seen.append(_stands(one))
        for _ in range(draw.integer(1, 10)):
            word, number = draw.pick(WORDS), draw.integer(1, 4)
            try:
                _move(one, word, number)
            except LoopdbgError as error:
                seen.append((word, type(error).__name__, str(error)))
            seen.append((word, _stands(one)))
        for _ in range(3 if to_end else 0):
            if one.done or one.stop.reason is Reason.ERROR:
                break
            one.continue_()
        return _stands(one)

    return ways.outcome(run), seen


def _move(one: Session, word: str, number: int) -> None:
    moves: dict[str, Callable[[], object]] = {
        "step": lambda: one.step(number),
        "next": lambda: one.next_node(number),
        "into": one.into,
        "finish": one.finish,
        "back": lambda: one.back(number),
        "node": lambda: one.back_node(number),
        "goto": lambda: one.goto(number),
        "undo": one.undo,
        "restart": one.restart,
        "until": lambda: one.until(one.frame.iteration + number),
        "reverse": one.reverse_continue,
        "condition": lambda: one.set("cond", False),
        "set": lambda: _set(one, number),
    }
    moves[word]()


def _set(one: Session, number: int) -> None:
    carried = one.frame.carried
    names = sorted(carried)
    if not names:
        return
    name = names[number % len(names)]
    value = carried[name]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        one.set(name, value if value.dtype == bool else value + np.array(1, value.dtype))


def _stands(one: Session) -> Any:
    outputs = None if one.outputs is None else all_bits(one.outputs)
    engine = one._inside.engine
    frames = [ways.shown(Frame(engine, index)) for index in engine.stack]
    return one._inside.position, one.stop.reason, one.stop.text, frames, outputs, ways.told(one.totals)


def alone(program: Program, run: Run) -> ways.Outcome:
    """A run on a Model that ran nothing before."""
    return perform(load(program), run)


def check(program: Program, sequence: list[Run], answer: Callable[[Program, Run], ways.Outcome] = alone) -> None:
    """Run a sequence on one Model, and compare each run with an answer.

    Raises:
        Differs: a run gave something else.
    """
    model = load(program)
    done: list[str] = []
    for run in sequence:
        got = perform(model, run)
        same(f"{run.kind} after {', '.join(done) or 'nothing'}", got, answer(program, run))
        done.append(run.kind)


@dataclass
class Case:
    program: Program
    sequence: list[Run]


def case(draw: Draw, features: frozenset[str], seed: str) -> Case:
    program = models.program(draw, features)
    return Case(program, runs(draw, program, seed))
