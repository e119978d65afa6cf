"""One process of the benchmark of real models; prints JSON.

measure_process.py measure SECONDS    every runtime on the jobs that standard input names, in rounds
measure_process.py cold RUNNER MODEL INPUTS.npz    one runtime: import, load and first run, and the peak of memory
"""

import sys
import time

START_TIME = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np  # noqa: E402

from runners import RUNNERS, RunnerJob  # noqa: E402

#: Threads of each runtime; None: its default. run.py sets those of BLAS.
THREADS = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else None
#: Further runs after the first one, before memory is measured.
EXTRA_RUNS = 3


def measure_cold_start(runner: str, model: str, inputs: str) -> dict[str, Any]:
    """Return the seconds from the first line of this script to the end of the first run, and bytes."""
    arrays = dict(np.load(inputs).items())
    prepared = RUNNERS[runner].prepare(RunnerJob(Path(model), arrays, THREADS))
    prepared.run()
    seconds = time.perf_counter() - START_TIME
    for _ in range(EXTRA_RUNS):
        prepared.run()
    return {"seconds": seconds, "bytes": _peak_bytes()}


def _peak_bytes() -> int:
    """The peak memory of this process; getrusage would include that of the parent process."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure_task(task: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return errors and times of the runners; ``seconds`` 0: only errors."""
    from measure import MeasuringEffort, measure_rounds, run_first

    inputs = dict(np.load(task["inputs"]).items())
    expected = list(np.load(task["expected"]).values())
    runs, failed = run_first({key: RunnerJob(Path(path), inputs, THREADS) for key, path in task["models"].items()})
    results = {key: list(run.outputs.values()) for key, run in runs.items()}
    errors = {key: relative_error(values, expected) for key, values in results.items()}
    own = results.get("loopdbg")
    apart = [relative_error(own, results[key]) for key in results if key != "loopdbg" and own]
    times = measure_rounds(runs, 1, THREADS, MeasuringEffort(seconds, 3, 15)) if seconds else {}
    return {"errors": errors, "apart": min(apart, default=None), "times": times, "failed": failed}


def relative_error(results: list[Any], expected: list[Any]) -> float:
    """Return the maximum difference relative to the largest number or 1; infinite if shapes or integers differ."""
    if len(results) != len(expected):
        return float("inf")
    worst = 0.0
    for a, b in zip(results, expected, strict=True):
        if a.shape != b.shape:
            return float("inf")
        if b.dtype.kind != "f":
            if not np.array_equal(a, b):
                return float("inf")
        elif b.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            if not np.array_equal(np.isfinite(a), np.isfinite(b)):
                return float("inf")
            real = np.isfinite(b)
            if real.any():
                worst = max(worst, float(np.abs(a[real] - b[real]).max() / max(1.0, np.abs(b[real]).max())))
    return worst


if __name__ == "__main__":
    if sys.argv[1] == "cold":
        print(json.dumps(measure_cold_start(*sys.argv[2:])))
    else:
        print(json.dumps(measure_task(json.load(sys.stdin), float(sys.argv[2]))))
