"""Frames: a running loop as seen by hooks and the debugger while the engine is stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .api_boundary import public_class
from .engine.engine import Engine
from .frame_internals import (
    BodyNode,
    BranchPath,
    CarriedValue,
    FrameInternals,
    FrameValues,
    NodeState,
    values_with_branch_paths,
)
from .graph import Array, Loop, StoppedBy
from .lazy_function_registry import load_plugin


@public_class
class Frame:
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

    __slots__ = ("__weakref__", "_internals")

    def __init__(self, engine: Engine, index: int) -> None:
        #: Internal accessors, which may change with any version.
        self._internals = FrameInternals(engine, index)

    def __repr__(self) -> str:
        return f"<Frame {self.path}, iteration {self.iteration}>"

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("frame", self)
        return html

    @property
    def index(self) -> int:
        """The loop's index in the plan; -1 for the main graph.

        ``session.totals[frame.index]`` has its iteration counts.

        >>> session.frame.index, session.frames[0].index
        (0, -1)
        """
        return self._internals.index

    @property
    def loop(self) -> Loop | None:
        """The loop in the loop graph; None in the main graph.

        >>> [edge.param.name for edge in session.frame.loop.back_edges]
        ['x', 'err']
        """
        return self._internals.loop

    @property
    def name(self) -> str:
        """The name of the loop or of the main graph.

        >>> session.frame.name
        'sqrt'
        """
        return self._internals.name

    @property
    def path(self) -> str:
        """The path of the loop: ``main ▸ outer ▸ inner``.

        >>> session.frame.path
        'main ▸ sqrt'
        """
        return self._internals.path

    @property
    def iteration(self) -> int:
        """The running iteration, or at a boundary the next one.

        >>> _ = session.step(2)
        >>> session.frame.iteration
        2
        """
        return self._internals.current().iteration

    @property
    def at_boundary(self) -> bool:
        """True between iterations: before iteration 0, after the last one, and after the loop has ended.

        >>> _ = session.next_node()
        >>> session.frame.at_boundary
        False
        """
        return self._internals.current().at_boundary

    @property
    def nodes(self) -> list[BodyNode]:
        """The body's nodes in order, including those inside Ifs, with their progress in the current iteration.

        >>> _ = session.next_node(2)
        >>> [(entry.node.op_type, str(entry.state)) for entry in session.frame.nodes][:3]
        [('Mul', 'done'), ('Div', 'done'), ('Mul', 'next')]
        """
        return list(self._internals.current().nodes)

    @property
    def entry(self) -> tuple[int, ...]:
        """The current iterations of the enclosing loops, outermost first.

        >>> session.frame.entry
        ()
        """
        return self._internals.current().entry

    @property
    def trip_count(self) -> int | None:
        """The maximum number of iterations of this entry; None: unlimited. Includes the limit by sliced inputs.

        >>> session.frame.trip_count is None
        True
        """
        return self._internals.current().trip_count

    @property
    def condition(self) -> bool | None:
        """The current execution condition: whether the next iteration may run. None if the loop has none.

        >>> session.frame.condition
        True
        """
        return self._internals.current().condition

    @property
    def stopped_by(self) -> StoppedBy | None:
        """Why the loop ends at this boundary; None while it continues.

        >>> _ = session.finish()
        >>> session.frame.stopped_by
        <StoppedBy.CONDITION: 'condition'>
        """
        return self._internals.current().stopped_by

    @property
    def around(self) -> Frame | None:
        """The enclosing frame; None for the main graph.

        >>> session.frame.around
        <Frame main>
        """
        plan = self._internals.plan
        return None if plan is None else Frame(self._internals.engine, plan.parent)

    @property
    def carried(self) -> Mapping[str, Array | Any]:
        """Parameter name -> the carried input of this iteration, or at a boundary of the next one.

        >>> _ = session.step()
        >>> session.frame.carried["x"]
        array(1.5, dtype=float32)
        """
        return self._internals.current().carried

    @property
    def back_edges(self) -> list[CarriedValue]:
        """All back edges with their previous and new values.

        >>> _ = session.step()
        >>> [(edge.param, edge.ready) for edge in session.frame.back_edges]
        [('x', True), ('err', True)]
        """
        return self._internals.current().back_edges

    @property
    def scan_outputs(self) -> Mapping[str, Array | Any]:
        """Name -> the elements of the scan output so far, as the loop would return them.

        >>> _ = session.step(2)
        >>> session.frame.scan_outputs["xs"]
        array([1.5      , 1.4166667], dtype=float32)
        """
        return self._internals.current().scan_outputs

    @property
    def values(self) -> FrameValues:
        """All values available to body nodes, by name: computed values, parameters, captures and constants.

        >>> _ = session.step()
        >>> session.frame.values["x_new"], session.frame.values["a"]
        (array(1.5, dtype=float32), array(2., dtype=float32))
        """
        return self._internals.current().values


def frame_reader(frame: Any) -> Any:
    """The reader of a frame, for the debugger: it does not check that the frame is current. A reader is returned as it
    is.

    Raises:
        UsageError: the engine has continued since.
    """
    return frame._internals.current() if isinstance(frame, Frame) else frame


__all__ = [
    "BodyNode",
    "BranchPath",
    "CarriedValue",
    "Frame",
    "FrameInternals",
    "FrameValues",
    "NodeState",
    "frame_reader",
    "values_with_branch_paths",
]
