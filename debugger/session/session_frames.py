"""Session frames: expression evaluation and notebook rendering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...runtime import frame as runtime
from ...runtime.api_boundary import public_class
from ...runtime.engine.baseline.memory import read_only_view
from ...runtime.frame_internals import FrameInternals
from ...runtime.graph import Array
from ...runtime.lazy_function_registry import load_plugin
from ...runtime.session_lock import SessionLock
from ..describe.frame_text import position_text
from ..expression.expression import parse
from ..frame_protocol import FrameReader
from ..scope.frame_scope import FrameScope
from ..scope.other_iterations import IterationValues
from ..statistics.tensor_statistics import REFERENCE_MIN_BYTES, StaleReferenceError, TensorRef
from ..statistics.value_history import Evolution
from ..value_text import value_text
from .timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A read takes milliseconds; a longer wait means that the session is stuck.
_READ_LOCK_TIMEOUT_SECONDS = 5.0


@public_class
class SessionFrame(runtime.Frame):
    """A frame of a session or of a replay; see :class:`loopdbg.Frame`. Of a recording, data that were not
    recorded are missing: if boundaries are skipped, a back edge has no previous value, and a scan output has only the
    recorded elements.

    >>> session.frame
    <Frame main ▸ sqrt, before iteration 0>
    """

    _internals: FrameReader  # type: ignore[assignment]

    def __init__(self, reader: FrameReader) -> None:
        self._internals = reader

    def __repr__(self) -> str:
        return f"<Frame {self.path}{'' if self.loop is None else f', {position_text(self)}'}>"

    @property
    def history(self) -> IterationValues:
        """The values of this entry of the loop in other iterations, computed without moving the session.

        >>> _ = session.step(3)
        >>> session.frame.history.value("x", 1)
        array(1.5, dtype=float32)
        """
        return IterationValues(self._internals.current())

    @property
    def evolution(self) -> Evolution:
        """The histories of this entry's values over all iterations so far, as numbers, by name.

        >>> _ = session.step(3)
        >>> sorted(session.frame.evolution)[:2]
        ['err', 'err_new']
        """
        return self._internals.current().evolution

    @property
    def around(self) -> SessionFrame | None:
        """The frame of the enclosing loop; None for the main graph."""
        around = self._internals.around
        return None if around is None else SessionFrame(around)

    def __getitem__(self, expression: str) -> Any:
        """The value of an expression, as ``frame["max(abs(h))"]``.

        Raises:
            UsageError: it is no expression, or a name in it has no value here.

        >>> _ = session.step()
        >>> session.frame["abs(x * x - a)"]
        np.float32(0.25)
        """
        reader = self._internals.current()
        return parse(expression).evaluate(FrameScope(reader, reader.history))

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
        return FrameScope(self._internals.current()).iteration_of(name)

    def show(self, expression: str) -> DisplayValue:
        """The value of an expression with a notebook rendering.

        >>> session.frame.show("x")
        x = 2.0
        """
        parsed = parse(expression)
        reader = self._internals.current()
        scope = FrameScope(reader, reader.history)
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
    """A frame of a live session. By reference, tensors of :data:`REFERENCE_MIN_BYTES` bytes or more are references,
    valid until the session moves; ``session_lock`` tells whether it does."""

    __slots__ = ("_refs", "_session_lock", "_timeline", "_uses_references")

    def __init__(
        self, timeline: Timeline, index: int, session_lock: SessionLock, uses_references: bool = False
    ) -> None:
        super().__init__(timeline.engine, index)
        self._timeline = timeline
        self._session_lock = session_lock
        self._uses_references = uses_references
        #: One reference per tensor, so that its statistics are cached.
        self._refs: dict[object, TensorRef] = {}

    def with_references(self) -> LiveFrameReader:
        return LiveFrameReader(self._timeline, self.index, self._session_lock, uses_references=True)

    # -- other loops and iterations

    @property
    def around(self) -> LiveFrameReader | None:
        return None if self.plan is None else LiveFrameReader(self._timeline, self.plan.parent, self._session_lock)

    @property
    def history(self) -> IterationValues:
        return IterationValues(self)

    @property
    def evolution(self) -> Evolution:
        return self._timeline.histories.entry_history(self.index)

    def history_reader(self) -> Callable[[], Evolution]:
        return self._timeline.histories.entry_history_reader(self.index)

    def boundary(self, iteration: int) -> FrameInternals:
        """The frame at an earlier boundary of this entry; valid until the next request."""
        return FrameInternals(self._timeline.engine_at_boundary(self.index, iteration), self.index)

    # -- values

    @property
    def back_edges(self) -> list[runtime.CarriedValue]:
        edges = super().back_edges
        for edge in edges if self._uses_references else ():
            if isinstance(edge.value, TensorRef) and isinstance(edge.previous, TensorRef):
                edge.value.set_predecessor(edge.previous)
        return edges

    def copy_slots(self, slots: Sequence[int]) -> list[Any]:
        engine = self.engine
        if not self._uses_references:
            return [engine.value(slot) for slot in slots]
        values = []
        for slot in slots:
            value = engine.peek(slot)
            if getattr(value, "nbytes", 0) >= REFERENCE_MIN_BYTES and is_large(value):
                values.append(self._make_reference(slot, value, partial(engine.peek, slot), slot))
            else:
                values.append(engine.value(slot))
        return values

    def previous(self, k: int) -> Any:
        loops, index = self.engine.loops, self.index
        value: Any = loops.peek_previous(index, k) if self._uses_references else None
        if getattr(value, "nbytes", 0) < REFERENCE_MIN_BYTES or not is_large(value):
            return loops.previous(index, k)
        slot = self.plan.edges[k].param if self.plan else -1
        peek = partial(loops.peek_previous, index, k)
        return self._make_reference(("previous", k), value, partial(_read_only_result, peek), slot, before=1)

    def scan_output(self, k: int) -> Any:
        value = self.engine.scans.output_so_far(self.index, k)
        if not self._uses_references or not is_large(value):
            return value.copy()
        read = partial(self.engine.scans.output_so_far, self.index, k)
        return self._make_reference(("scan", k), value, partial(_read_only_result, read))

    def scan_tail(self, k: int, length: int) -> tuple[int, tuple[int, ...], str, list[Any]]:
        """See :class:`~...runtime.loop_view.FrameInternals`; of large elements only the newest, as a reference."""
        scans, index = self.engine.scans, self.index
        count, whole, newest = scans.view(index, k, length)
        fields = count, tuple(whole.shape), whole.dtype.name
        if not self._uses_references or not count or not is_large(newest[-1]):
            return *fields, [np.array(row, newest.dtype) for row in newest]

        def read_newest() -> Any:
            return read_only_view(scans.view(index, k, 1)[2][-1])

        return *fields, [self._make_reference(("tail", k), newest[-1], read_newest)]

    def _make_reference(
        self, key: object, value: Array, find: Callable[[], Array], slot: int = -1, before: int = 0
    ) -> TensorRef:
        """The reference to a large value. ``slot``: its slot, -1: unknown; ``before``: number of iterations ago."""
        if key not in self._refs:
            stats_cache = self._timeline.stats_cache
            stats_cache.set_epoch(self.epoch)
            content = self._timeline.fingerprint(slot, before)
            reader = partial(self._apply_under_read_lock, find)
            self._refs[key] = TensorRef(value.dtype, value.shape, reader, stats_cache, content)
        return self._refs[key]

    def _apply_under_read_lock(self, find: Callable[[], Any], function: Callable[[Array], Any]) -> Any:
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


def _read_only_result(find: Callable[[], Array]) -> Array:
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
