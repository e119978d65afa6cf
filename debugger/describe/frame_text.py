"""Descriptions of a frame's position, the iteration of its values, and the reason of its end, for all front ends."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ...runtime.graph import Loop, StoppedBy, Value
from ...runtime.text import count_text
from .termination import end_reason


class FramePosition(Protocol):
    """The position of a frame, live or recorded, or of its state."""

    @property
    def iteration(self) -> int: ...
    @property
    def at_boundary(self) -> bool: ...
    @property
    def stopped_by(self) -> StoppedBy | None: ...


class _ReadableValues(Protocol):
    def read(self, value: Value) -> tuple[bool, Any]: ...


class _CountedFrame(Protocol):
    @property
    def loop(self) -> Loop | None: ...
    @property
    def trip_count(self) -> int | None: ...
    @property
    def values(self) -> _ReadableValues: ...


def position_text(frame: FramePosition) -> str:
    """``before iteration 3``, ``in iteration 3``; at the loop's end ``after iteration 2``."""
    if not frame.at_boundary:
        return f"in iteration {frame.iteration}"
    has_ended = frame.stopped_by is not None and frame.iteration > 0
    return f"after iteration {frame.iteration - 1}" if has_ended else f"before iteration {frame.iteration}"


def back_edge_labels(frame: FramePosition) -> tuple[str, str]:
    """Labels of the two values of a back edge: ``iteration 2 got`` and ``iteration 3 gets``; the first is "" before
    iteration 0."""
    iteration = frame.iteration
    if not frame.at_boundary:
        return f"iteration {iteration} got", "it yields"
    second = "the loop gives" if frame.stopped_by is not None else f"iteration {iteration} gets"
    return (f"iteration {iteration - 1} got" if iteration else "", second)


def values_label(frame: FramePosition) -> str:
    """The iteration of the values next to the lines."""
    if not frame.at_boundary:
        return f"values of iteration {frame.iteration}, so far"
    return f"values of iteration {frame.iteration - 1}" if frame.iteration else "no iteration ran yet"


def end_text(reason: StoppedBy, iterations: int) -> str:
    """``ended after 5 iterations: the condition is false``; for a loop that never ran ``ran no iteration: ...``."""
    if not iterations:
        return f"ran no iteration: {end_reason(reason)} before the first"
    return f"ended after {count_text(iterations, 'iteration')}: {end_reason(reason)}"


def no_limit_reason(frame: _CountedFrame) -> str:
    """Why a frame has no limit of iterations: no trip count, or one that means no limit."""
    loop = frame.loop
    if loop is None or loop.trip_count is None:
        return "no trip count"
    is_present, number = frame.values.read(loop.trip_count)
    if not is_present or np.size(number) != 1:
        return "no trip count"
    return "its trip count is no limit"


def declared_trip_count(frame: _CountedFrame) -> int | None:
    """The trip count of a frame as passed to the loop, including a negative one, which runs nothing."""
    loop, trips = frame.loop, frame.trip_count
    if trips == 0 and loop is not None and loop.trip_count is not None:
        is_present, number = frame.values.read(loop.trip_count)
        if is_present and np.size(number) == 1 and int(np.asarray(number).reshape(())) < 0:
            return int(np.asarray(number).reshape(()))
    return trips
