"""Frames as a session gives them: with expressions, and with a face in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...runtime import frame as runtime
from ...runtime.api_boundary import public_class
from ...runtime.engine.baseline.memory import read_only_view
from ...runtime.graph import Array, Value
from ...runtime.loop_view import FrameInternals
from ...runtime.ownership import SessionLock
from ...runtime.plugin_registry import load_plugin
from ..describe.frame_text import position_text
from ..expression.language import parse
from ..scope.frame_scope import FrameScope
from ..scope.iteration_values import IterationValues
from ..statistics.tensor_ref import REFERENCE_MIN_BYTES, StaleReferenceError, TensorRef
from ..statistics.value_history import Evolution
from ..value_text import value_text
from .timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Reading one part takes milliseconds; who waits longer waits for something that is stuck.
_READ_LOCK_TIMEOUT_SECONDS = 5.0


@public_class
class SessionFrame(runtime.Frame):
    """A frame of a session; see :class:`~...runtime.frame.Frame` for what it shows.

    >>> session.frame
    <Frame main ▸ sqrt, before iteration 0>
    """

    def __init__(self, timeline: Timeline, index: int) -> None:
        super().__init__(timeline.engine, index)
        self._timeline = timeline

    def __repr__(self) -> str:
        return f"<Frame {self.path}{'' if self.loop is None else f', {position_text(self)}'}>"

    @property
    def history(self) -> IterationValues:
        """The values of this entry of the loop in other iterations, computed without moving the session.

        >>> _ = session.step(3)
        >>> session.frame.history.value("x", 1)
        array(1.5, dtype=float32)
        """
        return self._timeline.historical_values(self)

    @property
    def evolution(self) -> Evolution:
        """What this entry's values were in all iterations so far, as numbers, by name.

        >>> _ = session.step(3)
        >>> sorted(session.frame.evolution)[:2]
        ['err', 'err_new']
        """
        self._state()
        return self._timeline.histories.entry_history(self.index)

    @property
    def around(self) -> SessionFrame | None:
        """The frame in which this loop runs; None of the main graph."""
        return None if self._plan is None else SessionFrame(self._timeline, self._plan.parent)

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or something in it has no value here.

        >>> _ = session.step()
        >>> session.frame["abs(x * x - a)"]
        np.float32(0.25)
        """
        return parse(expression).evaluate(FrameScope(self, self.history))

    def iteration_of(self, name: str) -> int | None:
        """The iteration that the value of a name is of; None for what is the same in all of them.

        Before iteration 3 that is 3 for what a parameter gets, and 2 for what the body computed; inside of it 2 for
        what is not computed yet.

        Raises:
            UsageError: the loop has no value of that name.

        >>> _ = session.step(3)
        >>> session.frame.iteration_of("x"), session.frame.iteration_of("x_new"), session.frame.iteration_of("a")
        (3, 2, None)
        """
        return FrameScope(self).iteration_of(name)

    def show(self, expression: str) -> DisplayValue:
        """The same as something that a notebook draws.

        >>> session.frame.show("x")
        x = 2.0
        """
        found = parse(expression)
        scope = FrameScope(self, self.history)
        return DisplayValue(expression, found.evaluate(scope), scope.iteration_remark(found.current_names))

    def plot(self, expression: str | None = None) -> Figure:
        """A figure of what an expression is here; without one, of all that the loop carries, over iterations.

        Raises:
            UsageError: it has no value here, or none that could be drawn.

        >>> session.frame.plot("x").savefig(os.devnull, format="png")
        """
        from ..plots import frame_figures as plots

        if expression is None:
            return plots.plot_over_iterations(self)
        return plots.plot_value(self, expression, self[expression])


