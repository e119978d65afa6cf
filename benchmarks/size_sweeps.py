"""Cost against size: time per iteration for many iterations, and for sizes of a cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from case import BenchmarkCase
from cell_models import lstm
from measure import MeasuringEffort, measure
from report_schema import SizeSweep, SweepRow
from scalar_models import scalar

# A runner that would exceed this for one run is omitted for larger sizes.
LONGEST_RUN_SECONDS = 5.0
RUNNERS = ("loopdbg", "onnxruntime", "openvino", "c")


def _measure_sizes(
    sizes: list[int], case_of: Callable[[int], BenchmarkCase], threads: int | None, effort: MeasuringEffort
) -> Iterator[SweepRow]:
    us: dict[str, float] = {}
    for size in sizes:
        case = case_of(size)
        runnable = [key for key in RUNNERS if us.get(key, 0.0) * case.iterations < LONGEST_RUN_SECONDS * 1e6]
        times, failed = measure(case, threads, effort, runnable)
        us |= {key: value["median_us"] for key, value in times.items()}
        failed |= {key: "would take too long" for key in RUNNERS if key not in runnable}
        yield {"size": size, "times": times, "failed": failed}


def sweep_iterations(threads: int | None, quick: bool, long: bool) -> SizeSweep:
    """Measure the scalar loop over 10^2 to 10^7 iterations, 10^5 if ``quick``, 10^8 if ``long``."""
    last = 8 if long else 5 if quick else 7
    sizes = [10**power for power in range(2, last + 1)]
    return {
        "name": "iterations",
        "description": "scalar loop, by number of iterations",
        "size_name": "iterations",
        "rows": list(_measure_sizes(sizes, scalar, threads, MeasuringEffort(1.0, 3, 9))),
    }


def sweep_hidden_sizes(threads: int | None, quick: bool) -> SizeSweep:
    """Measure the LSTM with hidden sizes of 16 to 2048, 256 if ``quick``; fewer steps for the larger ones."""
    sizes = [2**power for power in range(4, 9 if quick else 12)]

    def case_of(hidden: int) -> BenchmarkCase:
        return lstm(hidden=hidden, iterations=min(max(50_000 // hidden, 25), 500))

    return {
        "name": "hidden_size",
        "description": "LSTM, input 512, by hidden size",
        "size_name": "hidden size",
        "rows": list(_measure_sizes(sizes, case_of, threads, MeasuringEffort(2.0, 3, 9))),
    }
