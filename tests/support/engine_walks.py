"""Walks through an execution: engines that are moved in parallel show the same state at every stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import loopdbg
from comparable_values import exact_bits
from engine_state import finish, resume, step, visible_state
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import set_optimizer_options
from strategies.draws import ChoiceSource, HypothesisChoices

#: The moves of a user.
MOVE_KINDS = ("boundary", "boundary", "node", "on", "save", "back", "set")


class WalkMove(NamedTuple):
    """``number``: the distance, or the increment of a limit; ``which``: the index of a choice; ``looks``: whether the
    state is read afterwards."""

    kind: str
    number: int = 1
    choice: int = 0
    inspects: bool = True


def draw_walk(draw: ChoiceSource) -> list[WalkMove]:
    """Draw some moves. The state is not read after each one, because reading makes an engine gather values that it
    would otherwise leave in place."""
    return [
        WalkMove(draw.pick(MOVE_KINDS), draw.integer(1, 3), draw.integer(0, 5), draw.chance(70))
        for _ in range(draw.integer(4, 25))
    ]


@st.composite
def walk_strategy(draw: st.DrawFn) -> list[WalkMove]:
    return draw_walk(HypothesisChoices(draw))


def use_python_nodes(engine: Engine) -> None:
    """Run every node in Python."""
    engine.binder.native_enabled = False


def disable_fusion(engine: Engine) -> None:
    """Run every node separately."""
    set_optimizer_options(engine, fuse=False)


def increment_carried(carried: Any, number: int) -> Any:
    return carried + np.array(number, carried.dtype)


def check_stops_agree(
    model: loopdbg.Model,
    inputs: Mapping[str, Any],
    moves: Sequence[WalkMove],
    prepare: Callable[[Engine], object],
    changed: Callable[[Any, int], Any] = increment_carried,
) -> Engine:
    """Wherever an execution stops, goes back to or is edited, its state equals that of an engine with another
    configuration, and earlier snapshots stay unchanged. ``changed``: the new value of an edited carried value."""
    engines = [Engine(model.plan), Engine(model.plan)]
    prepare(engines[1])
    kept, seen = [], []
    with np.errstate(all="ignore"):
        for engine in engines:
            engine.start(model.check(inputs))
        for move in moves:
            stack = engines[0].stack
            if move.kind == "save":
                kept.append([engine.checkpoints.save() for engine in engines])
            elif move.kind == "back" and kept:
                for engine, checkpoint in zip(engines, kept[move.choice % len(kept)], strict=True):
                    engine.checkpoints.restore(checkpoint)
            elif move.kind == "set" and stack:
                edges = model.plan.loops[stack[-1]].edges
                for engine in engines:
                    param = edges[move.choice % len(edges)].param
                    engine.editor.set(param, changed(engine.value(param), move.number))
            elif move.kind == "on" and stack:
                for engine in engines:
                    engine.clear_stops()
                    engine.stop_at(stack[0], engine.loop_state(stack[0])[0] + move.number)
                    resume(engine)
            elif move.kind in ("boundary", "node"):
                for engine in engines:
                    step(engine, move.kind == "node")
            assert engines[0].pc == engines[1].pc, move
            if move.inspects:
                assert visible_state(engines[0]) == visible_state(engines[1]), move
                for index in engines[0].stack[:1]:
                    values = [engines[0].value(edge.param) for edge in model.plan.loops[index].edges]
                    seen.append((values, exact_bits(values)))
        assert finish(engines[0], model) == finish(engines[1], model)
        assert visible_state(engines[0]) == visible_state(engines[1])
    assert all(exact_bits(values) == before for values, before in seen)
    return engines[0]
