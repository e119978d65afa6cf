"""Values of other iterations than that of the frame: what a run and a recording have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.graph import Loop, StoppedBy
from ...runtime.graph.dependence import condition_values
from ..describe.condition import condition_slice
from ..frame_protocol import FrameProtocol
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution, ValueHistory

#: What is carried at the boundaries that ``Iterations.recent`` gives takes about this much at most.
_RECENT_BYTES = 64 << 20


@public_class
class IterationValues(ABC):
    """What the values of one entry of a loop were in other iterations than that of ``frame``."""

    def __init__(self, frame: FrameProtocol) -> None:
        self.frame = frame

    @abstractmethod
    def boundary(self, iteration: int) -> FrameProtocol | None:
        """The loop at the boundary before an iteration of the same entry; None where nothing is known of it."""

    def value(self, name: str, iteration: int) -> Any:
        """The value in an iteration: parameters as it got them, body values as it computed them.

        Raises:
            UsageError: there is no such iteration, or it has not run yet, or there is no such value.
        """
        frame = self.frame
        if frame.loop is None:
            raise UsageError("the main graph has no iterations")
        if iteration < 0:
            raise UsageError(f"there is no iteration {iteration}")
        made = any(v is not None and v.name == name for entry in frame.nodes for v in entry.node.outputs)
        ahead = made and any(v.name == name for v in condition_values(frame.loop))
        boundary = iteration + (made and not ahead)
        if boundary > frame.iteration:
            raise UsageError(f"iteration {iteration} has not run yet; this is iteration {frame.iteration}")
        there = frame if boundary == frame.iteration and frame.at_boundary else self.boundary(boundary)
        if there is None:
            raise UsageError(f"the boundary before iteration {boundary} of loop '{frame.name}' is not recorded")
        if ahead and there.stopped_by is StoppedBy.TRIP_COUNT:
            raise UsageError(f"'{name}' was not needed in iteration {iteration}: the trip count ends the loop before")
        try:
            return there.values[name]
        except KeyError as error:
            raise UsageError(str(error.args[0])) from None

    def recent_boundaries(self, count: int = 24) -> list[Mapping[str, Any]]:
        """The last boundaries of this entry, oldest first, up to this one and without gaps: of each the carried values,
        and what was computed of what the condition depends on; fewer where they are large."""
        frame = self.frame
        if frame.loop is None:
            return []
        known = self._recent_from_history(frame.loop, count)
        if known is not None:
            return known
        made = [value for node in condition_slice(frame.loop).nodes for value in node.outputs if value is not None]
        size = sum(value.nbytes for value in frame.carried.values() if isinstance(value, np.ndarray))
        count = max(min(count, _RECENT_BYTES // max(size, 1)), 2)
        told: list[Mapping[str, Any]] = []
        for iteration in range(max(frame.iteration - count, 0), frame.iteration + 1):
            there = frame if iteration == frame.iteration and frame.at_boundary else self.boundary(iteration)
            if there is None:
                told.clear()
                continue
            values = there.values
            read = {value.name: values.read(value) for value in made}
            told.append({**{name: data for name, (known, data) in read.items() if known}, **there.carried})
        return told

    def evolution(self) -> Evolution:
        """What the values of the entry were in all iterations so far, as far as that is known without running any."""
        return EMPTY_EVOLUTION

    def _recent_from_history(self, loop: Loop, count: int) -> list[Mapping[str, Any]] | None:
        """As :meth:`recent`, of what decides alone, from numbers that were noted while the loop ran; None where they do
        not tell all of it: then iterations have to be run again."""
        frame, evolution = self.frame, self.evolution()
        names = [edge.param.name for edge in condition_slice(loop).all_carried]
        sides = [side for side in evolution.sides or () if side.name not in frame.carried]
        histories = [evolution.get(name) for name in names]
        if (
            loop.condition_node_count is not None
            or evolution.sides is None
            or not frame.at_boundary
            or None in histories
        ):
            return None
        iterations = range(max(frame.iteration - count, 0), frame.iteration)
        # What a body computes in an iteration is there at the boundary after it.
        carried = {name: _exact_values(evolution[name], iterations, frame.carried[name]) for name in names}
        before = range(max(iterations.start - 1, 0), max(iterations.stop - 1, 0))
        read = frame.values
        computed = {side.name: _exact_values(side, before, read[side.name]) for side in sides if side.name in read}
        if None in carried.values() or None in computed.values():
            return None
        told: list[Mapping[str, Any]] = []
        for k, iteration in enumerate(iterations):
            late = {} if not iteration else {n: v[k - (iterations.start == 0)] for n, v in computed.items() if v}
            told.append({**late, **{name: values[k] for name, values in carried.items() if values}})
        return [*told, {**{name: read[name] for name in computed if frame.iteration}, **frame.carried}]


def _exact_values(history: ValueHistory, iterations: range, now: Any) -> list[Any] | None:
    """What a value of one element was in some iterations, with the type and shape that it has now; None where numbers
    do not tell that to the bit."""
    if not isinstance(now, np.ndarray | np.generic) or now.size != 1 or history.bucket > 1 or history.is_tensor:
        return None
    first = int(history.iterations[0]) if len(history) else 0
    numbers = history.values[iterations.start - first : iterations.stop - first]
    if iterations.start < first or len(numbers) != len(iterations) or not np.isfinite(numbers).all():
        return None
    if now.dtype.kind not in "biuf" or (now.dtype.kind in "iu" and (np.abs(numbers) >= 2.0**53).any()):
        return None
    return [np.full(now.shape, number, now.dtype) for number in numbers]


class FrameWithHistory(FrameProtocol, Protocol):
    """A frame that other iterations can be asked of. ``evolution``: its values in all of them, as numbers."""

    @property
    def history(self) -> IterationValues: ...
    @property
    def evolution(self) -> Evolution: ...
    @property
    def around(self) -> FrameWithHistory | None: ...
