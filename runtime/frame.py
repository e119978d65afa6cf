"""Frames: a running loop as seen by hooks and the debugger while the engine is stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .api_boundary import public_class
from .graph import StoppedBy, ValueType
from .loop_view import BodyNode, BranchPath, FrameValues, LoopView, NodeState, values_with_branches
from .max_trip_count import max_trip_count
from .plugin_registry import load_plugin
from .record import record


@record(frozen=True, eq=False)
class CarriedValue:
    """The value carried by a back edge.

    At a boundary, ``previous`` is the input of the last iteration and ``value`` its result, the input of the next one;
    at iteration 0 ``previous`` is None. Inside an iteration, ``previous`` is its input and ``value`` its result, None
    (and ``ready`` false) until computed.

    >>> _ = session.step()
    >>> edge = session.frame.back_edges[0]
    >>> edge.param, edge.previous, edge.value
    ('x', array(2., dtype=float32), array(1.5, dtype=float32))
    """

    param: str
    result: str
    type: ValueType
    previous: Any
    value: Any
    ready: bool = True


@public_class
class Frame(LoopView):
    """A running loop, or the main graph (``loop`` is None).

    Values are copied on access. The frame is valid until the engine continues; later access raises a
    :class:`~.errors.UsageError`.

    >>> def watch(frame: loopdbg.Frame) -> None:
    ...     print(frame.iteration, frame.carried["x"])
    >>> _ = model.run(inputs, on_iteration=watch)
    0 2.0
    1 1.5
    2 1.4166667
    3 1.4142157
    4 1.4142135
    5 1.4142135
    """

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("frame", self)
        return html

    @property
    def entry(self) -> tuple[int, ...]:
        """The current iterations of the enclosing loops, outermost first.

        >>> session.frame.entry
        ()
        """
        self._state()
        iterations = []
        index = self._plan.parent if self._plan else -1
        while index >= 0:
            iterations.append(self._engine.loop_state(index)[0])
            index = self._engine.plan.loops[index].parent
        return tuple(reversed(iterations))

    @property
    def trip_count(self) -> int | None:
        """The maximum number of iterations of this entry; None: unlimited. Includes the limit by sliced inputs.

        >>> session.frame.trip_count is None
        True
        """
        self._state()
        return None if self._plan is None else max_trip_count(self._engine, self._plan)

    @property
    def condition(self) -> bool | None:
        """The current execution condition: whether the next iteration may run. None if the loop has none.

        >>> session.frame.condition
        True
        """
        keep = self._state()[2]
        if self._plan is None or (self._plan.condition < 0 and self._plan.initial_condition < 0):
            return None
        return keep

    @property
    def stopped_by(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it continues.

        >>> _ = session.finish()
        >>> session.frame.stopped_by
        <StoppedBy.CONDITION: 'condition'>
        """
        return self._state()[3]

    @property
    def around(self) -> Frame | None:
        """The enclosing frame; None for the main graph.

        >>> session.frame.around
        <Frame main>
        """
        return None if self._plan is None else Frame(self._engine, self._plan.parent)

    @property
    def carried(self) -> Mapping[str, Any]:
        """Parameter name -> the carried input of this iteration, or at a boundary of the next one.

        >>> _ = session.step()
        >>> session.frame.carried["x"]
        array(1.5, dtype=float32)
        """
        self._state()
        edges = self._plan.edges if self._plan else []
        return {e.edge.param.name: self._value(e.param) for e in edges}

    @property
    def back_edges(self) -> list[CarriedValue]:
        """All back edges with their previous and new values.

        >>> _ = session.step()
        >>> [(edge.param, edge.ready) for edge in session.frame.back_edges]
        [('x', True), ('err', True)]
        """
        iteration = self._state()[0]
        boundary = self.at_boundary
        edges = []
        for k, e in enumerate(self._plan.edges if self._plan else []):
            current = self._value(e.param)
            names = (e.edge.param.name, e.edge.result.name, e.edge.param.type)
            if boundary:
                previous = self._previous(k) if iteration else None
                edges.append(CarriedValue(*names, previous, current))
            else:
                ready = e.result == e.param or self._internals.is_computed(e.edge.result)
                edges.append(CarriedValue(*names, current, self._value(e.result) if ready else None, ready))
        return edges

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """Name -> the elements of the scan output so far, as the loop would return them.

        >>> _ = session.step(2)
        >>> session.frame.scan_outputs["xs"]
        array([1.5      , 1.4166667], dtype=float32)
        """
        self._state()
        scans = self._plan.scans if self._plan else []
        return {
            s.output.outer.name: self._engine.scans.output_so_far(self._index, k).copy() for k, s in enumerate(scans)
        }

    @property
    def values(self) -> FrameValues:
        """All values available to body nodes, by name: computed values, parameters, captures and constants.

        >>> _ = session.step()
        >>> session.frame.values["x_new"], session.frame.values["a"]
        (array(1.5, dtype=float32), array(2., dtype=float32))
        """
        return self._cached("values", lambda: FrameValues(self))


__all__ = ["BodyNode", "BranchPath", "CarriedValue", "Frame", "FrameValues", "NodeState", "values_with_branches"]
