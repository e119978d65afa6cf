"""Cost of coverage: time of a run that is measured, relative to one that is not, on the models of ``make bench``.

python benchmarks/coverage_cost.py [CASE ...]
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from collections.abc import Callable

from case_table import CASES
from loopdbg.debugger.coverage.recorder import CoverageRecorder
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.model import Model

ROUNDS = 41
WARM_UP_SECONDS = 1.0
#: Minimum duration of a turn.
TURN_SECONDS = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)}")
    names = parser.parse_args().cases or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; there are {', '.join(CASES)}")
    print(f"{'case':12} {'us/iteration':>12} {'each run':>10} {'accumulated':>12}  points")
    for name in names:
        print(cost_line(name), flush=True)


def cost_line(name: str) -> str:
    """The row of a case."""
    case = CASES[name]()
    model = Model(frontend.from_proto(case.build(), case.name))
    inputs = case.inputs()
    single, many = CoverageRecorder(model), CoverageRecorder(model, accumulate=True)
    ways: list[Callable[[], object]] = [
        lambda: model.execute(inputs),
        lambda: model.execute(inputs, observer=single),
        lambda: model.execute(inputs, observer=many),
    ]
    for way in ways:
        start = time.monotonic()
        while time.monotonic() - start < WARM_UP_SECONDS or _is_compiling():
            way()
    repeats = max(1, round(TURN_SECONDS / max(_time_runs(ways[0], 1), 1e-6)))
    # Ratios within a round, so that other work and a changing clock rate slow both sides.
    rounds = [[_time_runs(way, repeats) / repeats for way in ways] for _ in range(ROUNDS)]
    plain = statistics.median(seconds for seconds, _, _ in rounds)
    each, accumulated = (statistics.median(turn[k] / turn[0] for turn in rounds) - 1 for k in (1, 2))
    coverage = single.coverage
    return (
        f"{name:12} {1e6 * plain / case.iterations:12.3f} {each:10.1%} {accumulated:12.1%}  "
        f"{coverage.covered} of {coverage.total}"
    )


def _is_compiling() -> bool:
    """Does another thread compile a program that has run long?"""
    return any(thread.name == "loopdbg-compile" for thread in threading.enumerate())


def _time_runs(run: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
