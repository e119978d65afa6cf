"""Session frames: expression evaluation and notebook rendering."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...runtime import frame as runtime
from ...runtime.api_boundary import public_class
from ...runtime.engine.baseline.memory import read_only_view
from ...runtime.graph import Array, Loop, StoppedBy, Value
from ...runtime.loop_view import FrameInternals
from ...runtime.plugin_registry import load_plugin
from ...runtime.session_lock import SessionLock
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

#: A read takes milliseconds; a longer wait means that the session is stuck.
_READ_LOCK_TIMEOUT_SECONDS = 5.0


@public_class
class SessionFrame(runtime.Frame):
    """A frame of a session; see :class:`~...runtime.frame.Frame`.

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
        """The histories of this entry's values over all iterations so far, as numbers, by name.

        >>> _ = session.step(3)
        >>> sorted(session.frame.evolution)[:2]
        ['err', 'err_new']
        """
        self._internals.state()
        return self._timeline.histories.entry_history(self.index)

    @property
    def around(self) -> SessionFrame | None:
        """The frame of the enclosing loop; None for the main graph."""
        plan = self._internals.plan
        return None if plan is None else SessionFrame(self._timeline, plan.parent)

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or a name in it has no value here.

        >>> _ = session.step()
        >>> session.frame["abs(x * x - a)"]
        np.float32(0.25)
        """
        return parse(expression).evaluate(FrameScope(self, self.history))

    def iteration_of(self, name: str) -> int | None:
        """The iteration of a value; None for values that are the same in all iterations.

        Before iteration 3 it is 3 for parameters and 2 for values that the body computed; inside iteration 3 it is 2
        for values that are not computed yet.

        Raises:
            UsageError: the loop has no value of that name.

        >>> _ = session.step(3)
        >>> session.frame.iteration_of("x"), session.frame.iteration_of("x_new"), session.frame.iteration_of("a")
        (3, 2, None)
        """
        return FrameScope(self).iteration_of(name)

    def show(self, expression: str) -> DisplayValue:
        """The value of an expression with a notebook rendering.

        >>> session.frame.show("x")
        x = 2.0
        """
        parsed = parse(expression)
        scope = FrameScope(self, self.history)
        return DisplayValue(expression, parsed.evaluate(scope), scope.iteration_remark(parsed.current_names))

    def plot(self, expression: str | None = None) -> Figure:
        """A figure of the value of an expression; by default, of all carried values over iterations.

        Raises:
            UsageError: it has no value here, or none that can be plotted.

        >>> session.frame.plot("x").savefig(os.devnull, format="png")
        """
        from ..plots import frame_figures as plots

        if expression is None:
            return plots.plot_over_iterations(self)
        return plots.plot_value(self, expression, self[expression])


class LiveFrameReader(FrameInternals):
    """Reads a frame for a snapshot. Tensors of :data:`REFERENCE_MIN_BYTES` bytes or more are references, valid until
    the session moves; ``session_lock`` tells whether it does. Nodes and names are shared with the frame itself."""

    # The session does not move while a snapshot is taken, so these are read once.
    loop: Loop | None = None
    iteration: int = 0
    stopped_by: StoppedBy | None = None
    at_boundary: bool = False

    def __init__(self, frame: SessionFrame, timeline: Timeline, session_lock: SessionLock) -> None:
        original = frame._internals
        super().__init__(timeline.engine, original.index)
        self.loop, self.at_boundary = original.loop, original.at_boundary
        self.iteration, _, _, self.stopped_by, _ = original.state()
        self._original = original
        self._timeline = timeline
        self._session_lock = session_lock
        #: One reference per tensor, so that its statistics are cached.
        self._refs: dict[object, TensorRef] = {}

    @property
    def nodes(self) -> list[runtime.BodyNode]:
        return self._original.nodes

    def scope(self) -> dict[str, Value]:
        return self._original.scope()

    @property
    def back_edges(self) -> list[runtime.CarriedValue]:
        edges = super().back_edges
        for edge in edges:
            if isinstance(edge.value, TensorRef) and isinstance(edge.previous, TensorRef):
                edge.value.set_predecessor(edge.previous)
        return edges

    def value(self, slot: int) -> Any:
        value = self.engine.peek(slot)
        if getattr(value, "nbytes", 0) < REFERENCE_MIN_BYTES or not is_large(value):
            return self.engine.value(slot)
        return self._reference(slot, value, partial(self.engine.peek, slot), slot)

    def previous(self, k: int) -> Any:
        value = self.engine.loops.peek_previous(self.index, k)
        if not is_large(value):
            return self.engine.loops.previous(self.index, k)
        slot = self.plan.edges[k].param if self.plan else -1
        peek = partial(self.engine.loops.peek_previous, self.index, k)
        return self._reference(("previous", k), value, partial(_read_only, peek), slot, before=1)

    def scan_output(self, k: int) -> Any:
        value = self.engine.scans.output_so_far(self.index, k)
        if not is_large(value):
            return value.copy()
        read = partial(self.engine.scans.output_so_far, self.index, k)
        return self._reference(("scan", k), value, partial(_read_only, read))

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Any]]:
        """See :class:`~...runtime.loop_view.FrameInternals`; of large elements only the newest, as a reference."""
        scans, index = self.engine.scans, self.index
        count, whole, newest = scans.view(index, k, length)
        fields = count, tuple(whole.shape), whole.dtype.name
        if not count or not is_large(newest[-1]):
            return *fields, [np.array(row, newest.dtype) for row in newest]

        def read_newest() -> Any:
            return read_only_view(scans.view(index, k, 1)[2][-1])

        return *fields, [self._reference(("tail", k), newest[-1], read_newest)]

    def _reference(
        self, key: object, value: Array, find: Callable[[], Array], slot: int = -1, before: int = 0
    ) -> TensorRef:
        """The reference to a large value. ``slot``: its slot, -1: unknown; ``before``: number of iterations ago."""
        if key not in self._refs:
            stats_cache = self._timeline.stats_cache
            stats_cache.set_epoch(self.epoch)
            content = self._timeline.fingerprint(slot, before)
            reader = partial(self._read_locked, find)
            self._refs[key] = TensorRef(value.dtype, value.shape, reader, stats_cache, content)
        return self._refs[key]

    def _read_locked(self, find: Callable[[], Any], function: Callable[[Array], Any]) -> Any:
        """Apply a function to a large value under the read lock.

        Raises:
            StaleReferenceError: the session moves, or has moved.
        """
        if self._session_lock.is_held or not self._session_lock.read_lock.acquire(timeout=_READ_LOCK_TIMEOUT_SECONDS):
            raise StaleReferenceError("this value is over: the loop is going on")
        try:
            if self.engine.epoch != self.epoch:
                raise StaleReferenceError("this value is over: the loop has gone on since")
            return function(find())
        finally:
            self._session_lock.read_lock.release()


def _read_only(find: Callable[[], Array]) -> Array:
    view: Array = read_only_view(find())
    return view


def is_large(value: Any) -> bool:
    """True for numeric tensors that are too large to copy."""
    return isinstance(value, np.ndarray) and value.nbytes >= REFERENCE_MIN_BYTES and not value.dtype.hasobject


class DisplayValue:
    """A named value; a notebook shows its type, its statistics and, for a tensor, its elements as colours."""

    def __init__(self, name: str, value: Any, remark: str = "") -> None:
        self.name = name
        self.value = value
        #: The iterations of its parts, if they differ from the frame's.
        self.remark = remark

    def __repr__(self) -> str:
        return f"{self.name} = {value_text(self.value, 80)}{self.remark}"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.value, dtype=dtype, copy=copy)

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("value", self)
        return html
