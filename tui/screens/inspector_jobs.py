"""Background computations on the inspected tensor, in worker threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual.screen import Screen

from ...debugger.statistics.element_search import ElementPredicate, find_next
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.tensor_statistics import (
    StaleReferenceError,
    TensorChange,
    TensorRef,
    TensorStatistics,
    accumulate_by_parts,
    compute_change_by_parts,
)

#: The interval of partial results, in seconds.
_UPDATE_INTERVAL_SECONDS = 0.1
#: The bins of the histogram.
_HISTOGRAM_BINS = 64


class TensorJobs:
    """Runs passes over tensors for a screen. Results for a tensor no longer shown are dropped; ``show_message`` gets
    the error if the reference is stale."""

    def __init__(self, screen: Screen[Any], show_message: Callable[[str], None]) -> None:
        self._screen = screen
        self._show_message = show_message
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Cancel running jobs, as another tensor is shown."""
        self._cancelled.set()
        self._cancelled = threading.Event()

    def compute_statistics(self, tensor: TensorRef, send: Callable[[TensorStatistics, Histogram | None], None]) -> None:
        """Compute statistics with partial results, then the histogram."""
        self._run_job("statistics", lambda cancel: self._run_statistics_job(tensor, cancel, send))

    def compute_change(self, baseline: TensorRef, tensor: TensorRef, send: Callable[[TensorChange], None]) -> None:
        """Compute the change from the baseline to a tensor."""

        def work(cancel: threading.Event) -> None:
            change = tensor.cached_change_from(baseline)
            if change is None:
                change = TensorChange()
                for change in compute_change_by_parts(baseline, tensor):  # noqa: B007
                    if cancel.is_set():
                        return
            self._deliver(cancel, send, change)

        self._run_job("change", work)

    def search(self, tensor: TensorRef, test: ElementPredicate, start: int, send: Callable[[int | None], None]) -> None:
        """Find the flat index of the next element that satisfies a test."""

        def work(cancel: threading.Event) -> None:
            self._deliver(cancel, send, find_next(tensor, test, start, lambda: not cancel.is_set()))

        self._run_job("search", work)

    def _run_job(self, group: str, work: Callable[[threading.Event], None]) -> None:
        cancelled = self._cancelled

        def guarded() -> None:
            try:
                work(cancelled)
            except StaleReferenceError as problem:
                self._deliver(cancelled, self._show_message, str(problem))

        self._screen.run_worker(guarded, thread=True, group=group)

    def _deliver(self, cancel: threading.Event, callback: Callable[..., None], *args: Any) -> None:
        """Call back in the screen's thread, unless the job is cancelled."""

        def call() -> None:
            if not cancel.is_set():
                callback(*args)

        if not cancel.is_set():
            self._screen.app.call_from_thread(call)

    def _run_statistics_job(
        self, tensor: TensorRef, cancel: threading.Event, send: Callable[[TensorStatistics, Histogram | None], None]
    ) -> None:
        statistics = tensor.cached_statistics
        if statistics is not None:
            self._deliver(cancel, send, statistics, None)
        else:
            statistics = TensorStatistics()
            for _ in _throttle(accumulate_by_parts(tensor, statistics), cancel):
                self._deliver(cancel, send, statistics, None)
            if cancel.is_set():
                return
            tensor.cache_statistics(statistics)
        histogram = Histogram(statistics, _HISTOGRAM_BINS)
        for _ in _throttle(histogram.add_chunks(tensor.chunks()), cancel):
            pass
        self._deliver(cancel, send, statistics, histogram)


def _throttle(passes: Iterable[None], cancel: threading.Event) -> Iterator[None]:
    """Run passes; yields once per update interval and at the end."""
    last_update = time.monotonic()
    for _ in passes:
        if cancel.is_set():
            return
        if time.monotonic() - last_update > _UPDATE_INTERVAL_SECONDS:
            last_update = time.monotonic()
            yield
    yield