@public_class
class InspectionFrame(SessionFrame):
    """The same frame as another one; its tensors of :data:`REFERENCE_MIN_BYTES` bytes or more are references, good
    until the session goes on. ``turns``: whether it does."""

    def __init__(self, frame: SessionFrame, timeline: Timeline, turns: SessionLock) -> None:
        super().__init__(timeline, frame.index)
        self._frame = frame
        self._session_lock = turns
        #: One reference for one tensor, which knows its statistics once somebody asked.
        self._refs: dict[object, TensorRef] = {}

    @property
    def _internals(self) -> InspectionFrameInternals:
        return InspectionFrameInternals(self)

    def _value(self, slot: int) -> Any:
        engine = self._engine
        return self._reference_or_copy(
            slot, lambda: engine.peek(slot), lambda: super(InspectionFrame, self)._value(slot), slot
        )

    def _previous(self, k: int) -> Any:
        loops, index = self._engine.loops, self._index
        return self._reference_or_copy(
            ("previous", k),
            lambda: read_only_view(loops.peek_previous(index, k)),
            lambda: super(InspectionFrame, self)._previous(k),
            self._plan.edges[k].param if self._plan else -1,
            before=1,
        )

    @property
    def back_edges(self) -> list[runtime.CarriedValue]:
        """See :class:`~...runtime.frame.Frame`."""
        edges = super().back_edges
        for edge in edges:
            if isinstance(edge.value, TensorRef) and isinstance(edge.previous, TensorRef):
                edge.value.set_predecessor(edge.previous)
        return edges

    def _reference_or_copy(
        self, key: object, find: Callable[[], Any], copy: Callable[[], Any], slot: int = -1, before: int = 0
    ) -> Any:
        """``slot``: what it is in, -1: nothing that is known; ``before``: so many iterations ago."""
        if key in self._refs:
            return self._refs[key]
        found = find()
        if not is_large(found):
            return copy()
        timeline = self._timeline
        timeline.stats_cache.set_epoch(self._epoch)
        content = timeline.fingerprint(slot, before)
        ref = TensorRef(found.dtype, found.shape, partial(self._read_locked, find), timeline.stats_cache, content)
        return self._refs.setdefault(key, ref)

    def _read_locked(self, find: Callable[[], Any], do: Callable[[Array], Any]) -> Any:
        """What a function gives for a large value, which nothing writes meanwhile.

        Raises:
            OverError: the session moves, or has moved.
        """
        if self._session_lock.is_held or not self._session_lock.read_lock.acquire(timeout=_READ_LOCK_TIMEOUT_SECONDS):
            raise StaleReferenceError("this value is over: the loop is going on")
        try:
            if self._engine.epoch != self._epoch:
                raise StaleReferenceError("this value is over: the loop has gone on since")
            return do(find())
        finally:
            self._session_lock.read_lock.release()

    @property
    def scan_outputs(self) -> Mapping[str, Any]:
        scans, index = self._engine.scans, self._index
        found = {}
        for k, port in enumerate(self.loop.scan_outputs if self.loop else ()):
            whole = partial(scans.output_so_far, index, k)
            found[port.outer.name] = self._reference_or_copy(
                ("scan", k), partial(_read_only, whole), partial(_copy, whole)
            )
        return found


class InspectionFrameInternals(FrameInternals):
    """What is behind it: what takes long to find is found once for both frames."""

    __slots__ = ()
    _frame: InspectionFrame

    def find_nodes(self) -> list[runtime.BodyNode]:
        return self._frame._frame.nodes

    def scope(self) -> dict[str, Value]:
        return self._frame._frame._internals.scope()

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Any]]:
        """See :class:`~...runtime.loop_view.FrameInternals`: of large elements the newest alone, and that as a
        reference."""
        assert self._frame.loop is not None
        scans, index = self._engine.scans, self._index
        count, whole, newest = scans.view(index, k, length)
        told = count, tuple(whole.shape), whole.dtype.name
        if not count or not is_large(newest[-1]):
            return *told, [np.array(row, newest.dtype) for row in newest]

        def last() -> Any:
            return read_only_view(scans.view(index, k, 1)[2][-1])

        return *told, [self._frame._reference_or_copy(("tail", k), last, last)]


def _read_only(find: Callable[[], Array]) -> Array:
    found: Array = read_only_view(find())
    return found


def _copy(find: Callable[[], Array]) -> Array:
    return find().copy()


def is_large(value: Any) -> bool:
    """True for tensors of numbers that are better not copied."""
    return isinstance(value, np.ndarray) and value.nbytes >= REFERENCE_MIN_BYTES and not value.dtype.hasobject


class DisplayValue:
    """A value with a name; a notebook shows its type, its statistics and, for a tensor, its elements as colours."""

    def __init__(self, name: str, value: Any, remark: str = "") -> None:
        self.name = name
        self.value = value
        #: Which iterations its parts are of, where that is not the frame's.
        self.remark = remark

    def __repr__(self) -> str:
        return f"{self.name} = {value_text(self.value, 80)}{self.remark}"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.value, dtype=dtype, copy=copy)

    def _repr_html_(self) -> str:
        drawn: str = load_plugin("html")("value", self)
        return drawn
