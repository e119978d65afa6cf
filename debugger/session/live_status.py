"""Value histories and status of running loops, sampled while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.engine.engine import Engine
from ...runtime.engine.history.value_history import HistoryView
from ...runtime.frame_internals import max_trip_count
from ...runtime.graph import Array, Loop, ScanOutput, Value
from ...runtime.graph.slicing import normalize_axis, scan_output_shape
from ..describe.condition_analysis import DecidingComparison, deciding_comparison
from ..statistics.sampling import (
    ElementSample,
    plot_line_indices,
    reduce_elements,
    reduce_scalars,
    sample_elements,
    sample_scalars,
)
from ..statistics.tensor_statistics import REFERENCE_MIN_BYTES
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution, Numbers, Series, ValueHistory

#: Sampling interval, how long sampling continues after the last request, and its maximum share of the run time.
_SAMPLE_INTERVAL_SECONDS, _DEMAND_TIMEOUT_SECONDS, _MAX_TIME_SHARE = 0.08, 1.0, 0.02
#: Limits of the sample of a scan output: lines, elements per line, numbers per element; number of scalar elements.
_SAMPLE_LINES, _ELEMENTS_PER_LINE, _NUMBERS_PER_ELEMENT, _MAX_SCALAR_ELEMENTS = 64, 2, 512, 1 << 15
#: Scan outputs up to this many numbers are read completely, while the loop waits.
_EXHAUSTIVE_READ_MAX_ELEMENTS = 1 << 20
#: Carried tensors up to this size are copied; larger ones have only their history.
_COPY_MAX_BYTES = REFERENCE_MIN_BYTES


class TrackedValues:
    """The tracked values of a loop: the carried values, then ``sides``, the other sides of its comparison."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.comparison: DecidingComparison | None = deciding_comparison(loop)
        self.sides: list[Value] = []
        if self.comparison is not None:
            carried = {value for edge in loop.back_edges for value in (edge.param, edge.result)}
            sides = dict.fromkeys((self.comparison.left, self.comparison.right))
            self.sides = [value for value in sides if value not in carried and value.constant is None]

    def evolution(self, view: HistoryView | None) -> Evolution:
        """Return the recorded values of an entry, by name."""
        if view is None or not view.rows:
            return EMPTY_EVOLUTION
        histories = {}
        for k, edge in enumerate(self.loop.back_edges):
            if view.has_numbers[k]:
                histories[edge.param.name] = _carried_history(edge.param.name, view, k)
        sides = None
        if self.comparison is not None:
            compared = self.comparison.left, self.comparison.right
            # If the condition is tested before the iteration, the comparison of the next iteration is known.
            params = {edge.param for edge in self.loop.back_edges}
            ahead = self.loop.condition_node_count is not None and all(
                v in params or v.constant is not None for v in compared
            )
            left, right = (self._comparison_side_history(value, view, ahead) for value in compared)
            if left is not None and right is not None:
                sides = left, right
                for value, history in zip((self.comparison.left, self.comparison.right), sides, strict=True):
                    histories.setdefault(value.name, history)
        return Evolution(histories, sides)

    def _comparison_side_history(self, value: Value, view: HistoryView, ahead: bool) -> ValueHistory | None:
        """The values of a side in each iteration that ended; ``ahead``: also in the next one."""
        if view.rows == 1 and not ahead:
            empty = np.empty(0)
            return ValueHistory(value.name, np.empty(0, np.int64), 1, Series(empty, empty, empty, empty, empty))
        if value.constant is not None:
            return _constant_history(value, view, ahead)
        for k, edge in enumerate(self.loop.back_edges):
            if edge.param is value:
                make_history = _carried_history if ahead else _compared_history
                return make_history(value.name, view, k) if view.has_numbers[k] else None
            if edge.result is value:
                return _computed_history(value.name, view, k) if view.has_numbers[k] else None
        k = len(self.loop.back_edges) + self.sides.index(value)
        return _computed_history(value.name, view, k) if k < len(view.has_numbers) and view.has_numbers[k] else None


def _make_history(
    name: str, view: HistoryView, k: int, iterations: npt.NDArray[np.int64], stats: Numbers
) -> ValueHistory:
    if not view.is_summarized[k]:
        return ValueHistory(name, iterations, view.width, Series(*stats[:, 0].T), is_complete=view.is_complete)
    value, low, high, mean = (Series(*column.T) for column in np.moveaxis(stats, 1, 0))
    return ValueHistory(name, iterations, view.width, value, low, high, mean, view.is_complete)


