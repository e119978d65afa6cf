"""Any walk through a session, back and forth, ends in the same state as going there directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopdbg
from hypothesis_settings import example_settings
from loopdbg.debugger.session.session import Session
from loopdbg.runtime.errors import UsageError
from text_models import BRANCHES, COUNT, NESTED, SUM, model

MODELS: dict[str, tuple[loopdbg.Model, dict[str, Any]]] = {
    "sum": (model(SUM), {"M": 9, "v0": 0.5}),
    "count": (model(COUNT), {"M": 20, "cond": True, "v0": 5, "bound": 14}),
    "nested": (model(NESTED), {"M": 4, "K": 3}),
    "branches": (model(BRANCHES), {"M": 6, "v0": 1.5}),
}
WORDS = ("step", "next", "into", "finish", "back", "back-node", "goto", "set-undo", "restart", "switch")


def state(session: Session) -> list[Any]:
    """Everything visible of a session."""
    messages: list[Any] = [session.controller.position, str(session.stop.reason in ("done",))]
    for frame in session.frames:
        messages.append((frame.path, frame.iteration, frame.trip_count, frame.condition, frame.stopped_by))
        messages.append([(e.param, bytes_of(e.previous), bytes_of(e.value), e.ready) for e in frame.back_edges])
        messages.append({name: bytes_of(value) for name, value in frame.values.items()})
        messages.append({name: bytes_of(value) for name, value in frame.scan_outputs.items()})
        messages.append([(node.node.name, node.state, node.branch) for node in frame.nodes])
    messages.append([(t.path, t.iterations, t.entries, t.stopped_by) for t in session.totals])
    if session.outputs is not None:
        messages.append({name: bytes_of(value) for name, value in session.outputs.items()})
    return messages


def bytes_of(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def move(session: Session, word: str, number: int) -> None:
    match word:
        case "step":
            session.step(number % 3 + 1)
        case "next":
            session.next_node(number % 3 + 1)
        case "into":
            session.into()
        case "finish":
            session.finish()
        case "back":
            session.back(number % 3 + 1)
        case "back-node":
            session.back_node(number % 3 + 1)
        case "goto":
            session.goto(number % 12)
        case "restart":
            session.restart()
        case "switch":
            session.switch(1)
        case "set-undo":
            frame = session.frame
            name = next(iter(frame.carried), None)
            if name is None:
                return
            session.set(name, np.asarray(frame.carried[name]) * 0 + 3)
            for _ in range(number % 3):
                if not session.done:
                    session.step()
            session.undo()


def direct(name: str, position: tuple[int, ...]) -> Session:
    """A session that steps by nodes and boundaries to a position, without ever going back."""
    session = loopdbg.debug(*MODELS[name])
    while session.controller.position != position:
        assert session.controller.position < position
        session.into()
    return session


@pytest.mark.parametrize("name", MODELS)
@example_settings(40)
@given(walk=st.lists(st.tuples(st.sampled_from(WORDS), st.integers(0, 40)), min_size=1, max_size=14))
def test_walk_ends_in_the_state_of_the_direct_way(name: str, walk: list[tuple[str, int]]) -> None:
    session = loopdbg.debug(*MODELS[name])
    # Checkpoints at every stop, at none, and so few that most are thinned out.
    session.controller.timeline.set_limit([1 << 29, 0, 4000][len(walk) % 3])
    for word, number in walk:
        try:
            move(session, word, number)
        except UsageError:
            continue  # nowhere to go back to, or forward to
    assert state(session) == state(direct(name, session.controller.position))


@pytest.mark.parametrize("name", MODELS)
def test_every_stop_can_be_revisited(name: str) -> None:
    session = loopdbg.debug(*MODELS[name])
    seen = [(session.controller.position, state(session))]
    while not session.done:
        session.into()
        seen.append((session.controller.position, state(session)))
    for position, expected in [*seen[::-1], *seen[::3], *seen[::-2]]:
        session.controller.go_to(position)
        assert state(session) == expected
