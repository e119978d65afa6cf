"""How running loops stand, told now and then while they run on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...runtime.engine.engine import Engine
from ...runtime.graph import Array, ScanOutput
from ...runtime.graph.slicing import normalize_axis, scan_output_shape
from ...runtime.max_trip_count import max_trip_count
from ..statistics.sampling import (
    ElementSample,
    fold_elements,
    fold_scalars,
    indices_per_line,
    sample_elements,
    sample_scalars,
)
from ..statistics.tensor_ref import REFERENCE_MIN_BYTES
from ..statistics.value_history import Evolution
from .history_sampler import HistorySampler

#: It is told so often, for so long after somebody asked, and takes at most this part of the time.
_SAMPLE_INTERVAL_SECONDS, _DEMAND_TIMEOUT_SECONDS, _MAX_TIME_SHARE = 0.09, 1.0, 0.02
#: Of a scan output so many elements in so many lines are read, and so many numbers of each; so many single ones.
_SAMPLE_LINES, _ELEMENTS_PER_LINE, _NUMBERS_PER_ELEMENT, _MAX_SCALAR_ELEMENTS = 64, 2, 512, 1 << 15
#: Of so many numbers each is read, while the loop waits.
_EXHAUSTIVE_READ_MAX_ELEMENTS = 1 << 20
#: Carried tensors of so many bytes are copied; of others there is the history.
_COPY_MAX_BYTES = REFERENCE_MIN_BYTES


@dataclass(frozen=True, eq=False)
class LiveScanOutput:
    """What a scan output has so far: ``newest`` is its newest element, where that is small."""

    count: int
    shape: tuple[int, ...]
    dtype: str
    newest: Any
    sample: ElementSample | None


@dataclass(frozen=True, eq=False)
class LiveCarriedValue:
    """What a back edge carries: what the next iteration gets and what the one before got, where they are small."""

    dtype: str
    shape: tuple[int, ...]
    value: Array | None
    previous: Array | None


@dataclass(frozen=True, eq=False)
class LiveStatus:
    """The recent state of a running loop, at a boundary of it or of one inside. What is carried and collected is in
    the order of its back edges and scan outputs; None: no tensor. ``history``: what its values were so far."""

    entry: tuple[int, ...]
    iteration: int
    trip_count: int | None
    carried: tuple[LiveCarriedValue | None, ...]
    scans: tuple[LiveScanOutput, ...]
    history: Evolution


class LiveStatusSampler:
    """Reads an engine at a boundary that it passes anyway."""

    def __init__(self, engine: Engine, histories: HistorySampler) -> None:
        self._engine = engine
        self._histories = histories
        self._requested_time = self._sampled_time = 0.0
        self._sample_cost_seconds = 0.0
        self._latest: Mapping[str, LiveStatus] = {}

    @property
    def latest(self) -> Mapping[str, LiveStatus]:
        """Path of each loop that was met running -> how it stood. From any thread, while the engine runs in another."""
        self._requested_time = time.monotonic()
        return self._latest

    def clear(self) -> None:
        """A command begins."""
        self._latest = {}

    @property
    def is_due(self) -> bool:
        """Whether the engine should stop at the next boundary, to be read."""
        now = time.monotonic()
        return now - self._requested_time < _DEMAND_TIMEOUT_SECONDS and now - self._sampled_time > max(
            _SAMPLE_INTERVAL_SECONDS, self._sample_cost_seconds / _MAX_TIME_SHARE
        )

    def sample_if_due(self) -> None:
        """In the thread that runs the engine, while it stands at a boundary."""
        if not self.is_due:
            return
        # Without the time in which others run.
        begun = time.thread_time()
        # Nobody ever changes what others may be reading.
        self._latest = {**self._latest, **self._sample()}
        self._sample_cost_seconds = time.thread_time() - begun
        self._sampled_time = time.monotonic()

    def _sample(self) -> dict[str, LiveStatus]:
        engine, found = self._engine, {}
        entry: tuple[int, ...] = ()
        for index in engine.stack:
            plan = engine.plan.loops[index]
            iteration, trips = engine.loop_state(index)[0], max_trip_count(engine, plan)
            between = engine.pc == plan.head and iteration > 0
            carried = tuple(self._sample_carried(index, k, one.param, between) for k, one in enumerate(plan.edges))
            scans = tuple(self._sample_scan(index, k, one.output) for k, one in enumerate(plan.scans))
            found[plan.path] = LiveStatus(entry, iteration, trips, carried, scans, self._histories.entry_history(index))
            entry = (*entry, iteration)
        return found

    def _sample_carried(self, index: int, k: int, slot: int, between: bool) -> LiveCarriedValue | None:
        value = self._engine.peek(slot)
        if not isinstance(value, np.ndarray):
            return None
        small = value.nbytes <= _COPY_MAX_BYTES
        before = self._engine.loops.peek_previous(index, k) if small and between else None
        known = isinstance(before, np.ndarray) and before.nbytes <= _COPY_MAX_BYTES
        return LiveCarriedValue(
            value.dtype.name, value.shape, np.array(value) if small else None, np.array(before) if known else None
        )

    def _sample_scan(self, index: int, k: int, port: ScanOutput) -> LiveScanOutput:
        rows = self._engine.scans.elements(index, k)
        if rows is None:
            return LiveScanOutput(0, (0,), "", None, None)
        count, element = len(rows), rows.shape[1:]
        newest = np.array(rows[-1]) if rows[-1].nbytes < REFERENCE_MIN_BYTES or rows.dtype.hasobject else None
        told = count, scan_output_shape(element, port, count), rows.dtype.name, newest
        size = int(np.prod(element, dtype=np.int64))
        if not size or rows.dtype.kind in "OUST":
            return LiveScanOutput(*told, None)
        # As they stand in the output.
        rows = rows[::-1] if port.reverse else rows
        if size == 1:
            take = fold_scalars if rows.size <= _EXHAUSTIVE_READ_MAX_ELEMENTS else sample_scalars
            return LiveScanOutput(*told, take(rows, _MAX_SCALAR_ELEMENTS))
        axis = 0 if port.stack else normalize_axis(port.axis, len(element))
        if rows.size <= _EXHAUSTIVE_READ_MAX_ELEMENTS:
            return LiveScanOutput(*told, fold_elements(rows, size, _NUMBERS_PER_ELEMENT, axis))
        return LiveScanOutput(
            *told,
            sample_elements(
                rows, size, indices_per_line(count, _SAMPLE_LINES, _ELEMENTS_PER_LINE), _NUMBERS_PER_ELEMENT, axis
            ),
        )
