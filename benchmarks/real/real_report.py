"""The benchmark of real models: a row for each file, then a summary."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from real import families
from real.model_files import CHILD, REAL_MODELS, TOLERANCES, BuiltModel, RealModel, build_model
from runners import PEERS, RUNNERS

#: Timeout of a process: a model that hangs is a failure.
CHILD_TIMEOUT_SECONDS = 90
COLD_ROUNDS = 2
SECONDS, QUICK_SECONDS = 2.0, 0.5
SPEEDUP_GOAL = 2.0
COLD_SPEEDUP_GOAL = 1.5


@dataclass
class RealModelRow:
    """One file. Times are microseconds per run; ``failed``: why a runtime has no result."""

    model: str
    system: str
    variant: str
    about: str
    errors: dict[str, float] = field(default_factory=dict)
    #: The difference of loopdbg from the nearest other runtime.
    apart: float | None = None
    times: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    cold: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)

    @property
    def is_correct(self) -> bool:
        """Whether the error is within the tolerance of the variant, or similar to that of a peer or onnx.reference, or
        the result is near to one: low-precision models and IRs may differ from the expected values."""
        tolerance = TOLERANCES[self.variant]
        error = self.errors.get("loopdbg", math.inf)
        if error <= tolerance or not self.accepts_peer_errors:
            return error <= tolerance
        peer_error = min((self.errors[key] for key in self.errors if key != "loopdbg"), default=0.0)
        return error <= 2 * peer_error < math.inf or (self.apart is not None and self.apart <= tolerance)

    @property
    def accepts_peer_errors(self) -> bool:
        return self.variant != "fp32" or self.system == "ir"

    @property
    def ratio(self) -> float | None:
        return _peer_ratio(self.times, inverse=False)

    @property
    def cold_ratio(self) -> float | None:
        return _peer_ratio(self.cold, inverse=True)

    @property
    def memory_ratio(self) -> float | None:
        return _peer_ratio(self.memory, inverse=True)

    @property
    def title(self) -> str:
        return f"{self.model} {self.system} {self.variant}"


def _peer_ratio(numbers: dict[str, float], inverse: bool) -> float | None:
    """The better peer's number relative to ours, or the inverse."""
    peers = [numbers[peer] for peer in PEERS if peer in numbers]
    if "loopdbg" not in numbers or not peers:
        return None
    return numbers["loopdbg"] / min(peers) if inverse else min(peers) / numbers["loopdbg"]


def main(patterns: Sequence[str], check: bool, quick: bool, json_path: str | None) -> int:
    """Build and run the models that match the patterns; ``quick``: fewer rounds, no new processes.

    Exit status 1 if loopdbg failed or was wrong.
    """
    families.load()
    models = [
        real for name, real in REAL_MODELS.items() if not patterns or any(_matches(name, real, p) for p in patterns)
    ]
    if not models:
        print(f"no real model {', '.join(patterns)}; there are {', '.join(REAL_MODELS)}", file=sys.stderr)
        return 2
    rows: list[RealModelRow] = []
    print(_header_lines(check), flush=True)
    for real in models:
        for row in _measure_files(real, patterns, check, quick):
            rows.append(row)
            print(_table_line(row, check), flush=True)
            if json_path:
                Path(json_path).write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print("\n".join(["", *_summary_lines(rows, check)]))
    return 0 if all(row.is_correct for row in rows) else 1


def _matches(name: str, real: RealModel, pattern: str) -> bool:
    """Whether a pattern matches the name, the family, or name/system/variant."""
    return fnmatch(name, pattern.partition("/")[0]) or real.source.stem == pattern


def _measure_files(real: RealModel, patterns: Sequence[str], check: bool, quick: bool) -> Iterator[RealModelRow]:
    try:
        built = build_model(real)
    except Exception as error:
        text = str(error).strip().splitlines()
        yield RealModelRow(
            real.name, "onnx", "fp32", real.description, failed={"loopdbg": f"not exported: {text[-1:]}"}
        )
        return
    for (system, variant), path in built.files.items():
        selectors = [p.split("/", 1)[1] for p in patterns if "/" in p and fnmatch(real.name, p.split("/")[0])]
        if not selectors or any(fnmatch(f"{system}/{variant}", p) for p in selectors):
            yield _measure_file(built, system, variant, path, check, quick)


def _measure_file(built: BuiltModel, system: str, variant: str, path: Path, check: bool, quick: bool) -> RealModelRow:
    row = RealModelRow(built.real.name, system, variant, built.real.description)
    # ONNX Runtime reads no IR: it runs the source file of the IR.
    models = {"loopdbg": path, "onnxruntime": path.with_suffix(".onnx"), "openvino": path}
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, **built.inputs(variant))
        expected = built.folder / "expected.npz"
        if check:
            _measure_runners(row, {"loopdbg": path}, inputs, expected, 0.0)
            if row.is_correct or "loopdbg" in row.failed or not row.accepts_peer_errors:
                return row
        _measure_runners(row, models, inputs, expected, 0.0 if check else QUICK_SECONDS if quick else SECONDS)
        if not row.is_correct and row.accepts_peer_errors:
            # The peers compute with more bits than float16; onnx.reference follows the file.
            _measure_runners(row, {"loopdbg": path, "onnx.reference": models["onnxruntime"]}, inputs, expected, 0.0)
        if not check and not quick and "loopdbg" in row.errors:
            for _ in range(COLD_ROUNDS):
                for key in row.errors:
                    measurement = _run_child(["cold", key, str(models[key]), str(inputs)])
                    if not isinstance(measurement, str):
                        row.cold[key] = min(measurement["seconds"], row.cold.get(key, math.inf))
                        row.memory[key] = min(measurement["bytes"], row.memory.get(key, math.inf))
    return row


