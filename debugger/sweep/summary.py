"""What a sweep found: how cases ended, how often loops ran, how measures are spread, the worst cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .row import GRAVITY, Row, Status
from .store import Store

#: So many bars a histogram has at most, and so many cases are the worst.
BARS, WORST = 12, 10
#: In percent: each quantile is the smallest value that is no less than so many of all values.
QUANTILES = (0, 5, 50, 95, 100)


@dataclass(frozen=True)
class Bar:
    """So many cases ran from ``least`` to ``most`` iterations."""

    least: int
    most: int
    count: int


@dataclass(frozen=True)
class LoopSummary:
    """One loop of one model. ``measures``: of each the quantiles of what is a number, and how many values are none."""

    path: str
    bars: Sequence[Bar]
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


def summaries(store: Store) -> list[ModelSummary]:
    """All models, in their order."""
    found = []
    for model, path, cases, count in store.query("SELECT model, path, cases, count FROM models ORDER BY model"):
        told = store.query(
            "SELECT status, count(*), sum(seconds) FROM results r WHERE model = ? AND loop = "
            "(SELECT min(loop) FROM results s WHERE s.model = r.model AND s.number = r.number) GROUP BY status",
            (model,),
        )
        statuses = {Status(status): number for status, number, _ in told}
        loops = [_loop(store, model, *one) for one in _loops(store, model)]
        seconds = sum(seconds for _, _, seconds in told)
        found.append(
            ModelSummary(path, cases, count, {s: statuses[s] for s in Status if s in statuses}, seconds, loops)
        )
    return found


def _loops(store: Store, model: int) -> list[tuple[int, str]]:
    known = store.query("SELECT loop, path FROM loops WHERE model = ? ORDER BY loop", (model,))
    return [(index, path) for index, path in known] or [(-1, "")]


def _loop(store: Store, model: int, index: int, path: str) -> LoopSummary:
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
            places = [max(0, -(-percent * len(numbers) // 100) - 1) for percent in QUANTILES]
            measures[name] = tuple(numbers[places].tolist()), len(values) - len(numbers)
    return LoopSummary(path, bars([(int(value), count) for value, count in counts]), measures)


def bars(counts: Sequence[tuple[int, int]]) -> list[Bar]:
    """A histogram of numbers with how often each is there: a bar a number where they are few, else ranges that grow by
    the same factor where they are far apart, and are as wide as each other where not."""
    if len(counts) <= BARS:
        return [Bar(value, value, count) for value, count in counts]
    low, high = counts[0][0], counts[-1][0]
    if high - low < BARS * 8 or high < 8 * max(low, 1):
        edges = [low + math.ceil(k * (high + 1 - low) / BARS) for k in range(BARS + 1)]
    else:
        factor = (high + 1) / max(low, 1)
        edges = [low, *(math.ceil(max(low, 1) * factor ** (k / BARS)) for k in range(1, BARS)), high + 1]
    edges = sorted(set(edges))
    found = []
    for least, after in pairwise(edges):
        count = sum(count for value, count in counts if least <= value < after)
        found.append(Bar(least, after - 1, count))
    return found


#: The one row of a case that tells of it: where it went wrong, else its first.
_TELLING = """(r.bad_iteration IS NOT NULL OR r.loop = (SELECT min(s.loop) FROM results s WHERE s.model = r.model AND
s.number = r.number) AND NOT EXISTS (SELECT 1 FROM results s WHERE s.model = r.model AND s.number = r.number AND
s.bad_iteration IS NOT NULL))"""


def worst(store: Store, most: int = WORST) -> list[Row]:
    """The cases to look at first: some of each kind of failure, from the gravest on; then those that ran longest."""
    order = f"{_TELLING} ORDER BY r.model, r.number LIMIT {most}"
    kinds = [list(store.rows_where(f"r.status = ? AND {order}", (kind.value,))) for kind in GRAVITY[:-1]]
    # One of each kind, then a second of each, until there are enough.
    turns = [rows[k] for k in range(most) for rows in kinds if k < len(rows)][:most]
    found = sorted(turns, key=lambda row: GRAVITY.index(row.status))
    if len(found) < most:
        rest = (
            f"r.status = 'ok' AND r.loop <= 0 ORDER BY r.iterations DESC, r.model, r.number LIMIT {most - len(found)}"
        )
        found += store.rows_where(rest)
    return found
