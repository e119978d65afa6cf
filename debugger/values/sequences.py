"""A value of a TensorRT loop as the sequence that it is: its elements in the iterations that needed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import StoppedBy, System
from ...runtime.graph.dependence import tested_values
from ..frame import AnyFrame
from ..text import value_text

#: Of a long sequence so many elements are told at its beginning and at its end, each of so many characters at most.
_FIRST, _LAST, _WIDTH = 3, 4, 24


def sequence_text(frame: AnyFrame, name: str, newest: int | None, at: Callable[[int], Any]) -> str:
    """``<4.0, 8.0, 16.0, 32.0>``, and which element nobody needed; empty where the value is no sequence.

    ``newest``: the iteration that the frame shows of it; ``at``: its element in an earlier one.
    """
    loop = frame.loop
    if loop is None or loop.system is not System.TENSORRT or newest is None or newest < 0:
        return ""
    chosen = [k for k in range(newest + 1) if k < _FIRST or k > newest - _LAST]
    told: list[str] = []
    for before, k in zip([-1, *chosen], chosen, strict=False):
        if k > before + 1:
            told.append("...")
        try:
            told.append(value_text(at(k), _WIDTH))
        except UsageError:
            told.append("?")
    text = f"<{', '.join(told)}{'' if frame.stopped_by is not None else ', ...'}>"
    return f"{text}, not needed at {newest + 1}" if _is_left_out(frame, name, newest) else text


def _is_left_out(frame: AnyFrame, name: str, newest: int) -> bool:
    """The condition alone was computed at the index at which the loop ended, and the value is no part of that."""
    assert frame.loop is not None
    if frame.stopped_by is not StoppedBy.CONDITION or newest + 1 != frame.iteration:
        return False
    return all(value.name != name for value in tested_values(frame.loop))