def _measure_runners(
    row: RealModelRow, models: Mapping[str, Path], inputs: Path, expected: Path, seconds: float
) -> None:
    """Run the models in one process; if it dies, each in its own."""
    task = {"inputs": str(inputs), "expected": str(expected), "models": {k: str(path) for k, path in models.items()}}
    result = _run_child(["measure", str(seconds)], json.dumps(task))
    if isinstance(result, str):
        if len(models) == 1:
            row.failed |= dict.fromkeys(models, result)
            return
        for key, path in models.items():
            _measure_runners(row, {key: path}, inputs, expected, seconds)
        return
    row.errors |= result["errors"]
    row.failed |= result["failed"]
    row.apart = result["apart"]
    row.times |= {key: timing["min_us"] for key, timing in result["times"].items()}


def _run_child(words: list[str], text: str = "") -> Any:
    """The output of a separate process, or why it failed."""
    command = [sys.executable, str(CHILD), *words]
    # Without cached bytecode, a cold start would include the compiler.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    try:
        process = subprocess.run(
            command, input=text, env=environment, capture_output=True, encoding="utf-8", timeout=CHILD_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"no end within {CHILD_TIMEOUT_SECONDS} s"
    try:
        return json.loads(process.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        lines = process.stderr.strip().splitlines()
        return f"the process ended with status {process.returncode}: {lines[-1] if lines else ''}"[:300]


_WIDTHS = (34, 6, 8, 10, 11, 11, 11, 8, 8, 8)


def _header_lines(check: bool) -> str:
    names = ["model", "system", "variant", "error", *(RUNNERS[key].title for key in ("loopdbg", *PEERS))]
    names = [*names[:4]] if check else [*names, "ratio", "cold", "memory"]
    threads = "1 thread each" if os.environ.get("OMP_NUM_THREADS") == "1" else "as many threads as each takes"
    lines = [
        f"Microseconds a run, {threads}: the fastest round. error: from what PyTorch or NumPy gives.",
        "ratio: the faster peer's time by that of loopdbg. cold: import, load and first run in a new process,",
        "memory: the most that a process took, each of loopdbg by the better peer.",
        "",
        _align_cells(names),
    ]
    return "\n".join(lines[:1] + lines[3:] if check else lines)


def _table_line(row: RealModelRow, check: bool) -> str:
    cells = [row.model, row.system, row.variant, _error_cell(row)]
    if not check:
        cells += [f"{row.times[key]:.0f}" if key in row.times else "–" for key in ("loopdbg", *PEERS)]
        cells += ["–" if r is None else f"{r:.2f}" for r in (row.ratio, row.cold_ratio, row.memory_ratio)]
    line = _align_cells(cells)
    return line + (f"  {row.failed['loopdbg']}" if "loopdbg" in row.failed else "")


def _error_cell(row: RealModelRow) -> str:
    if "loopdbg" not in row.errors:
        return "fails"
    text = f"{row.errors['loopdbg']:.1g}"
    if not row.is_correct:
        return f"WRONG {text}"
    return text if row.errors["loopdbg"] <= TOLERANCES[row.variant] else "as peer"


def _align_cells(cells: Sequence[str]) -> str:
    left = 3
    parts = (
        cell.ljust(width) if k < left else cell.rjust(width)
        for k, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=False))
    )
    return " ".join(parts).rstrip()


def _summary_lines(rows: list[RealModelRow], check: bool) -> Iterator[str]:
    models = {row.model for row in rows}
    right = [row for row in rows if row.is_correct]
    yield f"{len(rows)} files of {len(models)} models, {len(right)} right"
    for row in rows:
        if "loopdbg" in row.failed:
            yield f"  fails: {row.title}: {row.failed['loopdbg']}"
        elif not row.is_correct:
            others = ", ".join(f"{key} {row.errors[key]:.1g}" for key in PEERS if key in row.errors)
            yield f"  wrong: {row.title}: error {row.errors['loopdbg']:.2g} ({others or 'no peer runs it'})"
    if check:
        return
    timed = [(row.ratio, row) for row in right if row.ratio is not None]
    if timed:
        mean = math.exp(sum(math.log(ratio) for ratio, _ in timed) / len(timed))
        fast = sum(ratio >= 1 for ratio, _ in timed)
        yield (
            f"ratio: geometric mean {mean:.2f} (goal {SPEEDUP_GOAL:g}); {fast} of {len(timed)} at least as fast as both"
        )
        for ratio, row in sorted(timed, key=lambda pair: pair[0]):
            if ratio < 1:
                yield f"  below 1: {ratio:.2f} {row.title}"
    for title, goal, numbers in (
        ("cold start", COLD_SPEEDUP_GOAL, [(row.cold_ratio, row) for row in right]),
        ("memory", 1.0, [(row.memory_ratio, row) for row in right]),
    ):
        ratios = [(ratio, row) for ratio, row in numbers if ratio is not None]
        if ratios:
            mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
            above = [(ratio, row) for ratio, row in ratios if ratio > goal]
            yield f"{title}: geometric mean {mean:.2f}; {len(ratios) - len(above)} of {len(ratios)} at most {goal:g}"
            for ratio, row in sorted(above, key=lambda pair: -pair[0]):
                yield f"  above: {ratio:.2f} {row.title}"