def _bucket_starts(view: HistoryView) -> npt.NDArray[np.int64]:
    if isinstance(view.origin, np.ndarray):
        return view.origin[:: view.width]
    return view.origin + view.width * np.arange(len(view.stats), dtype=np.int64)


def _carried_history(name: str, view: HistoryView, k: int) -> ValueHistory:
    """A row is the value that an iteration receives."""
    return _make_history(name, view, k, _bucket_starts(view), view.stats[:, k])


def _computed_history(name: str, view: HistoryView, k: int) -> ValueHistory:
    """A row is the value that the previous iteration computed; the first one is empty or the initial value."""
    starts, stats = _bucket_starts(view) - 1, view.stats[:, k]
    if view.width == 1:
        return _make_history(name, view, k, starts[1:], stats[1:])
    starts[0] += 1
    return _make_history(name, view, k, starts, stats)


def _compared_history(name: str, view: HistoryView, k: int) -> ValueHistory:
    """A row is the value that an iteration receives; the last one has not been compared yet."""
    end = len(view.stats) - (view.rows % view.width == 1 or view.width == 1)
    return _make_history(name, view, k, _bucket_starts(view)[:end], view.stats[:end, k])


def _constant_history(value: Value, view: HistoryView, ahead: bool) -> ValueHistory | None:
    """A value that is the same in all iterations."""
    data = np.asarray(value.constant)
    if data.size != 1 or data.dtype.kind in "OUSTM":
        return None
    number = abs(data.reshape(())[()]) if data.dtype.kind == "c" else data.reshape(())[()]
    starts = _bucket_starts(view)
    starts = starts[1:] - 1 if view.width == 1 and not ahead else starts
    array = np.full(len(starts), float(number))
    return ValueHistory(value.name, starts, view.width, Series(array, array, array, array, np.zeros(len(starts))))


@dataclass(frozen=True, eq=False)
class LiveScanOutput:
    """A scan output so far; ``newest``: its newest element, if small."""

    count: int
    shape: tuple[int, ...]
    dtype: str
    newest: Any
    sample: ElementSample | None


@dataclass(frozen=True, eq=False)
class LiveCarriedValue:
    """A carried value: ``value`` for the next iteration and ``previous``, if small."""

    dtype: str
    shape: tuple[int, ...]
    value: Array | None
    previous: Array | None


@dataclass(frozen=True, eq=False)
class LiveStatus:
    """The recent state of a running loop, at a boundary of it or of an inner loop. ``carried`` and ``scans`` are in the
    order of its back edges and scan outputs; None: no tensor. ``history``: its values so far."""

    entry: tuple[int, ...]
    iteration: int
    trip_count: int | None
    carried: tuple[LiveCarriedValue | None, ...]
    scans: tuple[LiveScanOutput, ...]
    history: Evolution


class HistorySampler:
    """Makes an engine record value histories of its loops, and publishes them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tracked: dict[int, TrackedValues] = {}
        self._latest: Mapping[str, Evolution] = {}
        self._requested_time = self._sampled_time = 0.0
        slots = engine.plan.slot_of
        for plan in engine.plan.loops:
            tracked = TrackedValues(plan.loop)
            # Values of an If's branch do not exist in every iteration.
            readable = [value for value in tracked.sides if value in slots]
            if len(readable) < len(tracked.sides):
                tracked.sides, tracked.comparison = [], None
            self._tracked[plan.index] = tracked
            engine.histories.record_values(plan.index, [slots[value] for value in tracked.sides])

    def entry_history(self, index: int, entry: int | None = None) -> Evolution:
        """The recorded history of an entry of a loop: the current or last one, or the one with a number (from 0)."""
        return EMPTY_EVOLUTION if index < 0 else self.entry_history_reader(index, entry)()

    def entry_history_reader(self, index: int, entry: int | None = None) -> Callable[[], Evolution]:
        """A function that gives what :meth:`entry_history` is now, also after the run goes on."""
        return partial(self._tracked[index].evolution, self._engine.histories.view(index, entry))

    # -- while the engine runs

    @property
    def latest(self) -> Mapping[str, Evolution]:
        """Path of each entered loop -> its history, at most about a tenth of a second old; empty at first. Thread-safe
        while the engine runs in another thread."""
        self._requested_time = time.monotonic()
        return self._latest

    def clear_latest(self) -> None:
        """Discard the samples when a command begins."""
        self._latest = {}

    def sample_if_requested(self) -> None:
        """Called frequently by the engine's thread."""
        now = time.monotonic()
        if now - self._requested_time > _DEMAND_TIMEOUT_SECONDS or now - self._sampled_time < _SAMPLE_INTERVAL_SECONDS:
            return
        self._latest = {plan.path: self.entry_history(plan.index) for plan in self._engine.plan.loops}
        self._sampled_time = time.monotonic()

    def entries(self, index: int) -> list[int]:
        """The numbers of the stored entries, oldest first."""
        return self._engine.histories.entries(index)


