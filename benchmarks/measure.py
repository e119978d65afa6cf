"""Time the runners of one case: results compared first, then rounds in which each runs in turn."""

from __future__ import annotations

import gc
import math
import re
import tempfile
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from case import Case, Outputs
from peers import REFERENCES, RUNNERS, Job, Prepared
from report import CaseReport, Timing, ratio, timing
from twins import NoTwinError

# A runner's turn in a round lasts at least this long: shorter runs are repeated.
TURN_SECONDS = 0.01
# So many runs settle how often a runner runs in its turn. The first of a turn finds the caches full of the others'
# weights: whoever had fewer than they would be slower by that alone.
SETTLING_RUNS = 4
# Short loops run for as long as this before they are timed: what compiles itself while it runs has done so.
WARM_SECONDS = 0.5
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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case.name}.onnx"
        path.write_bytes(case.build().SerializeToString())
        job = Job(path, case.inputs(), threads, case)
        runs, failed = first_runs({key: job for key in RUNNERS if key in runners})
    failed |= _wrong(case, {key: run.outputs for key, run in runs.items()})
    for key in failed:
        runs.pop(key, None)
    times = rounds(runs, case.iterations, threads, effort)
    for key, run in runs.items():
        if run.prepared.compiling:
            times[key]["compiling_s"] = run.prepared.compiling
    return times, failed


@dataclass
class FirstRun:
    """A runner that ran once: what that took, and what it gave."""

    prepared: Prepared
    seconds: float
    outputs: Outputs


def first_runs(jobs: Mapping[str, Job]) -> tuple[dict[str, FirstRun], dict[str, str]]:
    """Let each runner run its job once; also why others did not."""
    runs: dict[str, FirstRun] = {}
    failed: dict[str, str] = {}
    for key, job in jobs.items():
        try:
            prepared = RUNNERS[key].prepare(job)
            started = time.perf_counter()
            raw = prepared.run()
            seconds = time.perf_counter() - started
            runs[key] = FirstRun(prepared, seconds, prepared.outputs(raw))
        except Exception as error:  # whatever a runtime throws, the others go on
            failed[key] = _reason(error)
    return runs, failed


def case_report(case: Case, threads: int | None, effort: Effort) -> CaseReport:
    """One row of the table."""
    times, failed = measure(case, threads, effort)
    return {
        "name": case.name,
        "description": case.description,
        "iterations": case.iterations,
        "goal": case.goal,
        "stepped_goal": case.stepped_goal,
        "times": times,
        "failed": failed,
        "ratio": ratio(times, "loopdbg"),
        "stepped_ratio": ratio(times, "stepped"),
    }


def rounds(runs: Mapping[str, FirstRun], iterations: int, threads: int | None, effort: Effort) -> dict[str, Timing]:
    """Microseconds per iteration. Alternates between the runners; who begins changes from round to round."""
    pause = 0.0 if threads == 1 else SETTLE_SECONDS
    prepared = {key: run.prepared for key, run in runs.items()}
    seconds = {key: run.seconds for key, run in runs.items()}
    for key, runner in prepared.items():
        if seconds[key] < 0.5:  # the first runs also bound, allocated and warmed up
            _warm(runner)
            seconds[key] = min(_timed(runner, 1, pause) for _ in range(SETTLING_RUNS))
    turn = TURN_SECONDS * (1 if threads == 1 else SEVERAL_THREADS)
    repeats = {key: max(1, math.ceil(turn / seconds[key])) for key in prepared}
    one_round = sum(seconds[key] * repeats[key] + pause for key in prepared) or 1.0
    count = min(max(int(effort.seconds / one_round), effort.least_rounds), effort.most_rounds)
    taken: dict[str, list[float]] = {key: [] for key in prepared}
    order = list(prepared)
    for _ in range(count):
        gc.collect()
        for key in order:
            taken[key].append(_timed(prepared[key], repeats[key], pause) / iterations * 1e6)
        order = order[1:] + order[:1]
    return {key: timing(values) for key, values in taken.items()}


def _warm(runner: Prepared) -> None:
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        runner.run()


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
