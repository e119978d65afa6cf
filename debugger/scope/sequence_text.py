"""A value of a TensorRT loop as the sequence that it is: its elements in the iterations that needed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Loop, StoppedBy, System
from ...runtime.graph.dependence import condition_values
from ..frame_protocol import FrameProtocol
from ..value_text import value_text

#: Of a long sequence so many elements are told at its beginning and at its end, each of so many characters at most.
_HEAD_ELEMENTS, _TAIL_ELEMENTS, _ELEMENT_WIDTH = 3, 4, 24


def sequence_text(frame: FrameProtocol, name: str, newest: int | None, at: Callable[[int], Any]) -> str:
    """``<4.0, 8.0, 16.0, 32.0>``, and which element nobody needed; empty where the value is no sequence.

    ``newest``: the iteration that the frame has of it; ``at``: its element in an earlier one.
    """
    loop = frame.loop
    if loop is None or loop.system is not System.TENSORRT or newest is None or newest < 0:
        return ""
    told: dict[int, str] = {}
    for k in shown_indices(newest):
        try:
            told[k] = value_text(at(k), _ELEMENT_WIDTH)
        except UsageError:
            told[k] = "?"
    text = elements_text(told, newest, frame.stopped_by is not None)
    left_out = is_not_computed(loop, frame.stopped_by, frame.iteration, name, newest)
    return f"{text}, not needed at {newest + 1}" if left_out else text


def shown_indices(newest: int, first: int = _HEAD_ELEMENTS, last: int = _TAIL_ELEMENTS) -> list[int]:
    """Which elements of a sequence are told, of those up to the newest one."""
    begin = min(first, newest + 1)
    return [*range(begin), *range(max(begin, newest + 1 - last), newest + 1)]


def elements_text(told: Mapping[int, str], newest: int, ended: bool) -> str:
    """``<4.0, 8.0, ..., 64.0, ...>``: elements by their places, of those up to the newest one."""
    parts: list[str] = []
    before = -1
    for k in sorted(told):
        if k > before + 1:
            parts.append("...")
        parts.append(told[k])
        before = k
    if before < newest or not ended:
        parts.append("...")
    return f"<{', '.join(parts)}>"


def is_not_computed(loop: Loop, stopped_by: StoppedBy | None, iteration: int, name: str, newest: int) -> bool:
    """The condition alone was computed at the index at which the loop ended, and the value is no part of that."""
    if stopped_by is not StoppedBy.CONDITION or newest + 1 != iteration:
        return False
    return all(value.name != name for value in condition_values(loop))
