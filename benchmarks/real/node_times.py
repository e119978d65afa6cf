"""Profile of a real model: seconds by node or by operator, as the engine runs it.

python benchmarks/real/node_times.py MODEL [--nodes] [--most 25] [--seconds 1]

MODEL is name/system/variant of a model that the benchmark has built (decoder_static/onnx/fp32; onnx and fp32 may be
omitted), or a file with its inputs in the same folder, as inputs.npz.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import loopdbg  # noqa: E402
from loopdbg.runtime.engine.engine import Engine  # noqa: E402
from loopdbg.runtime.plan.plan import Instruction  # noqa: E402

BUILT_DIRECTORY = Path(__file__).resolve().parents[2] / "build" / "real"
SUFFIX = {"onnx": ".onnx", "ir": ".xml"}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--nodes", action="store_true", help="each node by itself, not added up by operator")
    parser.add_argument("--most", type=int, default=25, help="lines that are shown")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long it is run")
    options = parser.parse_args()
    path = _model_path(options.model)
    model = loopdbg.load(path)
    inputs = path.parent / "inputs.npz"
    feeds = dict(np.load(inputs).items()) if inputs.exists() else {}
    halves = {value.name for value in model.graph.inputs if value.type is not None and value.type.dtype == np.float16}
    feeds = {name: value.astype(np.float16) if name in halves else value for name, value in feeds.items()}
    checked = model.check(feeds)
    engine = Engine(model.plan)
    total_seconds = _fastest_run(engine, checked, options.seconds / 2)
    best: list[float] = []
    started = time.perf_counter()
    while not best or time.perf_counter() - started < options.seconds:
        engine.time_nodes(True)
        _run_engine(engine, checked)
        # For each node the minimum of all runs: other processes take time from some runs, but seldom from all.
        best = [min(pair) for pair in zip(best or engine.node_seconds, engine.node_seconds, strict=True)]
    print("\n".join(_table_lines(engine, best, total_seconds, options.nodes, options.most)))
    return 0


def _model_path(model: str) -> Path:
    if Path(model).exists():
        return Path(model)
    name, system, variant = (*model.split("/"), *("onnx", "fp32")[model.count("/") :])[:3]
    return BUILT_DIRECTORY / name / f"{variant}{SUFFIX[system]}"


def _run_engine(engine: Engine, checked: object) -> None:
    engine.start(checked, outputs_only=True)  # type: ignore[arg-type]
    engine.resume()


def _fastest_run(engine: Engine, checked: object, seconds: float) -> float:
    """The minimum seconds of a run, after nodes are bound."""
    _run_engine(engine, checked)
    best, started = float("inf"), time.perf_counter()
    while time.perf_counter() - started < seconds:
        began = time.perf_counter()
        _run_engine(engine, checked)
        best = min(best, time.perf_counter() - began)
    return best


def _table_lines(engine: Engine, best: list[float], total_seconds: float, nodes: bool, most: int) -> list[str]:
    totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    for pc, (instruction, seconds) in enumerate(zip(engine.plan.code, best, strict=True)):
        entry = totals[_row_title(engine, pc, instruction, nodes)]
        entry[0] += seconds
        entry[1] += 1
    total = sum(seconds for seconds, _ in totals.values())
    lines = [f"{total_seconds * 1e6:.1f} us a run at best; with clocks {total * 1e6:.1f} us"]
    for title, (seconds, count) in sorted(totals.items(), key=lambda pair: -pair[1][0])[:most]:
        if seconds:
            lines.append(f"{seconds / total:6.1%} {seconds * 1e6:10.1f} us  {count:4d}  {title}")
    return lines


def _row_title(engine: Engine, pc: int, instruction: Instruction, nodes: bool) -> str:
    location = f"@{instruction.inside}"
    if instruction.node is None or instruction.op is None:
        return f"{instruction.kind.name} {location}"
    group_led = next((group for group, _ in engine.optimizer.groups if group.first == pc), None)
    kind_text = "group" if group_led else "" if engine.binder.is_native(pc) else "python"
    if not nodes:
        return f"{instruction.node.op_type} {location} {kind_text}"
    memory = engine.memory
    shapes = [memory.dtype_and_shape(slot) for slot in (*instruction.inputs, *instruction.outputs) if slot >= 0]
    types = " ".join("-" if kind is None else f"{kind[0].name}{list(kind[1])}" for kind in shapes)
    members = f" of {len(group_led.members)}" if group_led else ""
    return f"{pc} {instruction.node.op_type} {location} {kind_text}{members} {types}"


if __name__ == "__main__":
    sys.exit(main())
