"""Text of a TensorRT loop value as a sequence: its elements in the iterations that required them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Loop, StoppedBy, System
from ...runtime.graph.dependence import condition_values
from ..frame_protocol import FrameProtocol
from ..value_text import value_text

#: Number of elements shown at the beginning and at the end of a long sequence, and the maximum length of each.
_HEAD_ELEMENTS, _TAIL_ELEMENTS, _ELEMENT_WIDTH = 3, 4, 24


def sequence_text(frame: FrameProtocol, name: str, newest: int | None, element_at: Callable[[int], Any]) -> str:
    """Return ``<4.0, 8.0, 16.0, 32.0>`` with a mark for elements that were not required; "" if it is no sequence.

    ``newest``: the iteration of the frame's element; ``element_at``: returns an earlier element.
    """
    loop = frame.loop
    if loop is None or loop.system is not System.TENSORRT or newest is None or newest < 0:
        return ""
    texts: dict[int, str] = {}
    for k in shown_indices(newest):
        try:
            texts[k] = value_text(element_at(k), _ELEMENT_WIDTH)
        except UsageError:
            texts[k] = "?"
    text = elements_text(texts, newest, frame.stopped_by is not None)
    left_out = is_not_computed(loop, frame.stopped_by, frame.iteration, name, newest)
    return f"{text}, not needed at {newest + 1}" if left_out else text


def shown_indices(newest: int, first: int = _HEAD_ELEMENTS, last: int = _TAIL_ELEMENTS) -> list[int]:
    """Return the indices of the elements of a sequence to show, up to the newest one."""
    stop = min(first, newest + 1)
    return [*range(stop), *range(max(stop, newest + 1 - last), newest + 1)]


def elements_text(texts: Mapping[int, str], newest: int, has_ended: bool) -> str:
    """Return ``<4.0, 8.0, ..., 64.0, ...>``: elements by index, up to the newest one."""
    parts: list[str] = []
    previous = -1
    for k in sorted(texts):
        if k > previous + 1:
            parts.append("...")
        parts.append(texts[k])
        previous = k
    if previous < newest or not has_ended:
        parts.append("...")
    return f"<{', '.join(parts)}>"


def is_not_computed(loop: Loop, stopped_by: StoppedBy | None, iteration: int, name: str, newest: int) -> bool:
    """Whether only the condition was computed at the index at which the loop ended, and the value is no part of it."""
    if stopped_by is not StoppedBy.CONDITION or newest + 1 != iteration:
        return False
    return all(value.name != name for value in condition_values(loop))
