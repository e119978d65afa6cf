"""Cost of the history: time per iteration with history recording as in sessions, relative to that without.

python benchmarks/history_cost.py
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from case import BenchmarkCase
from cell_models import lstm
from loopdbg.debugger.session.live_status import HistorySampler
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.model import Model
from scalar_models import mandelbrot, scalar

ROUNDS = 30
#: Minimum duration of a turn.
TURN_SECONDS = 0.03


@dataclass(frozen=True)
class HistoryCost:
    """The time of an iteration without a history, and its relative increase with one."""

    name: str
    nanoseconds: float
    ratio: float
    goal: float | None


#: Cases, and the maximum cost of a history in them.
CASES: tuple[tuple[Callable[[bool], BenchmarkCase], float | None], ...] = (
    (lambda quick: scalar(200_000 if quick else 2_000_000), 1.10),
    (lambda quick: mandelbrot(), None),
    (lambda quick: lstm(iterations=100 if quick else 500), 1.02),
)


class HistoryBench:
    """One model, run repeatedly by two engines: with a history, and without."""

    def __init__(self, case: BenchmarkCase) -> None:
        self.case = case
        model = Model(frontend.from_proto(case.build(), case.name))
        self.slot_inputs = model.check(case.inputs())
        self.engines = [Engine(model.plan), Engine(model.plan)]
        HistorySampler(self.engines[1])
        self.iterations = 0

    def run(self, k: int) -> float:
        """CPU seconds of one run, which other load of the machine affects less."""
        engine = self.engines[k]
        engine.start(self.slot_inputs)
        started = time.thread_time()
        while engine.resume()[0] != "end":
            engine.clear_stops()
        seconds = time.thread_time() - started
        self.iterations = sum(engine.loops.totals(index)[0] for index in range(len(engine.plan.loops)))
        return seconds

    def turn(self, k: int, repeats: int) -> float:
        """Seconds of ``repeats`` runs."""
        return sum(self.run(k) for _ in range(repeats))


def cost(case: BenchmarkCase, goal: float | None, rounds: int = ROUNDS) -> HistoryCost:
    """Measure both alternately, so that other load of the machine affects both."""
    bench = HistoryBench(case)
    for k in (0, 1, 0, 1):
        bench.run(k)  # binds and allocates
    repeats = math.ceil(TURN_SECONDS / bench.run(0))
    fastest = [math.inf, math.inf]
    for number in range(rounds):
        for k in (number % 2, 1 - number % 2):
            fastest[k] = min(fastest[k], bench.turn(k, repeats))
    # The difference is smaller than the variation of the machine's speed: only the best rounds are comparable.
    return HistoryCost(case.name, fastest[0] / repeats / bench.iterations * 1e9, fastest[1] / fastest[0], goal)


def measure_all_cases(quick: bool = False) -> list[HistoryCost]:
    """Measure the cost of the history in each case."""
    return [cost(make(quick), goal, 6 if quick else ROUNDS) for make, goal in CASES]


def lines(quick: bool = False) -> list[str]:
    """Return the table."""
    rows = ["Cost of the history, in sessions only; by the time without.", ""]
    rows.append(f"{'':12}{'ns an iteration':>16}{'with it':>10}{'goal':>7}")
    for row in measure_all_cases(quick):
        goal = "" if row.goal is None else f"{row.goal:.2f}"
        rows.append(f"{row.name:12}{row.nanoseconds:>16.4g}{row.ratio:>10.3f}{goal:>7}")
    return rows


if __name__ == "__main__":
    print("\n".join(lines("--quick" in sys.argv)))
