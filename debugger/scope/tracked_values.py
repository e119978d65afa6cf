"""Which values have a history, and their histories out of what an engine or a recording has recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...runtime.engine.history.value_history import HistoryView, is_empty_value
from ...runtime.graph import Loop, Value
from ..describe.condition import DecidingComparison, deciding_comparison
from ..statistics.value_history import EMPTY_EVOLUTION, Evolution, Numbers, Series, ValueHistory


@runtime_checkable
class HasEvolution(Protocol):
    """A frame that knows what its values were in all iterations."""

    @property
    def evolution(self) -> Evolution: ...


class TrackedValues:
    """Which values of a loop are followed: what its back edges carry, and then ``sides``."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.comparison: DecidingComparison | None = deciding_comparison(loop)
        self.sides: list[Value] = []
        if self.comparison is not None:
            carried = {value for edge in loop.back_edges for value in (edge.param, edge.result)}
            both = dict.fromkeys((self.comparison.left, self.comparison.right))
            self.sides = [value for value in both if value not in carried and value.constant is None]

    def evolution(self, seen: HistoryView | None) -> Evolution:
        """What was recorded of an entry, by name."""
        if seen is None or not seen.rows:
            return EMPTY_EVOLUTION
        found = {}
        for k, edge in enumerate(self.loop.back_edges):
            if seen.has_numbers[k]:
                found[edge.param.name] = _carried_history(edge.param.name, seen, k)
        sides = None
        if self.comparison is not None:
            compared = self.comparison.left, self.comparison.right
            # What was carried is compared before the iteration: of the one ahead it is known how.
            params = {edge.param for edge in self.loop.back_edges}
            ahead = self.loop.condition_node_count is not None and all(
                v in params or v.constant is not None for v in compared
            )
            left, right = (self._side_history(value, seen, ahead) for value in compared)
            if left is not None and right is not None:
                sides = left, right
                for value, one in zip((self.comparison.left, self.comparison.right), sides, strict=True):
                    found.setdefault(value.name, one)
        return Evolution(found, sides)

    def _side_history(self, value: Value, seen: HistoryView, ahead: bool) -> ValueHistory | None:
        """What was compared, one for each iteration that ended; ``ahead``: for the one that would run next as well."""
        if seen.rows == 1 and not ahead:
            none = np.empty(0)
            return ValueHistory(value.name, np.empty(0, np.int64), 1, Series(none, none, none, none, none))
        if value.constant is not None:
            return _constant_history(value, seen, ahead)
        for k, edge in enumerate(self.loop.back_edges):
            if edge.param is value:
                compared = _carried_history if ahead else _compared_history
                return compared(value.name, seen, k) if seen.has_numbers[k] else None
            if edge.result is value:
                return _computed_history(value.name, seen, k) if seen.has_numbers[k] else None
        k = len(self.loop.back_edges) + self.sides.index(value)
        return _computed_history(value.name, seen, k) if k < len(seen.has_numbers) and seen.has_numbers[k] else None


def _make_history(
    name: str, seen: HistoryView, k: int, iterations: npt.NDArray[np.int64], stats: Numbers
) -> ValueHistory:
    if not seen.is_summarized[k]:
        return ValueHistory(name, iterations, seen.width, Series(*stats[:, 0].T), is_complete=seen.is_complete)
    value, low, high, mean = (Series(*column.T) for column in np.moveaxis(stats, 1, 0))
    return ValueHistory(name, iterations, seen.width, value, low, high, mean, seen.is_complete)


def _bucket_starts(seen: HistoryView) -> npt.NDArray[np.int64]:
    if isinstance(seen.origin, np.ndarray):
        return seen.origin[:: seen.width]
    return seen.origin + seen.width * np.arange(len(seen.stats), dtype=np.int64)


def _carried_history(name: str, seen: HistoryView, k: int) -> ValueHistory:
    """A row is what an iteration gets."""
    return _make_history(name, seen, k, _bucket_starts(seen), seen.stats[:, k])


def _computed_history(name: str, seen: HistoryView, k: int) -> ValueHistory:
    """A row is what the iteration before computed; the first one has nothing, or what the loop began with."""
    starts, stats = _bucket_starts(seen) - 1, seen.stats[:, k]
    if seen.width == 1:
        return _make_history(name, seen, k, starts[1:], stats[1:])
    starts[0] += 1
    return _make_history(name, seen, k, starts, stats)


def _compared_history(name: str, seen: HistoryView, k: int) -> ValueHistory:
    """A row is what an iteration gets; the last one has not compared it yet."""
    end = len(seen.stats) - (seen.rows % seen.width == 1 or seen.width == 1)
    return _make_history(name, seen, k, _bucket_starts(seen)[:end], seen.stats[:end, k])


def _constant_history(value: Value, seen: HistoryView, ahead: bool) -> ValueHistory | None:
    """The same in all iterations."""
    data = np.asarray(value.constant)
    if data.size != 1 or data.dtype.kind in "OUSTM":
        return None
    number = abs(data.reshape(())[()]) if data.dtype.kind == "c" else data.reshape(())[()]
    starts = _bucket_starts(seen)
    starts = starts[1:] - 1 if seen.width == 1 and not ahead else starts
    same = np.full(len(starts), float(number))
    return ValueHistory(value.name, starts, seen.width, Series(same, same, same, same, np.zeros(len(starts))))


def bucket_rows(origin: int | npt.NDArray[np.int64], numbers: Sequence[Numbers], wide: Sequence[bool]) -> HistoryView:
    """What an engine would have recorded: of each series the rows, ``[rows, norm smallest largest mean]``, those of a
    side with nothing in the first. ``origin``: the iteration of the first row, or those of all."""
    rows = max((len(one) for one in numbers), default=0)
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
    told = tuple(len(one) > 0 for one in numbers)
    return HistoryView(0, origin, rows, width, stats, told, tuple(wide), True)
