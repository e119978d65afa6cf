"""Values of iterations other than that of the frame: the common part of live sessions and recordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.api_boundary import public_class
from ...runtime.errors import UsageError
from ...runtime.graph import Loop, StoppedBy
from ...runtime.graph.dependence import condition_values
from ..describe.condition_analysis import condition_slice
from ..frame_protocol import FrameProtocol, FrameReader
from ..statistics.value_history import Evolution, ValueHistory

#: Maximum number of the boundaries that ``recent_boundaries`` returns, and approximate maximum size of their carried
#: values.
_RECENT_BOUNDARIES, _RECENT_BYTES = 24, 64 << 20


@public_class
class IterationValues:
    """The values of one entry of a loop in iterations other than that of ``frame``."""

    def __init__(self, frame: FrameReader) -> None:
        self.frame = frame

    def boundary(self, iteration: int) -> FrameProtocol | None:
        """Return the loop at the boundary before an iteration of the same entry; None if it is unknown."""
        return self.frame.current().boundary(iteration)

    def value(self, name: str, iteration: int) -> Any:
        """Return the value in an iteration: a parameter as received, a body value as computed.

        Raises:
            UsageError: no such iteration or value exists, or the iteration has not run yet.
        """
        frame = self.frame.current()
        if frame.loop is None:
            raise UsageError("the main graph has no iterations")
        if iteration < 0:
            raise UsageError(f"there is no iteration {iteration}", iteration=iteration)
        is_body_value = any(v is not None and v.name == name for entry in frame.nodes for v in entry.node.outputs)
        is_condition_value = is_body_value and any(v.name == name for v in condition_values(frame.loop))
        boundary = iteration + (is_body_value and not is_condition_value)
        if boundary > frame.iteration:
            raise UsageError(
                f"iteration {iteration} has not run yet; this is iteration {frame.iteration}", iteration=iteration
            )
        boundary_frame = frame if boundary == frame.iteration and frame.at_boundary else self.boundary(boundary)
        if boundary_frame is None:
            raise UsageError(
                f"the boundary before iteration {boundary} of loop '{frame.name}' is not recorded",
                loop=frame.name,
                iteration=boundary,
            )
        if is_condition_value and boundary_frame.stopped_by is StoppedBy.TRIP_COUNT:
            raise UsageError(
                f"'{name}' was not needed in iteration {iteration}: the trip count ends the loop before",
                name=name,
                iteration=iteration,
            )
        try:
            return boundary_frame.values[name]
        except KeyError as error:
            raise UsageError(str(error.args[0])) from None

    def recent_boundaries(self) -> list[Mapping[str, Any]]:
        """Return the last boundaries of this entry, oldest first, up to the current one and without gaps: the carried
        values and the computed values that the condition depends on; fewer boundaries if they are large."""
        frame = self.frame.current()
        if frame.loop is None:
            return []
        recorded = self._recent_from_history(frame.loop, _RECENT_BOUNDARIES)
        if recorded is not None:
            return recorded
        computed = [value for node in condition_slice(frame.loop).nodes for value in node.outputs if value is not None]
        size = sum(value.nbytes for value in frame.carried.values() if isinstance(value, np.ndarray))
        count = max(min(_RECENT_BOUNDARIES, _RECENT_BYTES // max(size, 1)), 2)
        boundaries: list[Mapping[str, Any]] = []
        for iteration in range(max(frame.iteration - count, 0), frame.iteration + 1):
            boundary_frame = frame if iteration == frame.iteration and frame.at_boundary else self.boundary(iteration)
            if boundary_frame is None:
                boundaries.clear()
                continue
            values = boundary_frame.values
            results = {value.name: values.read(value) for value in computed}
            boundaries.append(
                {**{name: data for name, (recorded, data) in results.items() if recorded}, **boundary_frame.carried}
            )
        return boundaries

    def evolution(self) -> Evolution:
        """The values of the entry in all iterations so far, as numbers; known without running any."""
        return self.frame.current().evolution

    def _recent_from_history(self, loop: Loop, count: int) -> list[Mapping[str, Any]] | None:
        """As :meth:`recent_boundaries`, restricted to values of the condition, from recorded numbers; None if those are
        incomplete and iterations have to be run again."""
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
        # A value that the body computes in an iteration is available at the boundary after it.
        carried = {name: _exact_history_values(evolution[name], iterations, frame.carried[name]) for name in names}
        earlier = range(max(iterations.start - 1, 0), max(iterations.stop - 1, 0))
        read = frame.values
        computed = {
            side.name: _exact_history_values(side, earlier, read[side.name]) for side in sides if side.name in read
        }
        if None in carried.values() or None in computed.values():
            return None
        boundaries: list[Mapping[str, Any]] = []
        for k, iteration in enumerate(iterations):
            results = {} if not iteration else {n: v[k - (iterations.start == 0)] for n, v in computed.items() if v}
            boundaries.append({**results, **{name: values[k] for name, values in carried.items() if values}})
        return [*boundaries, {**{name: read[name] for name in computed if frame.iteration}, **frame.carried}]


def _exact_history_values(history: ValueHistory, iterations: range, current: Any) -> list[Any] | None:
    """The values of one element in some iterations, with its current type and shape; None if the numbers are not
    exact."""
    if not isinstance(current, np.ndarray | np.generic) or current.size != 1 or history.bucket > 1 or history.is_tensor:
        return None
    first = int(history.iterations[0]) if len(history) else 0
    numbers = history.values[iterations.start - first : iterations.stop - first]
    is_gapless = len(history) == 0 or int(history.iterations[-1]) == first + len(history) - 1
    if iterations.start < first or len(numbers) != len(iterations) or not is_gapless or not np.isfinite(numbers).all():
        return None
    if current.dtype.kind not in "biuf" or (current.dtype.kind in "iu" and (np.abs(numbers) >= 2.0**53).any()):
        return None
    return [np.full(current.shape, number, current.dtype) for number in numbers]