class LiveStatusSampler:
    """Samples an engine at boundaries that it passes."""

    def __init__(self, engine: Engine, histories: HistorySampler) -> None:
        self._engine = engine
        self._histories = histories
        self._requested_time = self._sampled_time = 0.0
        self._sample_cost_seconds = 0.0
        self._latest: Mapping[str, LiveStatus] = {}

    @property
    def latest(self) -> Mapping[str, LiveStatus]:
        """Path of each running loop -> its last sample. Thread-safe while the engine runs in another thread."""
        self._requested_time = time.monotonic()
        return self._latest

    def clear(self) -> None:
        """Discard the samples when a command begins."""
        self._latest = {}

    @property
    def is_sample_due(self) -> bool:
        """Whether the engine should stop at the next boundary for a sample."""
        now = time.monotonic()
        return now - self._requested_time < _DEMAND_TIMEOUT_SECONDS and now - self._sampled_time > max(
            _SAMPLE_INTERVAL_SECONDS, self._sample_cost_seconds / _MAX_TIME_SHARE
        )

    def sample_if_due(self) -> None:
        """Called by the engine's thread at a boundary."""
        if not self.is_sample_due:
            return
        # Thread time excludes other threads.
        start = time.thread_time()
        # Copy on write: readers in other threads keep the old mapping.
        self._latest = {**self._latest, **self._sample()}
        self._sample_cost_seconds = time.thread_time() - start
        self._sampled_time = time.monotonic()

    def _sample(self) -> dict[str, LiveStatus]:
        engine, loops = self._engine, {}
        entry: tuple[int, ...] = ()
        for index in engine.stack:
            plan = engine.plan.loops[index]
            iteration, trips = engine.loop_state(index)[0], max_trip_count(engine, plan)
            started = engine.pc == plan.head and iteration > 0
            carried = tuple(self._sample_carried(index, k, edge.param, started) for k, edge in enumerate(plan.edges))
            scans = tuple(self._sample_scan(index, k, edge.output) for k, edge in enumerate(plan.scans))
            loops[plan.path] = LiveStatus(entry, iteration, trips, carried, scans, self._histories.entry_history(index))
            entry = (*entry, iteration)
        return loops

    def _sample_carried(self, index: int, k: int, slot: int, started: bool) -> LiveCarriedValue | None:
        value = self._engine.peek(slot)
        if not isinstance(value, np.ndarray):
            return None
        small = value.nbytes <= _COPY_MAX_BYTES
        previous = self._engine.loops.peek_previous(index, k) if small and started else None
        copied = isinstance(previous, np.ndarray) and previous.nbytes <= _COPY_MAX_BYTES
        return LiveCarriedValue(
            value.dtype.name, value.shape, np.array(value) if small else None, np.array(previous) if copied else None
        )

    def _sample_scan(self, index: int, k: int, port: ScanOutput) -> LiveScanOutput:
        rows = self._engine.scans.elements(index, k)
        if rows is None:
            return LiveScanOutput(0, (0,), "", None, None)
        count, element_shape = len(rows), rows.shape[1:]
        newest = np.array(rows[-1]) if rows[-1].nbytes < REFERENCE_MIN_BYTES or rows.dtype.hasobject else None
        fields = count, scan_output_shape(element_shape, port, count), rows.dtype.name, newest
        size = int(np.prod(element_shape, dtype=np.int64))
        if not size or rows.dtype.kind in "OUST":
            return LiveScanOutput(*fields, None)
        # In the order of the output.
        rows = rows[::-1] if port.reverse else rows
        if size == 1:
            sampler = reduce_scalars if rows.size <= _EXHAUSTIVE_READ_MAX_ELEMENTS else sample_scalars
            return LiveScanOutput(*fields, sampler(rows, _MAX_SCALAR_ELEMENTS))
        axis = 0 if port.stack else normalize_axis(port.axis, len(element_shape))
        if rows.size <= _EXHAUSTIVE_READ_MAX_ELEMENTS:
            return LiveScanOutput(*fields, reduce_elements(rows, size, _NUMBERS_PER_ELEMENT, axis))
        return LiveScanOutput(
            *fields,
            sample_elements(
                rows, size, plot_line_indices(count, _SAMPLE_LINES, _ELEMENTS_PER_LINE), _NUMBERS_PER_ELEMENT, axis
            ),
        )
