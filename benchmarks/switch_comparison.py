"""A model with one of the ways to be fast, and without it: turns that alternate, and whether results are the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdbg.runtime.model import Model
from optimization_switches import OptimizationSwitch

#: A turn lasts at least so long. Many short ones meet moments in which nobody else takes the processor's caches.
TURN_SECONDS = 0.003
#: So many rounds, of long runs as many as take so long.
ROUNDS = range(7, 26)
ROUNDS_SECONDS = 1.0
#: What comes near to this is measured for as many rounds more.
MIN_GAIN = 1.2
UNCERTAIN_GAINS = (1.06, 1.4)
#: A model runs so long, or so often, before it is measured: some ways begin after hundreds of iterations.
WARM_SECONDS, WARM_RUNS = 0.1, 300

LoadModel = Callable[[], tuple[Model, Mapping[str, Any]]]


@dataclass(frozen=True)
class SwitchComparison:
    """Seconds a run, the least of all rounds."""

    switch: str
    with_it: float
    without: float
    same: bool

    @property
    def gain(self) -> float:
        return self.without / self.with_it


class WarmModel:
    """A model that ran until nothing new is bound, and what it gave, the first and the last time."""

    def __init__(self, load: LoadModel) -> None:
        self.model, self.inputs = load()
        first = output_bits(self.model.run(self.inputs))
        started, runs = time.process_time(), 0
        while runs < 3 or (time.process_time() - started < WARM_SECONDS and runs < WARM_RUNS):
            last = self.model.run(self.inputs)
            runs += 1
        self.outputs = first, output_bits(last)

    def seconds(self, repeats: int) -> float:
        started = time.process_time()
        for _ in range(repeats):
            self.model.run(self.inputs)
        return (time.process_time() - started) / repeats


def output_bits(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be equal, by name."""

    def of(value: Any) -> Any:
        return (
            list(map(of, value)) if isinstance(value, list) else None if value is None else np.asarray(value).tobytes()
        )

    return {name: of(value) for name, value in outputs.items()}


def useful_switches(
    load: LoadModel, switches: Sequence[OptimizationSwitch]
) -> tuple[WarmModel, list[OptimizationSwitch]]:
    """A model with everything, and the ways that are of use to it."""
    with ExitStack() as stack:
        asked = [(switch, stack.enter_context(switch.observed())) for switch in switches]
        whole = WarmModel(load)
        return whole, [switch for switch, ask in asked if ask(whole.model)]


def compare_switch(whole: WarmModel, load: LoadModel, switch: OptimizationSwitch) -> SwitchComparison:
    """``whole`` against the same model without one way."""
    with switch.disabled():
        part = WarmModel(load)
    one = min(whole.seconds(1) for _ in range(3))
    repeats = max(1, int(TURN_SECONDS / one))
    rounds = min(max(int(ROUNDS_SECONDS / (2 * repeats * one)), ROUNDS[0]), ROUNDS[-1])
    fast, slow = _fastest_runs(whole, part, switch, repeats, rounds)
    if UNCERTAIN_GAINS[0] < slow / fast < UNCERTAIN_GAINS[1]:
        again = _fastest_runs(whole, part, switch, repeats, rounds)
        fast, slow = min(fast, again[0]), min(slow, again[1])
    return SwitchComparison(switch.name, fast, slow, whole.outputs == part.outputs)


def _fastest_runs(
    whole: WarmModel, part: WarmModel, switch: OptimizationSwitch, repeats: int, rounds: int
) -> tuple[float, float]:
    """Seconds a run with it and without, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(whole.seconds(repeats))
        with switch.disabled():
            times[1].append(part.seconds(repeats))
    return min(times[0]), min(times[1])
