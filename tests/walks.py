"""Walks through an execution: engines that are moved side by side show the same wherever they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import loopdbg
from engine_state import finish, resume, step, visible
from floors import turn
from loopdbg.runtime.engine.engine import Engine
from plain import bits
from strategies.draws import Draw, FromHypothesis

#: What a person does with an execution.
WORDS = ("boundary", "boundary", "node", "on", "save", "back", "set")


class Move(NamedTuple):
    """``number``: how far, or how much more; ``which``: of what can be chosen; ``looks``: at all, after it."""

    word: str
    number: int = 1
    which: int = 0
    looks: bool = True


def walk(draw: Draw) -> list[Move]:
    """Some moves. Not all are looked at: looking makes an engine gather what it would have left where it was."""
    return [
        Move(draw.pick(WORDS), draw.integer(1, 3), draw.integer(0, 5), draw.chance(70))
        for _ in range(draw.integer(4, 25))
    ]


@st.composite
def walks(draw: st.DrawFn) -> list[Move]:
    return walk(FromHypothesis(draw))


def in_python(engine: Engine) -> None:
    """Every node runs in Python."""
    engine.binder.native = False


def apart(engine: Engine) -> None:
    """Every node runs by itself."""
    turn(engine, fuse=False)


def increased(carried: Any, number: int) -> Any:
    return carried + np.array(number, carried.dtype)


def stops_agree(
    model: loopdbg.Model,
    inputs: Mapping[str, Any],
    moves: Sequence[Move],
    prepare: Callable[[Engine], object],
    changed: Callable[[Any, int], Any] = increased,
) -> Engine:
    """Wherever an execution stands, goes back to or is changed, all is as in an engine that is prepared in another way;
    and what was seen of it stays as it was. ``changed``: what a carried value is set to."""
    engines = [Engine(model.plan), Engine(model.plan)]
    prepare(engines[1])
    kept, seen = [], []
    with np.errstate(all="ignore"):
        for engine in engines:
            engine.start(model.check(inputs))
        for move in moves:
            stack = engines[0].stack
            if move.word == "save":
                kept.append([engine.checkpoints.take() for engine in engines])
            elif move.word == "back" and kept:
                for engine, checkpoint in zip(engines, kept[move.which % len(kept)], strict=True):
                    engine.checkpoints.restore(checkpoint)
            elif move.word == "set" and stack:
                edges = model.plan.loops[stack[-1]].edges
                for engine in engines:
                    param = edges[move.which % len(edges)].param
                    engine.changes.set(param, changed(engine.value(param), move.number))
            elif move.word == "on" and stack:
                for engine in engines:
                    engine.clear_stops()
                    engine.stop_at(stack[0], engine.loop_state(stack[0])[0] + move.number)
                    resume(engine)
            elif move.word in ("boundary", "node"):
                for engine in engines:
                    step(engine, move.word == "node")
            assert engines[0].pc == engines[1].pc, move
            if move.looks:
                assert visible(engines[0]) == visible(engines[1]), move
                for index in engines[0].stack[:1]:
                    values = [engines[0].value(edge.param) for edge in model.plan.loops[index].edges]
                    seen.append((values, bits(values)))
        assert finish(engines[0], model) == finish(engines[1], model)
        assert visible(engines[0]) == visible(engines[1])
    assert all(bits(values) == before for values, before in seen)
    return engines[0]
