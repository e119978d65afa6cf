"""Cost of debugging: time per iteration with hooks that never stop, relative to that without them.

python benchmarks/hook_cost.py
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from case import BenchmarkCase
from cell_models import lstm
from loopdbg.runtime.engine.engine import Engine
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.model import Model
from loopdbg.runtime.ops.registry import ResolvedOperator
from scalar_models import scalar
from tensor_models import heat

Hook = Callable[[Engine], object]
ROUNDS = 12
#: Minimum duration of a turn.
TURN_SECONDS = 0.04
#: (hook, its maximum cost on the scalar loop, the LSTM and the heat loop); None: no goal.
MAX_SLOWDOWNS: dict[str, tuple[float | None, float | None, float | None]] = {
    "iteration breakpoint, not hit": (1.05, 1.02, 1.02),
    "predicate v > 1e30, never true": (1.5, 1.02, None),
    "predicate on what v was before": (None, None, None),
    "record carried values": (10.0, None, None),
    "record the newest 10 000": (3.0, None, None),
    "checkpoint every 10 ms": (1.05, 1.05, None),
    "Python function at every boundary": (None, None, 1.02),
}


@dataclass
class HookBench:
    """One model, run repeatedly on one engine."""

    case: BenchmarkCase

    def __post_init__(self) -> None:
        self.model = Model(frontend.from_proto(self.case.build(), self.case.name))
        self.inputs = self.model.check(self.case.inputs())
        self.slot = self.model.plan.loops[0].edges[0].param
        self.engines: dict[str, Engine] = {}

    def turn(self, name: str, repeats: int) -> float:
        """Seconds of ``repeats`` runs."""
        return sum(self.run(name) for _ in range(repeats))

    def run(self, name: str) -> float:
        """Seconds of one run with a hook, which has its own engine."""
        new = name not in self.engines
        engine = self.engines.setdefault(name, Engine(self.model.plan))
        if new:
            self.hook(engine, name)
        engine.start(self.inputs)
        if name.startswith("iteration"):
            engine.stop_at(0, self.case.iterations + 1)
        started = time.perf_counter()
        while engine.resume()[0] != "end":
            if name.startswith("checkpoint"):
                engine.checkpoints.save()
            engine.clear_stops()
        return time.perf_counter() - started

    def hook(self, engine: Engine, name: str) -> None:
        """Install the hook to measure."""
        if name.startswith("predicate"):
            previous = name.endswith("before")
            slot = engine.monitor.previous_slot(0, 0) if previous else self.slot
            engine.monitor.add_predicate(0, ResolvedOperator(_above_threshold, {}), [slot], needs_body=previous)
        elif name.startswith("record"):
            engine.monitor.add_record(
                0, [e.param for e in self.model.plan.loops[0].edges], 10_000 if "newest" in name else None
            )
        elif name.startswith("checkpoint"):
            engine.on_tick = engine.stop_anywhere
        elif name.startswith("Python"):
            engine.set_hook(lambda index: None)


def _above_threshold(p: object, x: object) -> object:
    exceeds = p.map(np.greater, x, p.constant(np.array(1e30, x.dtype)))  # type: ignore[attr-defined]
    axes = tuple(range(len(x.shape)))  # type: ignore[attr-defined]
    return p.reduce(np.logical_or, exceeds, axes, False) if axes else exceeds  # type: ignore[attr-defined]


def measure_costs(case: BenchmarkCase, rounds: int = ROUNDS) -> tuple[float, dict[str, float]]:
    """Return (microseconds per iteration without hooks, hook -> relative cost)."""
    bench = HookBench(case)
    names = ["", *MAX_SLOWDOWNS]
    for name in names:
        bench.run(name)  # binds and allocates
    repeats = math.ceil(TURN_SECONDS / bench.run(""))
    fastest = {name: min(bench.turn(name, repeats) for _ in range(2)) for name in names}
    for _ in range(rounds):
        for name in names:
            fastest[name] = min(fastest[name], bench.turn(name, repeats))
    # The cost of a hook is smaller than the variation of the machine's speed: only the best rounds are comparable.
    ratios = {name: fastest[name] / fastest[""] for name in MAX_SLOWDOWNS}
    return fastest[""] / repeats / case.iterations * 1e6, ratios


def lines(quick: bool = False) -> list[str]:
    """Return the table."""
    cases = [scalar(200_000 if quick else 2_000_000), lstm(iterations=100 if quick else 500), heat()]
    costs = [measure_costs(case, 3 if quick else ROUNDS) for case in cases]
    rows = [
        f"Cost of hooks: {', '.join(f'{c.name} {us:.3g} us' for c, (us, _) in zip(cases, costs, strict=True))} bare."
    ]
    rows += ["", f"{'':36}" + "".join(f"{case.name:>10}{'goal':>7}" for case in cases)]
    for name, goals in MAX_SLOWDOWNS.items():
        cells = zip(costs, goals, strict=True)
        row = "".join(f"{ratios[name]:>10.2f}{'' if goal is None else f'{goal:.2f}':>7}" for (_, ratios), goal in cells)
        rows.append(f"{name:36}{row}")
    return rows


if __name__ == "__main__":
    print("\n".join(lines("--quick" in sys.argv)))
