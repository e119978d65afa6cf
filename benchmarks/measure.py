"""Time the runners of one case: results compared first, then rounds in which each runs in turn."""

from __future__ import annotations

import gc
import math
import re
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from case import Case, Outputs
from peers import REFERENCES, RUNNERS, Job, Prepared
from report import CaseReport, Timing, ratio, timing
from twins import NoTwinError

# A runner's turn in a round lasts at least this long: shorter runs are repeated.
TURN_SECONDS = 0.01
# On several threads, workers of the one that just ran may spin for a while and take a core from the next; and it takes
# longer until they are where they stay.
SETTLE_SECONDS = 0.1
SEVERAL_THREADS = 5


@dataclass(frozen=True)
class Effort:
    """How long to measure one case: as many rounds as ``seconds`` allow, within bounds."""

    seconds: float = 8.0
    least_rounds: int = 3
    most_rounds: int = 15


def measure(
    case: Case, threads: int | None, effort: Effort, runners: Collection[str] = tuple(RUNNERS)
) -> tuple[dict[str, Timing], dict[str, str]]:
    """Microseconds per iteration of each runner, and why others have none."""
    job = Job(case, case.build().SerializeToString(), case.inputs(), threads)
    prepared: dict[str, Prepared] = {}
    seconds: dict[str, float] = {}
    results: dict[str, Outputs] = {}
    failed: dict[str, str] = {}
    for key in RUNNERS:
        if key not in runners:
            continue
        try:
            prepared[key] = RUNNERS[key].prepare(job)
            started = time.perf_counter()
            raw = prepared[key].run()
            seconds[key] = time.perf_counter() - started
            results[key] = prepared[key].outputs(raw)
        except Exception as error:  # whatever a runtime throws, the others go on
            failed[key] = _reason(error)
    failed |= _wrong(case, results)
    for key in failed:
        prepared.pop(key, None)
    return _rounds(case, prepared, seconds, threads, effort), failed


def case_report(case: Case, threads: int | None, effort: Effort) -> CaseReport:
    """One row of the table."""
    times, failed = measure(case, threads, effort)
    return {
        "name": case.name,
        "description": case.description,
        "iterations": case.iterations,
        "goal": case.goal,
        "stepped_goal": case.stepped_goal,
        "two_cores": case.two_cores,
        "times": times,
        "failed": failed,
        "ratio": ratio(times, "loopdbg"),
        "stepped_ratio": ratio(times, "stepped"),
    }


def _rounds(
    case: Case, prepared: dict[str, Prepared], seconds: dict[str, float], threads: int | None, effort: Effort
) -> dict[str, Timing]:
    """Alternate between the runners; who begins changes from round to round. ``seconds``: what the first run took."""
    pause = 0.0 if threads == 1 else SETTLE_SECONDS
    for key, runner in prepared.items():
        if seconds[key] < 0.5:  # the first run also bound, allocated and warmed up
            seconds[key] = _timed(runner, 1, pause)
    turn = TURN_SECONDS * (1 if threads == 1 else SEVERAL_THREADS)
    repeats = {key: max(1, math.ceil(turn / seconds[key])) for key in prepared}
    one_round = sum(seconds[key] * repeats[key] + pause for key in prepared) or 1.0
    rounds = min(max(int(effort.seconds / one_round), effort.least_rounds), effort.most_rounds)
    taken: dict[str, list[float]] = {key: [] for key in prepared}
    order = list(prepared)
    for _ in range(rounds):
        gc.collect()
        for key in order:
            taken[key].append(_timed(prepared[key], repeats[key], pause) / case.iterations * 1e6)
        order = order[1:] + order[:1]
    return {key: timing(values) for key, values in taken.items()}


def _timed(runner: Prepared, repeats: int, pause: float) -> float:
    """Seconds of one run. After a pause the cores have to wake up first, in a run that does not count."""
    run = runner.run
    gc.disable()
    try:
        if pause:
            time.sleep(pause)
            run()
        started = time.perf_counter()
        for _ in range(repeats):
            run()
        return (time.perf_counter() - started) / repeats
    finally:
        gc.enable()


def _wrong(case: Case, results: dict[str, Outputs]) -> dict[str, str]:
    """Whose results differ from the reference's, and in what."""
    reference = next((key for key in REFERENCES if key in results), None)
    if reference is None:
        return {}
    right = results[reference]
    wrong = {}
    for key, outputs in results.items():
        differences = list(_differences(case, outputs, right))
        if differences:
            wrong[key] = f"not the result of {RUNNERS[reference].title}: {differences[0]}"
    return wrong


def _differences(case: Case, have: Outputs, right: Outputs) -> Iterable[str]:
    for name, wanted in right.items():
        if name not in have:
            yield f"no output '{name}'"
            continue
        got = have[name]
        if got.shape != wanted.shape:
            yield f"'{name}' is {list(got.shape)}, not {list(wanted.shape)}"
        elif wanted.dtype.kind != "f":
            if not np.array_equal(got, wanted):
                yield f"'{name}' differs in {np.count_nonzero(got != wanted)} of {wanted.size} elements"
        elif not np.allclose(got, wanted, case.rtol, case.atol):
            yield f"'{name}' is off by up to {np.abs(got - wanted).max():.2g}"


def _reason(error: Exception) -> str:
    """One line for a footnote; empty where nothing was expected to run."""
    if isinstance(error, NoTwinError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"(?<!\w)/(\S+/)+", "", lines[-1]) if lines else ""
    return f"{type(error).__name__}: {text:.200}"
