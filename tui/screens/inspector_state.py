"""The state of an inspector: the selected iteration and item, the baseline of differences, the statistics so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...debugger.describe.value_names import quote
from ...debugger.statistics.axis_growth import AxisGrowth
from ...debugger.statistics.histogram import Histogram
from ...debugger.statistics.tensor_statistics import TensorChange, TensorRef, TensorStatistics
from ..command_worker import CommandWorker
from ..render.inspector_text import IterationSeries
from .inspected_value import InspectedValue, as_tensor
from .inspector_jobs import TensorJobs


class InspectorObserver(Protocol):
    """The screen that shows the state."""

    def say(self, text: str) -> None:
        """Show a message."""

    def report_busy(self) -> None:
        """Report that no query is possible while a command runs."""

    def handle_value_change(self) -> None:
        """The value changed."""

    def handle_details_change(self) -> None:
        """The statistics or the series changed."""

    def call_in_screen(self, callback: Callable[..., None], *args: Any) -> None:
        """Call back in the screen's thread."""


class InspectorState:
    """Navigates through iterations without moving the session."""

    def __init__(
        self, inspected: InspectedValue, worker: CommandWorker, observer: InspectorObserver, jobs: TensorJobs
    ) -> None:
        self.inspected = inspected
        self._session_worker = worker
        self._observer = observer
        self._jobs = jobs
        self.value: Any = inspected.value
        self.is_present = inspected.is_present
        self.tensor: TensorRef | None = None
        #: The selected iteration, and the baseline of differences with its value once known.
        self.iteration = inspected.iteration
        self.baseline_iteration = None if not self.iteration else self.iteration - 1
        self.baseline: TensorRef | None = None
        #: How the shape has grown since the baseline.
        self.growth: AxisGrowth | None = None
        #: The selected item of a sequence, and the sequence.
        self.item_index: int | None = None
        self._sequence: Any = None
        self.statistics = TensorStatistics()
        self.change: TensorChange | None = None
        self.histogram: Histogram | None = None
        self.series: IterationSeries | None = inspected.known_series()
        self.set_value(self.value, self.is_present)

    # -- the selected value

    @property
    def name_text(self) -> str:
        """The name, with the index of the item."""
        name = quote(self.inspected.target.name)
        return name if self.item_index is None else f"{name}[{self.item_index}]"

    @property
    def items(self) -> list[Any] | tuple[Any, ...]:
        """The items of a sequence; none of anything else."""
        return self.value if isinstance(self.value, list | tuple) else ()

    def title_line(self, width: int) -> str:
        """The title of the selected value."""
        return self.inspected.title_line(self.name_text, self.value, self.tensor, self.iteration, width)

    @property
    def value_range(self) -> tuple[float, float] | None:
        """The smallest and the largest element, once all were read."""
        low, high = self.statistics.min, self.statistics.max
        done = self.tensor is not None and self.statistics.size == self.tensor.size
        return (float(low or 0), float(high or 0)) if done and low is not None and high is not None else None

    def set_value(self, value: Any, present: bool) -> None:
        """Show a value; discards the results for the previous one."""
        self.value, self.is_present = value, present
        self._jobs.cancel()
        self.tensor = as_tensor(value) if present else None
        self.statistics, self.change, self.histogram = TensorStatistics(), None, None
        self.baseline, self.growth = None, None

    def start_jobs(self) -> None:
        """Start the background computations on the value."""
        self._observer.handle_value_change()
        tensor = self.tensor
        if tensor is not None and tensor.size and tensor.dtype.kind not in "OUST":
            self._jobs.compute_statistics(tensor, self._receive_statistics)
        if self.inspected.previous is not None and self.iteration == self.inspected.iteration:
            self.load_baseline()

    def _receive_statistics(self, statistics: TensorStatistics, histogram: Histogram | None) -> None:
        self.statistics, self.histogram = statistics, histogram
        self._observer.handle_details_change()

    def _receive_change(self, change: TensorChange) -> None:
        self.change = change
        self._observer.handle_details_change()

    def open_item(self, index: int) -> None:
        """Show an item of the sequence."""
        self.item_index, self._sequence = index, self.value
        self.set_value(self.value[index], True)
        self.start_jobs()

    def close_item(self) -> int:
        """Return to the sequence; returns the index of the closed item."""
        index, self.item_index = self.item_index or 0, None
        self.set_value(self._sequence, True)
        self.start_jobs()
        return index

    # -- other iterations

    def _query_session(self, query: Callable[[Any], Any], on_result: Callable[[Any], None]) -> None:
        """Query the session; the result is delivered in the screen's thread."""

        def deliver(result: Any, error: str | None) -> None:
            if error is not None:
                self._observer.call_in_screen(self._observer.say, error)
            else:
                self._observer.call_in_screen(on_result, result)

        if not self._session_worker.query(query, deliver):
            self._observer.report_busy()

    def query_series(self) -> None:
        """Query the series, if the stop does not have it."""
        if self.series is None and self.inspected.can_query_series:
            self._observer.say("looking at other iterations …")
            self._query_session(self.inspected.series_query(), self._receive_series)

    def _receive_series(self, series: IterationSeries) -> None:
        self.series = series
        self._observer.say("")
        self._observer.handle_details_change()

    def go_to_iteration(self, iteration: int, on_end: Callable[[], None]) -> None:
        """Show the value in another iteration, then call ``on_end``."""
        inspected = self.inspected
        if inspected.iteration is None:
            self._observer.say("this value is of no iteration")
        elif iteration < 0:
            self._observer.say("iteration 0 is the first")
        elif iteration == inspected.iteration:
            self._show_iteration(iteration, inspected.value, inspected.is_present, on_end)
        elif iteration > inspected.last_iteration:
            self._observer.say(f"iteration {iteration} has not run yet: esc, then s")
        else:
            self._query_session(
                inspected.iteration_query(iteration), lambda value: self._show_iteration(iteration, value, True, on_end)
            )

    def _show_iteration(self, iteration: int, value: Any, present: bool, on_end: Callable[[], None]) -> None:
        self.iteration = iteration
        self.baseline_iteration = iteration - 1 if iteration else None
        self.set_value(value, present)
        self._observer.say("")
        self.start_jobs()
        on_end()

    def compare_with(self, iteration: int, on_end: Callable[[], None]) -> None:
        """Compare with another iteration, then call ``on_end``.

        Raises:
            ValueError: it has not run yet.
        """
        if iteration > max(self.inspected.last_iteration, self.inspected.iteration or 0):
            raise ValueError(f"iteration {iteration} has not run yet")
        self.baseline_iteration, self.baseline = iteration, None
        self.load_baseline(on_end)

    def load_baseline(self, on_end: Callable[[], None] | None = None) -> None:
        """Load the baseline value, compare with it, then call ``on_end``."""
        iteration, tensor = self.baseline_iteration, self.tensor
        if iteration is None or tensor is None:
            self._observer.say("there is no iteration before to compare with; d names one")
            return
        if self.baseline is not None:
            if on_end is not None:
                on_end()
            return

        def receive(value: Any) -> None:
            baseline = as_tensor(value)
            if self.tensor is not tensor:
                return
            growth = None if baseline is None else AxisGrowth.from_shapes(baseline.shape, tensor.shape)
            if baseline is None or (baseline.shape != tensor.shape and growth is None):
                self._observer.say(f"in iteration {iteration} it has another shape")
                return
            self.baseline, self.growth = baseline, growth
            self._compute_change(self._receive_change)
            if on_end is not None:
                on_end()

        inspected = self.inspected
        if iteration == inspected.iteration:
            receive(inspected.value)
        elif inspected.previous is not None and iteration + 1 == inspected.iteration:
            receive(inspected.previous)
        else:
            self._query_session(inspected.iteration_query(iteration), receive)

    def largest_change(self, on_result: Callable[[TensorChange], None]) -> None:
        """Find the element that changed most since the baseline."""

        self.load_baseline(lambda: self._compute_change(on_result))

    def _compute_change(self, on_result: Callable[[TensorChange], None]) -> None:
        """Compute the change of the part that both tensors have."""
        tensor, baseline = self.tensor, self.baseline
        if tensor is None or baseline is None:
            return
        if self.growth is not None:
            baseline, tensor = self.growth.rows_in_both(baseline), self.growth.rows_in_both(tensor)
        self._jobs.compute_change(baseline, tensor, on_result)

    def flat_position(self, change: TensorChange) -> int:
        """The flat index of the element that changed most; -1 if nothing changed."""
        if self.growth is None or self.tensor is None or change.flat_index < 0:
            return change.flat_index
        return self.growth.flat_position(change.flat_index, self.tensor.shape)
