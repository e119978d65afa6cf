"""The values that have a history, and their histories from the records of an engine or a recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...runtime.engine.history.value_history import HistoryView, is_empty_value
from ...runtime.graph import Loop, Value
from ..describe.condition import DecidingComparison, deciding_comparison
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution, Numbers, Series, ValueHistory


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
            left, right = (self._side_history(value, view, ahead) for value in compared)
            if left is not None and right is not None:
                sides = left, right
                for value, history in zip((self.comparison.left, self.comparison.right), sides, strict=True):
                    histories.setdefault(value.name, history)
        return Evolution(histories, sides)

    def _side_history(self, value: Value, view: HistoryView, ahead: bool) -> ValueHistory | None:
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


def bucket_rows(origin: int | npt.NDArray[np.int64], numbers: Sequence[Numbers], flags: Sequence[bool]) -> HistoryView:
    """Return the view that an engine would have recorded: each series has rows ``[rows, norm smallest largest mean]``;
    a side has an empty first row. ``origin``: the iteration of the first row, or those of all rows."""
    rows = max((len(array) for array in numbers), default=0)
    width = 1
    while rows > 512 * width:
        width *= 2
    starts = np.arange(0, rows, width)
    stats = np.full((len(starts), len(numbers), 4, 5), np.nan)
    for k, series in enumerate(numbers):
        if not len(series) or not rows:
            continue
        finite = np.isfinite(series)
        stats[:, k, :, 0] = np.fmin.reduceat(np.where(finite, series, np.nan), starts)
        stats[:, k, :, 1] = np.fmax.reduceat(np.where(finite, series, np.nan), starts)
        stats[:, k, :, 2] = series[starts]
        stats[:, k, :, 3] = series[np.append(starts[1:], rows) - 1]
        odd = ~finite & ~is_empty_value(np.ascontiguousarray(series, np.float64))
        stats[:, k, :, 4] = np.add.reduceat(odd.astype(np.float64), starts)
    has_numbers = tuple(len(array) > 0 for array in numbers)
    return HistoryView(0, origin, rows, width, stats, has_numbers, tuple(flags), True)
