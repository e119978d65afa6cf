"""The pseudo-code of where a session stands, with the values of this iteration beside the lines."""

from __future__ import annotations

from collections.abc import Set

from ...runtime.frame import NodeState
from ...runtime.graph import Node
from ..frame import AnyFrame
from ..text import value_text
from .source import Source

_WIDTH = 32


def listing(whole: Source, frame: AnyFrame, marked: Set[Node]) -> list[str]:
    """Numbered lines of a frame's loop (the whole model outside of loops): ``▶`` the line that runs next, ``●`` one
    of the nodes that are ``marked``, and beside what this iteration has computed its value."""
    lines = whole if frame.loop is None else whole.within(frame.loop)
    states = {entry.node: entry for entry in frame.nodes}
    now = next((entry.node for entry in frame.nodes if entry.state is NodeState.NEXT), None)
    values = frame.values
    text = list(lines.text())
    column = min(max(map(len, text), default=0), 64) + 3
    told = []
    for line, written in zip(lines.lines, text, strict=True):
        sign = "▶" if line.node is not None and line.node is now else "●" if line.node in marked else " "
        state = states.get(line.node) if line.node is not None else None
        beside = ""
        if state is not None and state.state is NodeState.DONE and line.values:
            # Not by name: the branches of an If may use the same.
            found = [values.read(value) for value in line.values]
            beside = ", ".join(value_text(value, _WIDTH) for there, value in found if there)
        told.append(f"{sign} {line.number:>3}  {written:<{column}}{beside}".rstrip())
    return told
