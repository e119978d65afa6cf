"""Expected histories: statistics collected by reading the values at every boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engine_state import resume
from loopdbg.debugger.trace.recorded_frames import build_history_view
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.engine.history.value_history import HistoryView, tensor_statistics

#: (loop, entry) -> for each back edge one row per boundary.
CollectedStatistics = dict[tuple[int, int], list[list[tuple[float, ...] | None]]]


def value_statistics(value: Any) -> tuple[float, ...] | None:
    """The four statistics of a value."""
    return tensor_statistics(value) if isinstance(value, np.ndarray) else None


def observe_all_loops(engine: Engine) -> None:
    """Let an engine record the carried values of all loops."""
    for plan in engine.plan.loops:
        engine.histories.record_values(plan.index)


def collect_statistics(engine: Engine, inputs: Mapping[int, Any], limit: int) -> tuple[CollectedStatistics, Any]:
    """Run to the end, and collect statistics from the values at every boundary; returns how the run ended."""
    statistics: CollectedStatistics = {}

    def observe(index: int) -> None:
        edges = engine.plan.loops[index].edges
        key = index, engine.loops.totals(index)[1] - 1
        rows = statistics.setdefault(key, [[] for _ in edges])
        for row, edge in zip(rows, edges, strict=True):
            row.append(value_statistics(engine.value(edge.param)))

    engine.set_hook(observe)
    engine.start(inputs)
    engine.set_limits(limit)
    return statistics, resume(engine)


def expected_history(rows: Sequence[Sequence[tuple[float, ...] | None]]) -> HistoryView:
    """The history that an engine must have of an entry."""
    series = [np.array([row for row in row_value if row is not None], np.float64).reshape(-1, 4) for row_value in rows]
    return build_history_view(0, series, [False] * len(rows))


def check_histories(engine: Engine, statistics: CollectedStatistics) -> int:
    """Check that an engine's histories are the collected ones; returns how many were compared."""
    looked = 0
    for plan in engine.plan.loops:
        entries = sorted(entry for index, entry in statistics if index == plan.index)
        assert engine.histories.entries(plan.index) == entries[-8:]
        for entry in entries[-8:]:
            assert_histories_equal(
                engine.histories.view(plan.index, entry),
                expected_history(statistics[plan.index, entry]),
                len(plan.edges),
            )
            looked += 1
    return looked


def assert_histories_equal(seen: HistoryView | None, wanted: HistoryView, edges: int) -> None:
    """Compare two histories of the same boundaries."""
    assert seen is not None
    for k in range(edges):
        assert seen.has_numbers[k] == wanted.has_numbers[k]
        if not seen.has_numbers[k]:
            continue
        assert (seen.rows, seen.width, len(seen.stats)) == (wanted.rows, wanted.width, len(wanted.stats))
        np.testing.assert_array_equal(seen.stats[:, k, 0], wanted.stats[:, k, 0])
        if seen.is_summarized[k]:
            np.testing.assert_array_equal(seen.stats[:, k, 1:, :2], wanted.stats[:, k, 1:, :2])
