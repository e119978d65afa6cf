"""What a sweep found: how cases ended, how often loops ran, how measures are spread, the worst cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .row import SEVERITY_ORDER, Row, Status
from .sweep_store import SweepStore

#: So many bars a histogram has at most, and so many cases are the worst.
HISTOGRAM_MAX_BARS, WORST_CASES = 12, 10
#: In percent: each quantile is the smallest value that is no less than so many of all values.
QUANTILE_PERCENTS = (0, 5, 50, 95, 100)


@dataclass(frozen=True)
class HistogramBar:
    """So many cases ran from ``least`` to ``most`` iterations."""

    low: int
    high: int
    count: int


@dataclass(frozen=True)
class LoopSummary:
    """One loop of one model. ``measures``: of each the quantiles of what is a number, and how many values are none."""

    path: str
    bars: Sequence[HistogramBar]
    measures: dict[str, tuple[tuple[float, ...], int]]


@dataclass(frozen=True)
class ModelSummary:
    """One model. ``statuses``: how many cases ended so; ``seconds``: all cases together."""

    path: str
    cases: str
    count: int
    statuses: dict[Status, int]
    seconds: float
    loops: Sequence[LoopSummary]


def summarize_models(store: SweepStore) -> list[ModelSummary]:
    """All models, in their order."""
    found = []
    for model, path, cases, count in store.query("SELECT model, path, cases, count FROM models ORDER BY model"):
        told = store.query(
            "SELECT status, count(*), sum(seconds) FROM results r WHERE model = ? AND loop = "
            "(SELECT min(loop) FROM results s WHERE s.model = r.model AND s.number = r.number) GROUP BY status",
            (model,),
        )
        statuses = {Status(status): number for status, number, _ in told}
        loops = [_summarize_loop(store, model, *one) for one in _loop_paths(store, model)]
        seconds = sum(seconds for _, _, seconds in told)
        found.append(
            ModelSummary(path, cases, count, {s: statuses[s] for s in Status if s in statuses}, seconds, loops)
        )
    return found


def _loop_paths(store: SweepStore, model: int) -> list[tuple[int, str]]:
    known = store.query("SELECT loop, path FROM loops WHERE model = ? ORDER BY loop", (model,))
    return [(index, path) for index, path in known] or [(-1, "")]


def _summarize_loop(store: SweepStore, model: int, index: int, path: str) -> LoopSummary:
    counts = store.query(
        "SELECT iterations, count(*) FROM results WHERE model = ? AND loop = ? AND iterations IS NOT NULL "
        "GROUP BY iterations ORDER BY iterations",
        (model, index),
    )
    measures = {}
    for name in store.measures:
        column = '"' + name.replace('"', '""') + '"'
        asked = f"SELECT {column} FROM results WHERE model = ? AND loop = ?"
        values = np.array([value for (value,) in store.query(asked, (model, index))], np.float64)
        numbers = values[np.isfinite(values)]
        if len(numbers):
            numbers.sort()
            # In whole numbers: no interpolated value, and no rounding of 0.95 that would pick another one.
            places = [max(0, -(-percent * len(numbers) // 100) - 1) for percent in QUANTILE_PERCENTS]
            measures[name] = tuple(numbers[places].tolist()), len(values) - len(numbers)
    return LoopSummary(path, histogram_bars([(int(value), count) for value, count in counts]), measures)


def histogram_bars(counts: Sequence[tuple[int, int]]) -> list[HistogramBar]:
    """A histogram of numbers with how often each is there: a bar a number where they are few, else ranges that grow by
    the same factor where they are far apart, and are as wide as each other where not."""
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
    found = []
    for least, after in pairwise(edges):
        count = sum(count for value, count in counts if least <= value < after)
        found.append(HistogramBar(least, after - 1, count))
    return found


#: The one row of a case that tells of it: where it went wrong, else its first.
_REPRESENTATIVE_ROW = """(r.bad_iteration IS NOT NULL OR r.loop = (SELECT min(s.loop) FROM results s WHERE
s.model = r.model AND s.number = r.number) AND NOT EXISTS (SELECT 1 FROM results s WHERE s.model = r.model AND
s.number = r.number AND s.bad_iteration IS NOT NULL))"""


def worst_cases(store: SweepStore, most: int = WORST_CASES) -> list[Row]:
    """The cases to look at first: some of each kind of failure, from the gravest on; then those that ran longest."""
    order = f"{_REPRESENTATIVE_ROW} ORDER BY r.model, r.number LIMIT {most}"
    kinds = [list(store.rows_where(f"r.status = ? AND {order}", (kind.value,))) for kind in SEVERITY_ORDER[:-1]]
    # One of each kind, then a second of each, until there are enough.
    turns = [rows[k] for k in range(most) for rows in kinds if k < len(rows)][:most]
    found = sorted(turns, key=lambda row: SEVERITY_ORDER.index(row.status))
    if len(found) < most:
        rest = (
            f"r.status = 'ok' AND r.loop <= 0 ORDER BY r.iterations DESC, r.model, r.number LIMIT {most - len(found)}"
        )
        found += store.rows_where(rest)
    return found
