"""The same loop as an ONNX Loop and as TensorRT network code: time per iteration, measured alternately.

python benchmarks/tensorrt_overhead.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import loopdbg
from case import BenchmarkCase
from cell_models import lstm
from loopdbg.debugger.tensorrt_export.network_writer import to_tensorrt_script
from loopdbg.runtime.frontends.onnx import reader as frontend
from loopdbg.runtime.graph import TensorType
from loopdbg.runtime.model import Model
from scalar_models import scalar

ROUNDS = 15
#: Maximum ratio of the TensorRT loop's time to the ONNX one's.
MAX_RATIO = 1.05


def model_pair(case: BenchmarkCase) -> tuple[Model, Model]:
    """Return the case's model, and the same after conversion and reloading."""
    inputs = case.inputs()
    model = Model(frontend.from_proto(case.build(), case.name))
    types = {name: TensorType(value.dtype, value.shape) for name, value in inputs.items()}
    script = to_tensorrt_script(model.graph, case.name, types, case.iterations)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{case.name}.py"
        path.write_text(script.text)
        if script.weights:
            np.savez(path.with_suffix(".npz"), **script.weights)  # type: ignore[arg-type]
        network = loopdbg.load(path)
    expected, results = model.run(inputs), network.run(inputs)
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], value, rtol=case.rtol, atol=case.atol)
    return model, network


def measure_pair(case: BenchmarkCase, rounds: int = ROUNDS) -> tuple[float, float]:
    """Return microseconds per iteration, ONNX and TensorRT: the minimum of the rounds."""
    models, inputs = model_pair(case), case.inputs()
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for k, model in enumerate(models):
            started = time.perf_counter()
            model.run(inputs)
            best[k] = min(best[k], time.perf_counter() - started)
    return best[0] / case.iterations * 1e6, best[1] / case.iterations * 1e6


def lines(quick: bool = False) -> list[str]:
    """The table."""
    rows = [
        "The same loop in two systems, us an iteration",
        f"{'':12}{'ONNX':>10}{'TensorRT':>10}{'ratio':>8}{'goal':>8}",
    ]
    for case in (scalar(), lstm()):
        onnx, tensorrt = measure_pair(case, 5 if quick else ROUNDS)
        ratio = tensorrt / onnx
        mark = "" if ratio <= MAX_RATIO else "  missed"
        rows.append(f"{case.name:12}{onnx:10.3g}{tensorrt:10.3g}{ratio:8.2f}{MAX_RATIO:8.2f}{mark}")
    return rows


if __name__ == "__main__":
    print("\n".join(lines("--quick" in sys.argv)))
