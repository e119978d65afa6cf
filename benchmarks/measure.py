"""Time the runners of one case: compare results first, then run rounds in which the runners alternate."""

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

from c_twins import NoTwinError
from case import BenchmarkCase, Outputs
from report_schema import CaseReport, Timing, speedup_over_peers, summarize_rounds
from runners import REFERENCES, RUNNERS, PreparedRun, RunnerJob

# Minimum duration of a runner's turn in a round: shorter runs are repeated.
TURN_SECONDS = 0.01
# Number of runs to determine the repeats of a turn. The first run of a turn finds the caches filled with weights of the
# others, so that a runner with fewer repeats would appear slower.
SETTLING_RUNS = 4
# Warm-up of short loops before timing, so that JIT compilation is finished.
WARM_SECONDS = 0.5
# With several threads, workers of the previous runner may spin for a while and occupy a core; and it takes longer until
# they have settled on cores.
SETTLE_SECONDS = 0.1
MULTITHREAD_REPEATS = 5


@dataclass(frozen=True)
class MeasuringEffort:
    """The effort to measure one case: as many rounds as ``seconds`` allow, within limits."""

    seconds: float = 8.0
    min_rounds: int = 3
    max_rounds: int = 15


def measure(
    case: BenchmarkCase, threads: int | None, effort: MeasuringEffort, runners: Collection[str] = tuple(RUNNERS)
) -> tuple[dict[str, Timing], dict[str, str]]:
    """Return microseconds per iteration of each runner, and the failures of others."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case.name}.onnx"
        path.write_bytes(case.build().SerializeToString())
        job = RunnerJob(path, case.inputs(), threads, case)
        runs, failed = run_first({key: job for key in RUNNERS if key in runners})
    failed |= _find_wrong_results(case, {key: run.outputs for key, run in runs.items()})
    for key in failed:
        runs.pop(key, None)
    times = measure_rounds(runs, case.iterations, threads, effort)
    for key, run in runs.items():
        if run.prepared.compile_seconds:
            times[key]["compiling_s"] = run.prepared.compile_seconds
    return times, failed


@dataclass
class FirstRun:
    """The first run of a runner: its duration and results."""

    prepared: PreparedRun
    seconds: float
    outputs: Outputs


def run_first(jobs: Mapping[str, RunnerJob]) -> tuple[dict[str, FirstRun], dict[str, str]]:
    """Let each runner run its job once; also return the failures."""
    runs: dict[str, FirstRun] = {}
    failed: dict[str, str] = {}
    for key, job in jobs.items():
        try:
            prepared = RUNNERS[key].prepare(job)
            started = time.perf_counter()
            raw = prepared.run()
            seconds = time.perf_counter() - started
            runs[key] = FirstRun(prepared, seconds, prepared.outputs(raw))
        except Exception as error:  # any error of a runtime: the others continue
            failed[key] = _error_footnote(error)
    return runs, failed


def case_report(case: BenchmarkCase, threads: int | None, effort: MeasuringEffort) -> CaseReport:
    """Return one row of the table."""
    times, failed = measure(case, threads, effort)
    return {
        "name": case.name,
        "description": case.description,
        "iterations": case.iterations,
        "goal": case.speedup_goal,
        "stepped_goal": case.stepped_speedup_goal,
        "times": times,
        "failed": failed,
        "ratio": speedup_over_peers(times, "loopdbg"),
        "stepped_ratio": speedup_over_peers(times, "stepped"),
    }


def measure_rounds(
    runs: Mapping[str, FirstRun], iterations: int, threads: int | None, effort: MeasuringEffort
) -> dict[str, Timing]:
    """Microseconds per iteration. The runners alternate; the first one changes from round to round."""
    pause = 0.0 if threads == 1 else SETTLE_SECONDS
    prepared = {key: run.prepared for key, run in runs.items()}
    seconds = {key: run.seconds for key, run in runs.items()}
    for key, runner in prepared.items():
        if seconds[key] < 0.5:  # the first runs include binding, allocation and warm-up
            _warm_up(runner)
            seconds[key] = min(_time_run(runner, 1, pause) for _ in range(SETTLING_RUNS))
    turn = TURN_SECONDS * (1 if threads == 1 else MULTITHREAD_REPEATS)
    repeats = {key: max(1, math.ceil(turn / seconds[key])) for key in prepared}
    one_round = sum(seconds[key] * repeats[key] + pause for key in prepared) or 1.0
    count = min(max(int(effort.seconds / one_round), effort.min_rounds), effort.max_rounds)
    durations: dict[str, list[float]] = {key: [] for key in prepared}
    order = list(prepared)
    for _ in range(count):
        gc.collect()
        for key in order:
            durations[key].append(_time_run(prepared[key], repeats[key], pause) / iterations * 1e6)
        order = order[1:] + order[:1]
    return {key: summarize_rounds(values) for key, values in durations.items()}


def _warm_up(runner: PreparedRun) -> None:
    end = time.perf_counter() + WARM_SECONDS
    while time.perf_counter() < end:
        runner.run()


def _time_run(runner: PreparedRun, repeats: int, pause: float) -> float:
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


def _find_wrong_results(case: BenchmarkCase, results: dict[str, Outputs]) -> dict[str, str]:
    """The runners whose results differ from the reference, and the difference."""
    reference = next((key for key in REFERENCES if key in results), None)
    if reference is None:
        return {}
    right = results[reference]
    differences_by_runner = {}
    for key, outputs in results.items():
        differences = list(_differences(case, outputs, right))
        if differences:
            differences_by_runner[key] = f"not the result of {RUNNERS[reference].title}: {differences[0]}"
    return differences_by_runner


def _differences(case: BenchmarkCase, results: Outputs, reference: Outputs) -> Iterable[str]:
    for name, expected in reference.items():
        if name not in results:
            yield f"no output '{name}'"
            continue
        actual = results[name]
        if actual.shape != expected.shape:
            yield f"'{name}' is {list(actual.shape)}, not {list(expected.shape)}"
        elif expected.dtype.kind != "f":
            if not np.array_equal(actual, expected):
                yield f"'{name}' differs in {np.count_nonzero(actual != expected)} of {expected.size} elements"
        elif not np.allclose(actual, expected, case.rtol, case.atol):
            yield f"'{name}' is off by up to {np.abs(actual - expected).max():.2g}"


def _error_footnote(error: Exception) -> str:
    """One line for a footnote; empty if the runner does not apply."""
    if isinstance(error, NoTwinError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = re.sub(r"(?<!\w)/(\S+/)+", "", lines[-1]) if lines else ""
    return f"{type(error).__name__}: {text:.200}"
