"""Summary of a sweep: statuses, distributions of iterations and measures, the worst cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .row import SEVERITY_ORDER, Row, Status
from .sweep_store import SweepStore

#: Maximum number of bars of a histogram, and of worst cases.
HISTOGRAM_MAX_BARS, WORST_CASES = 12, 10
#: In percent: each quantile is the smallest value that is no less than this share of all values.
QUANTILE_PERCENTS = (0, 5, 50, 95, 100)


@dataclass(frozen=True)
class HistogramBar:
    """The number of cases that ran from ``low`` to ``high`` iterations."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class LoopSummary:
    """One loop of one model. ``measures``: for each the quantiles of its numbers, and the count of missing values."""

    path: str
    bars: Sequence[HistogramBar]
    measures: dict[str, tuple[tuple[float, ...], int]]


@dataclass(frozen=True)
class ModelSummary:
    """One model. ``statuses``: the number of cases by status; ``seconds``: all cases together."""

    path: str
    cases: str
    count: int
    statuses: dict[Status, int]
    seconds: float
    loops: Sequence[LoopSummary]


def summarize_models(store: SweepStore) -> list[ModelSummary]:
    """Return the summaries of all models, in order."""
    summaries = []
    for model, path, cases, count in store.query("SELECT model, path, cases, count FROM models ORDER BY model"):
        totals = store.query(
            "SELECT status, count(*), sum(seconds) FROM results r WHERE model = ? AND loop = "
            "(SELECT min(loop) FROM results s WHERE s.model = r.model AND s.number = r.number) GROUP BY status",
            (model,),
        )
        statuses = {Status(status): number for status, number, _ in totals}
        loops = [_summarize_loop(store, model, *entry) for entry in _loop_paths(store, model)]
        seconds = sum(seconds for _, _, seconds in totals)
        summaries.append(
            ModelSummary(path, cases, count, {s: statuses[s] for s in Status if s in statuses}, seconds, loops)
        )
    return summaries


def _loop_paths(store: SweepStore, model: int) -> list[tuple[int, str]]:
    rows = store.query("SELECT loop, path FROM loops WHERE model = ? ORDER BY loop", (model,))
    return [(index, path) for index, path in rows] or [(-1, "")]


def _summarize_loop(store: SweepStore, model: int, index: int, path: str) -> LoopSummary:
    counts = store.query(
        "SELECT iterations, count(*) FROM results WHERE model = ? AND loop = ? AND iterations IS NOT NULL "
        "GROUP BY iterations ORDER BY iterations",
        (model, index),
    )
    measures = {}
    for name in store.measures:
        column = '"' + name.replace('"', '""') + '"'
        query = f"SELECT {column} FROM results WHERE model = ? AND loop = ?"
        values = np.array([value for (value,) in store.query(query, (model, index))], np.float64)
        numbers = values[np.isfinite(values)]
        if len(numbers):
            numbers.sort()
            # Integer arithmetic: no interpolation, and no rounding of 0.95 that selects another element.
            indices = [max(0, -(-percent * len(numbers) // 100) - 1) for percent in QUANTILE_PERCENTS]
            measures[name] = tuple(numbers[indices].tolist()), len(values) - len(numbers)
    return LoopSummary(path, histogram_bars([(int(value), count) for value, count in counts]), measures)


def histogram_bars(counts: Sequence[tuple[int, int]]) -> list[HistogramBar]:
    """Return a histogram of weighted numbers: a bar for each of a few numbers, else ranges that grow by a constant
    factor for a large spread, or have equal widths."""
    if len(counts) <= HISTOGRAM_MAX_BARS:
        return [HistogramBar(value, value, count) for value, count in counts]
    low, high = counts[0][0], counts[-1][0]
    if high - low < HISTOGRAM_MAX_BARS * 8 or high < 8 * max(low, 1):
        edges = [low + math.ceil(k * (high + 1 - low) / HISTOGRAM_MAX_BARS) for k in range(HISTOGRAM_MAX_BARS + 1)]
    else:
        factor = (high + 1) / max(low, 1)
        edges = [
            low,
            *(math.ceil(max(low, 1) * factor ** (k / HISTOGRAM_MAX_BARS)) for k in range(1, HISTOGRAM_MAX_BARS)),
            high + 1,
        ]
    edges = sorted(set(edges))
    bars = []
    for lower, stop in pairwise(edges):
        count = sum(count for value, count in counts if lower <= value < stop)
        bars.append(HistogramBar(lower, stop - 1, count))
    return bars


#: The representative row of a case: the one with the failure, else the first.
_REPRESENTATIVE_ROW = """(r.bad_iteration IS NOT NULL OR r.loop = (SELECT min(s.loop) FROM results s WHERE
s.model = r.model AND s.number = r.number) AND NOT EXISTS (SELECT 1 FROM results s WHERE s.model = r.model AND
s.number = r.number AND s.bad_iteration IS NOT NULL))"""


def worst_cases(store: SweepStore) -> list[Row]:
    """Return the cases to examine first: some of each kind of failure, most severe first; then the longest."""
    order = f"{_REPRESENTATIVE_ROW} ORDER BY r.model, r.number LIMIT {WORST_CASES}"
    kinds = [list(store.rows_where(f"r.status = ? AND {order}", (kind.value,))) for kind in SEVERITY_ORDER[:-1]]
    # Round robin over the kinds.
    selected = [rows[k] for k in range(WORST_CASES) for rows in kinds if k < len(rows)][:WORST_CASES]
    worst = sorted(selected, key=lambda row: SEVERITY_ORDER.index(row.status))
    if (missing := WORST_CASES - len(worst)) > 0:
        worst += store.rows_where(
            f"r.status = 'ok' AND r.loop <= 0 ORDER BY r.iterations DESC, r.model, r.number LIMIT {missing}"
        )
    return worst
