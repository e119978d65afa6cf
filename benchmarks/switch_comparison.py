"""Compare a model with and without one optimization: alternating turns, and equality of results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdbg.runtime.model import Model
from optimization_switches import OptimizationSwitch

#: Minimum duration of a turn. Some of many short turns run while no other process uses the processor's caches.
TURN_SECONDS = 0.003
#: Number of rounds, and the maximum duration for long runs.
ROUNDS = range(7, 26)
ROUNDS_SECONDS = 1.0
#: A gain in this range is measured for as many rounds again.
MIN_GAIN = 1.2
UNCERTAIN_GAINS = (1.06, 1.4)
#: Warm-up in seconds and runs: some optimizations begin after hundreds of iterations.
WARM_SECONDS, WARM_RUNS = 0.1, 300

LoadModel = Callable[[], tuple[Model, Mapping[str, Any]]]


@dataclass(frozen=True)
class SwitchComparison:
    """Seconds per run, the minimum of all rounds."""

    switch: str
    with_it: float
    without: float
    same: bool

    @property
    def gain(self) -> float:
        return self.without / self.with_it


class WarmModel:
    """A model after warm-up, when binding is finished, and its first and last results."""

    def __init__(self, load: LoadModel) -> None:
        self.model, self.inputs = load()
        first = output_bits(self.model.run(self.inputs))
        started, runs = time.process_time(), 0
        while runs < 3 or (time.process_time() - started < WARM_SECONDS and runs < WARM_RUNS):
            latest = self.model.run(self.inputs)
            runs += 1
        self.outputs = first, output_bits(latest)

    def seconds(self, repeats: int) -> float:
        started = time.process_time()
        for _ in range(repeats):
            self.model.run(self.inputs)
        return (time.process_time() - started) / repeats


def output_bits(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bits to compare, by name."""

    def to_bytes(value: Any) -> Any:
        return (
            list(map(to_bytes, value))
            if isinstance(value, list)
            else None
            if value is None
            else np.asarray(value).tobytes()
        )

    return {name: to_bytes(value) for name, value in outputs.items()}


def useful_switches(
    load: LoadModel, switches: Sequence[OptimizationSwitch]
) -> tuple[WarmModel, list[OptimizationSwitch]]:
    """Return a model with all optimizations, and those that have an effect on it."""
    with ExitStack() as stack:
        observed = [(switch, stack.enter_context(switch.observed())) for switch in switches]
        full = WarmModel(load)
        return full, [switch for switch, has_effect in observed if has_effect(full.model)]


def compare_switch(full: WarmModel, load: LoadModel, switch: OptimizationSwitch) -> SwitchComparison:
    """Compare ``full`` with the same model without one optimization."""
    with switch.disabled():
        part = WarmModel(load)
    run_seconds = min(full.seconds(1) for _ in range(3))
    repeats = max(1, int(TURN_SECONDS / run_seconds))
    rounds = min(max(int(ROUNDS_SECONDS / (2 * repeats * run_seconds)), ROUNDS[0]), ROUNDS[-1])
    fast, slow = _fastest_run_times(full, part, switch, repeats, rounds)
    if UNCERTAIN_GAINS[0] < slow / fast < UNCERTAIN_GAINS[1]:
        repeated = _fastest_run_times(full, part, switch, repeats, rounds)
        fast, slow = min(fast, repeated[0]), min(slow, repeated[1])
    return SwitchComparison(switch.name, fast, slow, full.outputs == part.outputs)


def _fastest_run_times(
    full: WarmModel, part: WarmModel, switch: OptimizationSwitch, repeats: int, rounds: int
) -> tuple[float, float]:
    """Seconds per run with it and without, alternately."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(full.seconds(repeats))
        with switch.disabled():
            times[1].append(part.seconds(repeats))
    return min(times[0]), min(times[1])
