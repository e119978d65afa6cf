"""A model with one of the ways to be fast, and without it: turns that alternate, and whether results are the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdbg.runtime.model import Model
from switches import Switch

#: A turn lasts at least so long. Many short ones meet moments in which nobody else takes the processor's caches.
TURN_SECONDS = 0.003
#: So many rounds, of long runs as many as take so long.
ROUNDS = range(7, 26)
ROUNDS_SECONDS = 1.0
#: What comes near to this is measured for as many rounds more.
WORTH = 1.2
NEAR = (1.06, 1.4)
#: A model runs so long, or so often, before it is measured: some ways begin after hundreds of iterations.
WARM_SECONDS, WARM_RUNS = 0.1, 300

Load = Callable[[], tuple[Model, Mapping[str, Any]]]


@dataclass(frozen=True)
class Compared:
    """Seconds a run, the least of all rounds."""

    switch: str
    with_it: float
    without: float
    same: bool

    @property
    def brings(self) -> float:
        return self.without / self.with_it


class Running:
    """A model that ran until nothing new is bound, and what it gave, the first and the last time."""

    def __init__(self, load: Load) -> None:
        self.model, self.inputs = load()
        first = bits(self.model.run(self.inputs))
        started, runs = time.process_time(), 0
        while runs < 3 or (time.process_time() - started < WARM_SECONDS and runs < WARM_RUNS):
            last = self.model.run(self.inputs)
            runs += 1
        self.outputs = first, bits(last)

    def seconds(self, repeats: int) -> float:
        started = time.process_time()
        for _ in range(repeats):
            self.model.run(self.inputs)
        return (time.process_time() - started) / repeats


def bits(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What has to be equal, by name."""

    def of(value: Any) -> Any:
        return (
            list(map(of, value)) if isinstance(value, list) else None if value is None else np.asarray(value).tobytes()
        )

    return {name: of(value) for name, value in outputs.items()}


def used(load: Load, switches: Sequence[Switch]) -> tuple[Running, list[Switch]]:
    """A model with everything, and the ways that are of use to it."""
    with ExitStack() as stack:
        asked = [(switch, stack.enter_context(switch.watched())) for switch in switches]
        whole = Running(load)
        return whole, [switch for switch, ask in asked if ask(whole.model)]


def compare(whole: Running, load: Load, switch: Switch) -> Compared:
    """``whole`` against the same model without one way."""
    with switch.off():
        part = Running(load)
    one = min(whole.seconds(1) for _ in range(3))
    repeats = max(1, int(TURN_SECONDS / one))
    rounds = min(max(int(ROUNDS_SECONDS / (2 * repeats * one)), ROUNDS[0]), ROUNDS[-1])
    fast, slow = _least(whole, part, switch, repeats, rounds)
    if NEAR[0] < slow / fast < NEAR[1]:
        again = _least(whole, part, switch, repeats, rounds)
        fast, slow = min(fast, again[0]), min(slow, again[1])
    return Compared(switch.name, fast, slow, whole.outputs == part.outputs)


def _least(whole: Running, part: Running, switch: Switch, repeats: int, rounds: int) -> tuple[float, float]:
    """Seconds a run with it and without, in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(whole.seconds(repeats))
        with switch.off():
            times[1].append(part.seconds(repeats))
    return min(times[0]), min(times[1])
