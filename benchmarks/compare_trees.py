"""Compare this tree with another one on the same models: speedup, and bitwise equality of results.

python benchmarks/compare_trees.py ../before                    the loops of `make bench`
python benchmarks/compare_trees.py ../before --case lstm heat   some of them
python benchmarks/compare_trees.py ../before --real 'lstm*'     models as people export them, some or all
python benchmarks/compare_trees.py ../before --json comparison.json

The extension modules of the other tree have to be built; both run with this environment's packages, on one thread.

Two processes alternate, so that other load of the machine affects both; a turn of each runs on one processor, the next
two on the next. The location of a process's buffers in memory changes a time by up to 10 %, so there are several pairs
of processes. The figure of a pair is the ratio of its shortest turns, that of a model is the geometric mean of its
pairs. If it is not close to 1, more pairs follow.

Exit status: 1 if bits differ or a figure is below MIN_SPEED_RATIO.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parents[1]
#: Minimum speed ratio of this tree; a lower one counts as slower.
MIN_SPEED_RATIO = 0.97
#: Pairs of processes: the initial number, and further ones if the figure is in UNCERTAIN_SPEED_RATIOS.
PROCESS_PAIRS, EXTRA_PROCESS_PAIRS = 2, 8
UNCERTAIN_SPEED_RATIOS = (0.985, 1.1)
#: Minimum duration of a turn; number of turns of a pair; maximum duration of a pair, for long runs.
TURN_SECONDS = 0.01
TURN_COUNTS = range(5, 21)
SECONDS_PER_PAIR = 1.5
#: Warm-up of a model before its first turn, so that its JIT compilation is finished.
WARM_SECONDS = 1.0
#: Timeout of an answer of a process.
ANSWER_TIMEOUT_SECONDS = 120


@dataclass
class TreeComparison:
    """One model; ``pairs``: microseconds per run of this tree and of the other, for each pair of processes."""

    model: str
    pairs: list[tuple[float, float]] = field(default_factory=list)
    same: bool = True
    failed: str = ""

    @property
    def speed_ratio(self) -> float:
        """The speedup of this tree."""
        return math.exp(sum(math.log(other / own) for own, other in self.pairs) / len(self.pairs))

    @property
    def is_acceptable(self) -> bool:
        return self.same and not self.failed and self.speed_ratio >= MIN_SPEED_RATIO


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=Path, help="a checkout with its extension modules built in place")
    parser.add_argument("--case", nargs="+", metavar="NAME", help="these loops of `make bench`")
    parser.add_argument("--real", nargs="*", metavar="MODEL", help="models as people export them, all or these")
    parser.add_argument("--pairs", type=int, default=PROCESS_PAIRS, help="pairs of processes a model (%(default)s)")
    parser.add_argument("--json", type=Path, help="write all figures there")
    options = parser.parse_args()
    trees = (TREE, options.tree.resolve())
    if not (trees[1] / "src" / "loopdbg").is_dir():
        parser.error(f"{options.tree} has no src/loopdbg; it is not a checkout of loopdbg")
    try:
        rows = _compare_models(options, trees)
    except LookupError as error:
        parser.error(str(error.args[0]))
    except ImportError as error:
        parser.error(f"--real exports models from PyTorch, and {error.name} is not installed: pip install '.[real]'")
    print("\n".join(["", *_summary_lines(rows)]))
    return 0 if all(row.is_acceptable for row in rows) else 1


def _compare_models(options: argparse.Namespace, trees: tuple[Path, Path]) -> list[TreeComparison]:
    """Compare the models that the options name, and print a line for each.

    Raises:
        LookupError: no such model.
        ImportError: the packages for the export are not installed.
    """
    print(f"Microseconds a run, one thread: here, in {options.tree}, how many times as fast it is here.\n", flush=True)
    rows: list[TreeComparison] = []
    with tempfile.TemporaryDirectory() as folder:
        real = options.real is not None
        for name, model, inputs in (
            _real_models(options.real, Path(folder)) if real else _loop_benchmarks(options.case, Path(folder))
        ):
            rows.append(_compare_model(name, model, inputs, trees, options.pairs))
            print(_comparison_line(rows[-1]), flush=True)
            if options.json:
                options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return rows


def _loop_benchmarks(names: Sequence[str] | None, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield (name, model, inputs) of the loops of `make bench`."""
    import numpy as np

    from case_table import CASES

    for name in names or ():
        if name not in CASES:
            raise LookupError(f"no loop '{name}'; there are {', '.join(CASES)}")
    for name in names or CASES:
        case = CASES[name]()
        model, inputs = folder / f"{name}.onnx", folder / f"{name}.npz"
        model.write_bytes(case.build().SerializeToString())
        np.savez(inputs, **case.inputs())
        yield name, model, inputs


