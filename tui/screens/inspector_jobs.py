"""What is computed of the tensor in an inspector, in threads of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual.screen import Screen

from ...debugger.statistics.element_search import ElementPredicate, find_next
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.streaming_stats import TensorChange, TensorStatistics
from ...debugger.statistics.tensor_change import compute_change_by_parts
from ...debugger.statistics.tensor_ref import StaleReferenceError, TensorRef, accumulate_by_parts

#: What was computed so far is shown this often, in seconds.
_UPDATE_INTERVAL_SECONDS = 0.1
#: The bins of the histogram.
_HISTOGRAM_BINS = 64


class TensorJobs:
    """Passes over tensors for a screen. The result for one that is not shown any more is dropped; where the session has
    gone on, ``say`` gets that."""

    def __init__(self, screen: Screen[Any], say: Callable[[str], None]) -> None:
        self._screen = screen
        self._show_message = say
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Another tensor is shown: end what is under way."""
        self._cancelled.set()
        self._cancelled = threading.Event()

    def compute_statistics(self, tensor: TensorRef, came: Callable[[TensorStatistics, Histogram | None], None]) -> None:
        """Statistics as they are computed, and then the histogram."""
        self._run_job("statistics", lambda over: self._statistics_job(tensor, over, came))

    def compute_change(self, other: TensorRef, tensor: TensorRef, came: Callable[[TensorChange], None]) -> None:
        """What changed from one tensor to the other."""

        def work(over: threading.Event) -> None:
            last = tensor.cached_change_from(other)
            if last is None:
                last = TensorChange()
                for last in compute_change_by_parts(other, tensor):  # noqa: B007
                    if over.is_set():
                        return
            self._deliver(over, came, last)

        self._run_job("change", work)

    def search(self, tensor: TensorRef, test: ElementPredicate, after: int, came: Callable[[int | None], None]) -> None:
        """The flat position of the next element for which a test holds."""

        def work(over: threading.Event) -> None:
            self._deliver(over, came, find_next(tensor, test, after, lambda: not over.is_set()))

        self._run_job("search", work)

    def _run_job(self, group: str, work: Callable[[threading.Event], None]) -> None:
        over = self._cancelled

        def guarded() -> None:
            try:
                work(over)
            except StaleReferenceError as problem:
                self._deliver(over, self._show_message, str(problem))

        self._screen.run_worker(guarded, thread=True, group=group)

    def _deliver(self, over: threading.Event, came: Callable[..., None], *found: Any) -> None:
        """Hand something to the screen, in its thread, if it still wants it then."""

        def take() -> None:
            if not over.is_set():
                came(*found)

        if not over.is_set():
            self._screen.app.call_from_thread(take)

    def _statistics_job(
        self, tensor: TensorRef, over: threading.Event, came: Callable[[TensorStatistics, Histogram | None], None]
    ) -> None:
        found = tensor.cached_statistics
        if found is not None:
            self._deliver(over, came, found, None)
        else:
            found = TensorStatistics()
            for _ in _throttle(accumulate_by_parts(tensor, found), over):
                self._deliver(over, came, found, None)
            if over.is_set():
                return
            tensor.cache_statistics(found)
        bars = Histogram(found, _HISTOGRAM_BINS)
        for _ in _throttle(bars.add_chunks(tensor.chunks()), over):
            pass
        self._deliver(over, came, found, bars)


def _throttle(passes: Iterable[None], over: threading.Event) -> Iterator[None]:
    """Let something go on, and come by every now and then, and in the end."""
    shown = time.monotonic()
    for _ in passes:
        if over.is_set():
            return
        if time.monotonic() - shown > _UPDATE_INTERVAL_SECONDS:
            shown = time.monotonic()
            yield
    yield
