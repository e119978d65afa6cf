"""What is computed of the tensor in an inspector, in threads of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual.screen import Screen

from ...debugger.statistics.change import changing
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.onepass import Change, Statistics
from ...debugger.statistics.search import Test, next_place
from ...debugger.statistics.tensor import OverError, TensorRef, passing

#: What was computed so far is shown this often, in seconds.
_SHOWN_EVERY = 0.1
#: The bins of the histogram.
_BINS = 64


class Background:
    """Passes over tensors for a screen. The result for one that is not shown any more is dropped; where the session has
    gone on, ``say`` gets that."""

    def __init__(self, screen: Screen[Any], say: Callable[[str], None]) -> None:
        self._screen = screen
        self._say = say
        self._over = threading.Event()

    def forget(self) -> None:
        """Another tensor is shown: end what is under way."""
        self._over.set()
        self._over = threading.Event()

    def statistics(self, tensor: TensorRef, came: Callable[[Statistics, Histogram | None], None]) -> None:
        """Statistics as they are computed, and then the histogram."""
        self._run("statistics", lambda over: self._statistics(tensor, over, came))

    def compare(self, other: TensorRef, tensor: TensorRef, came: Callable[[Change], None]) -> None:
        """What changed from one tensor to the other."""

        def work(over: threading.Event) -> None:
            last = tensor.change_from(other)
            if last is None:
                last = Change()
                for last in changing(other, tensor):  # noqa: B007
                    if over.is_set():
                        return
            self._tell(over, came, last)

        self._run("change", work)

    def search(self, tensor: TensorRef, test: Test, after: int, came: Callable[[int | None], None]) -> None:
        """The flat position of the next element for which a test holds."""

        def work(over: threading.Event) -> None:
            self._tell(over, came, next_place(tensor, test, after, lambda: not over.is_set()))

        self._run("search", work)

    def _run(self, group: str, work: Callable[[threading.Event], None]) -> None:
        over = self._over

        def guarded() -> None:
            try:
                work(over)
            except OverError as problem:
                self._tell(over, self._say, str(problem))

        self._screen.run_worker(guarded, thread=True, group=group)

    def _tell(self, over: threading.Event, came: Callable[..., None], *found: Any) -> None:
        """Hand something to the screen, in its thread, if it still wants it then."""

        def take() -> None:
            if not over.is_set():
                came(*found)

        if not over.is_set():
            self._screen.app.call_from_thread(take)

    def _statistics(
        self, tensor: TensorRef, over: threading.Event, came: Callable[[Statistics, Histogram | None], None]
    ) -> None:
        found = tensor.known
        if found is not None:
            self._tell(over, came, found, None)
        else:
            found = Statistics()
            for _ in _now_and_then(passing(tensor, found), over):
                self._tell(over, came, found, None)
            if over.is_set():
                return
            tensor.keep(found)
        bars = Histogram(found, _BINS)
        for _ in _now_and_then(bars.filling(tensor.chunks()), over):
            pass
        self._tell(over, came, found, bars)


def _now_and_then(passes: Iterable[None], over: threading.Event) -> Iterator[None]:
    """Let something go on, and come by every now and then, and in the end."""
    shown = time.monotonic()
    for _ in passes:
        if over.is_set():
            return
        if time.monotonic() - shown > _SHOWN_EVERY:
            shown = time.monotonic()
            yield
    yield