def _real_models(patterns: Sequence[str], folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield the same for each file of the exported models whose name or family matches a pattern."""
    import numpy as np

    from real import families
    from real.model_files import REAL_MODELS, build_model

    families.load()
    for pattern in patterns:
        if not any(_matches(name, real, pattern) for name, real in REAL_MODELS.items()):
            raise LookupError(f"no exported model '{pattern}'; there are {', '.join(REAL_MODELS)}")
    for name, real in REAL_MODELS.items():
        if patterns and not any(_matches(name, real, pattern) for pattern in patterns):
            continue
        built = build_model(real)
        for (system, variant), model in built.files.items():
            inputs = folder / "inputs.npz"
            np.savez(inputs, **built.inputs(variant))
            yield f"{name} {system} {variant}", model, inputs


def _matches(name: str, real: Any, pattern: str) -> bool:
    return fnmatch(name, pattern) or real.source.stem == pattern


def _compare_model(name: str, model: Path, inputs: Path, trees: tuple[Path, Path], pairs: int) -> TreeComparison:
    row = TreeComparison(name)
    try:
        while len(row.pairs) < pairs or (
            len(row.pairs) < EXTRA_PROCESS_PAIRS
            and not UNCERTAIN_SPEED_RATIOS[0] <= row.speed_ratio <= UNCERTAIN_SPEED_RATIOS[1]
        ):
            own, other, same = _measure_pair(model, inputs, trees, len(row.pairs) % 2 == 1)
            row.pairs.append((own, other))
            row.same = row.same and same
    except RuntimeError as error:
        row.failed = str(error)
    return row


def _measure_pair(model: Path, inputs: Path, trees: tuple[Path, Path], swapped: bool) -> tuple[float, float, bool]:
    """The shortest turn of each tree in microseconds per run, and whether results are equal; ``swapped``: the order.

    Raises:
        RuntimeError: a process cannot run the model.
    """
    processes = [_TreeProcess(tree, model, inputs) for tree in trees]
    try:
        first = [process.answer() for process in processes]
        runs = [max(1, math.ceil(TURN_SECONDS / answer["seconds"])) for answer in first]
        round_seconds = sum(n * answer["seconds"] for n, answer in zip(runs, first, strict=True))
        turns = min(max(int(SECONDS_PER_PAIR / round_seconds), TURN_COUNTS.start), TURN_COUNTS.stop - 1)
        best = [math.inf, math.inf]
        for turn in range(turns):
            for k in (0, 1) if (turn % 2 == 1) == swapped else (1, 0):
                processes[k].pin_to_processor(turn)
                best[k] = min(best[k], processes[k].time_runs(runs[k])["seconds"] / runs[k])
        return best[0] * 1e6, best[1] * 1e6, first[0]["bits"] == first[1]["bits"]
    finally:
        for process in processes:
            process.close()


class _TreeProcess:
    """A process that runs one model with one tree's loopdbg."""

    def __init__(self, tree: Path, model: Path, inputs: Path) -> None:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.tree = tree
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD_SCRIPT, str(model), str(inputs)],
            env={**os.environ, **threads, "PYTHONPATH": str(tree / "src")},
            cwd=tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def pin_to_processor(self, turn: int) -> None:
        """Pin the process to one processor, if the system supports it."""
        if hasattr(os, "sched_setaffinity"):
            processors = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(self.process.pid, {processors[turn % len(processors)]})

    def time_runs(self, runs: int) -> Any:
        assert self.process.stdin
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        assert self.process.stdout and self.process.stderr
        line = (
            self.process.stdout.readline()
            if select.select([self.process.stdout], [], [], ANSWER_TIMEOUT_SECONDS)[0]
            else None
        )
        if line is None:
            raise RuntimeError(f"{self.tree.name}: no answer for {ANSWER_TIMEOUT_SECONDS} s")
        if not line:
            lines = self.process.stderr.read().strip().splitlines()
            raise RuntimeError(f"{self.tree.name}: {lines[-1] if lines else 'the process ended'}"[:200])
        return json.loads(line)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


#: The script of a process, as text, so that nothing of this tree is imported together with the other one's loopdbg.
CHILD_SCRIPT = f"""
import hashlib, json, sys, time
import numpy as np
import loopdbg

model, inputs = loopdbg.load(sys.argv[1]), dict(np.load(sys.argv[2]).items())

def report(**values):
    print(json.dumps(values), flush=True)

def update_hash(hashed, value):
    if isinstance(value, list):
        for item in value:
            update_hash(hashed, item)
    elif value is not None:
        array = np.asarray(value)
        hashed.update(repr((array.dtype.str, array.shape)).encode() + array.tobytes())

hashed = hashlib.sha256()
for outputs in (model.run(inputs), model.run(inputs)):
    for name, value in outputs.items():
        hashed.update(name.encode())
        update_hash(hashed, value)
started = time.perf_counter()
seconds = float("inf")
while time.perf_counter() - started < {WARM_SECONDS} or seconds == float("inf"):
    start = time.process_time()
    model.run(inputs)
    seconds = min(seconds, max(time.process_time() - start, 1e-7))
report(bits=hashed.hexdigest(), seconds=seconds)
for line in sys.stdin:
    start = time.process_time()
    for _ in range(int(line)):
        model.run(inputs)
    report(seconds=time.process_time() - start)
"""


def _comparison_line(row: TreeComparison) -> str:
    if row.failed:
        return f"{row.model:<38}{row.failed}"
    own, other = (sum(pair[k] for pair in row.pairs) / len(row.pairs) for k in (0, 1))
    notes = ("" if row.same else "  other bits") + ("" if row.speed_ratio >= MIN_SPEED_RATIO else "  slower")
    return f"{row.model:<38}{own:>12.4g}{other:>12.4g}{row.speed_ratio:>8.2f}{notes}"


def _summary_lines(rows: Sequence[TreeComparison]) -> list[str]:
    measured = [row for row in rows if not row.failed]
    lines = [f"{len(rows)} models, {len(rows) - len(measured)} not run."]
    if measured:
        mean = math.exp(sum(math.log(row.speed_ratio) for row in measured) / len(measured))
        slower = [f"{row.model} {row.speed_ratio:.2f}" for row in measured if row.speed_ratio < MIN_SPEED_RATIO]
        lines += [
            f"Geometric mean {mean:.3f}; below {MIN_SPEED_RATIO}: {', '.join(slower) or 'none'}.",
            f"The same bits: {sum(row.same for row in measured)} of {len(measured)}.",
        ]
    return lines


if __name__ == "__main__":
    sys.exit(main())
