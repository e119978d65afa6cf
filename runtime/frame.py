"""A frame: one running loop, as hooks and the debugger see it while the engine stands still."""

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
    """What a back edge carries.

    Before the body runs: ``previous`` is what the last iteration got and ``value`` what it yielded, which the next one
    gets; at iteration 0 there is no previous. Inside an iteration: ``previous`` is what it got, and ``value`` what it
    yields, None (and ``ready`` false) until that is computed.

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
    """One loop that is running, or the main graph where none is (``loop`` is None).

    Values are read when asked for, as copies; the frame is good until the engine goes on, and asking later is a
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
        drawn: str = load_plugin("html")("frame", self)
        return drawn

    @property
    def entry(self) -> tuple[int, ...]:
        """The iterations that the loops around this one are in, outermost first.

        >>> session.frame.entry
        ()
        """
        self._state()
        around = []
        index = self._plan.parent if self._plan else -1
        while index >= 0:
            around.append(self._engine.loop_state(index)[0])
            index = self._engine.plan.loops[index].parent
        return tuple(reversed(around))

    @property
    def trip_count(self) -> int | None:
        """The most iterations that this entry may run; None: no limit. Sliced inputs count where they decide.

        >>> session.frame.trip_count is None
        True
        """
        self._state()
        return None if self._plan is None else max_trip_count(self._engine, self._plan)

    @property
    def condition(self) -> bool | None:
        """The execution condition in force: whether the next iteration may run. None where the loop has none.

        >>> session.frame.condition
        True
        """
        keep = self._state()[2]
        if self._plan is None or (self._plan.condition < 0 and self._plan.initial_condition < 0):
            return None
        return keep

    @property
    def stopped_by(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it goes on.

        >>> _ = session.finish()
        >>> session.frame.stopped_by
        <StoppedBy.CONDITION: 'condition'>
        """
        return self._state()[3]

    @property
    def around(self) -> Frame | None:
        """The frame in which this loop runs; None of the main graph.

        >>> session.frame.around
        <Frame main>
        """
        return None if self._plan is None else Frame(self._engine, self._plan.parent)

    @property
    def carried(self) -> Mapping[str, Any]:
        """Parameter name -> the carried value that this iteration got, or at a boundary that the next one gets.

        >>> _ = session.step()
        >>> session.frame.carried["x"]
        array(1.5, dtype=float32)
        """
        self._state()
        edges = self._plan.edges if self._plan else []
        return {e.edge.param.name: self._value(e.param) for e in edges}

    @property
    def back_edges(self) -> list[CarriedValue]:
        """Every back edge with its previous and its new value.

        >>> _ = session.step()
        >>> [(edge.param, edge.ready) for edge in session.frame.back_edges]
        [('x', True), ('err', True)]
        """
        iteration = self._state()[0]
        boundary = self.at_boundary
        edges = []
        for k, e in enumerate(self._plan.edges if self._plan else []):
            now = self._value(e.param)
            names = (e.edge.param.name, e.edge.result.name, e.edge.param.type)
            if boundary:
                previous = self._previous(k) if iteration else None
                edges.append(CarriedValue(*names, previous, now))
            else:
                ready = e.result == e.param or self._internals.is_computed(e.edge.result)
                edges.append(CarriedValue(*names, now, self._value(e.result) if ready else None, ready))
        return edges

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        """Name -> what the scan output has collected so far, as the loop would return it.

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
        """Every value that a body node could use, by name: computed ones, parameters, captures and constants.

        >>> _ = session.step()
        >>> session.frame.values["x_new"], session.frame.values["a"]
        (array(1.5, dtype=float32), array(2., dtype=float32))
        """
        return self._cached("values", lambda: FrameValues(self))


__all__ = ["BodyNode", "BranchPath", "CarriedValue", "Frame", "FrameValues", "NodeState", "values_with_branches"]
