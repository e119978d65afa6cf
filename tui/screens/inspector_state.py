"""What an inspector stands at: the value in an iteration, an item of it, the other iteration that it is compared with,
and what is known of them so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...debugger.describe.value_names import quote
from ...debugger.statistics.axis_growth import AxisGrowth
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.streaming_stats import TensorChange, TensorStatistics
from ...debugger.statistics.tensor_ref import TensorRef
from ..render.inspector_text import IterationSeries
from ..session_worker import SessionQuery, SessionWorker
from .inspected_value import InspectedValue, as_tensor
from .inspector_jobs import TensorJobs


class InspectorObserver(Protocol):
    """Who shows it."""

    def say(self, text: str) -> None:
        """A word about what was just asked for."""

    def say_busy(self) -> None:
        """Nothing can be asked while a command runs."""

    def value_changed(self) -> None:
        """It stands at another value."""

    def details_changed(self) -> None:
        """More is known of the value."""

    def call_in_screen(self, come: Callable[..., None], *found: Any) -> None:
        """Call something in the screen's thread, from any other."""


class InspectorState:
    """Moves through iterations without moving the session."""

    def __init__(
        self, inspected: InspectedValue, driver: SessionWorker, onlooker: InspectorObserver, work: TensorJobs
    ) -> None:
        self.inspected = inspected
        self._session_worker = driver
        self._observer = onlooker
        self._jobs = work
        self.value: Any = inspected.value
        self.is_present = inspected.is_present
        self.tensor: TensorRef | None = None
        #: The selected iteration, and the one that differences are to, with the value there once it is known.
        self.iteration = inspected.iteration
        self.baseline_iteration = None if not self.iteration else self.iteration - 1
        self.baseline: TensorRef | None = None
        #: How the shape differs from that of the other one.
        self.growth: AxisGrowth | None = None
        #: The selected item of a sequence, and the sequence.
        self.item_index: int | None = None
        self._sequence: Any = None
        self.statistics = TensorStatistics()
        self.change: TensorChange | None = None
        self.histogram: Histogram | None = None
        self.series: IterationSeries | None = inspected.known_series()
        self.set_value(self.value, self.is_present)

    # -- what it stands at

    @property
    def name_text(self) -> str:
        """The name, with the number of the item."""
        name = quote(self.inspected.target.name)
        return name if self.item_index is None else f"{name}[{self.item_index}]"

    @property
    def items(self) -> list[Any] | tuple[Any, ...]:
        """The items of a sequence; none of anything else."""
        return self.value if isinstance(self.value, list | tuple) else ()

    def title_line(self, width: int) -> str:
        """A line that says what is shown."""
        return self.inspected.title_line(self.name_text, self.value, self.tensor, self.iteration, width)

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The least and the largest element, once all were read."""
        low, high = self.statistics.min, self.statistics.max
        done = self.tensor is not None and self.statistics.size == self.tensor.size
        return (float(low or 0), float(high or 0)) if done and low is not None and high is not None else None

    def set_value(self, value: Any, there: bool) -> None:
        """Show a value; what was computed of the one before is forgotten."""
        self.value, self.is_present = value, there
        self._jobs.cancel()
        self.tensor = as_tensor(value) if there else None
        self.statistics, self.change, self.histogram = TensorStatistics(), None, None
        self.baseline, self.growth = None, None

    def start_jobs(self) -> None:
        """Compute what the value holds, in a thread of its own."""
        self._observer.value_changed()
        tensor = self.tensor
        if tensor is not None and tensor.size and tensor.dtype.kind not in "OUST":
            self._jobs.compute_statistics(tensor, self._receive_statistics)
        if self.inspected.previous is not None and self.iteration == self.inspected.iteration:
            self.load_baseline()

    def _receive_statistics(self, found: TensorStatistics, bars: Histogram | None) -> None:
        self.statistics, self.histogram = found, bars
        self._observer.details_changed()

    def _receive_change(self, found: TensorChange) -> None:
        self.change = found
        self._observer.details_changed()

    def open_item(self, at: int) -> None:
        """Show an item of the sequence."""
        self.item_index, self._sequence = at, self.value
        self.set_value(self.value[at], True)
        self.start_jobs()

    def close_item(self) -> int:
        """Back to the sequence; returns which item it was."""
        at, self.item_index = self.item_index or 0, None
        self.set_value(self._sequence, True)
        self.start_jobs()
        return at

    # -- other iterations

    def _query_session(self, find: Callable[[Any], Any], came: Callable[[Any], None]) -> None:
        """Ask the session; the answer comes back in the screen's thread."""

        def answer(found: Any, error: str | None) -> None:
            if error is not None:
                self._observer.call_in_screen(self._observer.say, error)
            else:
                self._observer.call_in_screen(came, found)

        if not self._session_worker.query(SessionQuery(find, answer)):
            self._observer.say_busy()

    def query_series(self) -> None:
        """Compute the course, where the stop does not know it."""
        if self.series is None and self.inspected.can_query_series:
            self._observer.say("looking at other iterations …")
            self._query_session(self.inspected.series_query(), self._receive_series)

    def _receive_series(self, course: IterationSeries) -> None:
        self.series = course
        self._observer.say("")
        self._observer.details_changed()

    def go_to_iteration(self, iteration: int, then: Callable[[], None]) -> None:
        """Show the value in another iteration, and go on."""
        inspected = self.inspected
        if inspected.iteration is None:
            self._observer.say("this value is of no iteration")
        elif iteration < 0:
            self._observer.say("iteration 0 is the first")
        elif iteration == inspected.iteration:
            self._show_iteration(iteration, inspected.value, inspected.is_present, then)
        elif iteration > inspected.last_iteration:
            self._observer.say(f"iteration {iteration} has not run yet: esc, then s")
        else:
            self._query_session(
                inspected.iteration_query(iteration), lambda value: self._show_iteration(iteration, value, True, then)
            )

    def _show_iteration(self, iteration: int, value: Any, there: bool, then: Callable[[], None]) -> None:
        self.iteration = iteration
        self.baseline_iteration = iteration - 1 if iteration else None
        self.set_value(value, there)
        self._observer.say("")
        self.start_jobs()
        then()

    def compare_with(self, iteration: int, then: Callable[[], None]) -> None:
        """Compare with another iteration, and go on.

        Raises:
            ValueError: it has not run yet.
        """
        if iteration > max(self.inspected.last_iteration, self.inspected.iteration or 0):
            raise ValueError(f"iteration {iteration} has not run yet")
        self.baseline_iteration, self.baseline = iteration, None
        self.load_baseline(then)

    def load_baseline(self, then: Callable[[], None] | None = None) -> None:
        """Have the value of the other iteration, compare with it, and go on."""
        iteration, tensor = self.baseline_iteration, self.tensor
        if iteration is None or tensor is None:
            self._observer.say("there is no iteration before to compare with; d names one")
            return
        if self.baseline is not None:
            if then is not None:
                then()
            return

        def came(value: Any) -> None:
            other = as_tensor(value)
            if self.tensor is not tensor:
                return
            growth = None if other is None else AxisGrowth.from_shapes(other.shape, tensor.shape)
            if other is None or (other.shape != tensor.shape and growth is None):
                self._observer.say(f"in iteration {iteration} it has another shape")
                return
            self.baseline, self.growth = other, growth
            self._compute_change(self._receive_change)
            if then is not None:
                then()

        inspected = self.inspected
        if iteration == inspected.iteration:
            came(inspected.value)
        elif inspected.previous is not None and iteration + 1 == inspected.iteration:
            # It lies there already.
            came(inspected.previous)
        else:
            self._query_session(inspected.iteration_query(iteration), came)

    def largest_change(self, came: Callable[[TensorChange], None]) -> None:
        """Find the element that changed most since the other iteration."""

        self.load_baseline(lambda: self._compute_change(came))

    def _compute_change(self, came: Callable[[TensorChange], None]) -> None:
        """Find what changed in what both have."""
        tensor, other = self.tensor, self.baseline
        if tensor is None or other is None:
            return
        if self.growth is not None:
            other, tensor = self.growth.common_part(other), self.growth.common_part(tensor)
        self._jobs.compute_change(other, tensor, came)

    def flat_position(self, found: TensorChange) -> int:
        """Where the element that changed most lies in the value, as a flat position; -1 where nothing changed."""
        if self.growth is None or self.tensor is None or found.at < 0:
            return found.at
        return self.growth.flat_position(found.at, self.tensor.shape)
