"""Duration of ``loopdbg diff``: seconds of the whole command for pairs of models.

python benchmarks/run.py --diff                500 nodes and 1 000 iterations; 250 carried values
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case import IR_VERSION, OPSET, uniform

NODE_COUNT, ITERATION_COUNT, CARRIED_COUNT = 500, 1000, 250
ROUNDS = 5
ROW = "{:52}{:>10}{:>10}"


@dataclass(frozen=True)
class LoopBody:
    """A loop body: nodes, their weights, carried values and results."""

    nodes: Sequence[onnx.NodeProto]
    weights: dict[str, np.ndarray]
    results: Sequence[str]
    width: int


def decoder_body(width: int, changed: int | None = None) -> LoopBody:
    """Products and elementwise nodes over four carried values in turn; ``changed``: the node with another weight."""
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    values = [f"h{k}" for k in range(4)]
    for k in range(NODE_COUNT - 1):
        op_type = ("MatMul", "Add", "Tanh", "Mul", "Sub", "Sigmoid")[k % 6]
        inputs = [values[k % 4]]
        if op_type not in ("Tanh", "Sigmoid"):
            rows, spread = (width, width**-0.5) if op_type == "MatMul" else (1, 1.0)
            weights[f"w{k}"] = uniform(k, rows, width, low=-spread, high=spread) + 0.01 * (k == changed)
            inputs.append(f"w{k}")
        nodes.append(helper.make_node(op_type, inputs, [f"v{k}"]))
        values[k % 4] = f"v{k}"
    return LoopBody(nodes, weights, values, width)


def many_carried_body(changed: int | None = None) -> LoopBody:
    """Many carried values, each with its own weight."""
    weights = {f"w{k}": uniform(k, 1, 16, low=0.9, high=1.1) + 0.01 * (k == changed) for k in range(CARRIED_COUNT)}
    nodes = []
    for k in range(CARRIED_COUNT):
        nodes.append(helper.make_node("Mul", [f"h{k}", f"w{k}"], [f"m{k}"]))
        nodes.append(helper.make_node("Tanh", [f"m{k}"], [f"t{k}"]))
    return LoopBody(nodes, weights, [f"t{k}" for k in range(CARRIED_COUNT)], 16)


def save_model(folder: Path, name: str, body: LoopBody, dtype: type = np.float32) -> Path:
    """Write a model with one loop."""
    kind, shape = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1, body.width]
    value, carried = helper.make_tensor_value_info, range(len(body.results))
    body_graph = helper.make_graph(
        [*body.nodes, helper.make_node("Identity", ["c"], ["c_out"])],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("c", TensorProto.BOOL, []),
            *(value(f"h{k}", kind, shape) for k in carried),
        ],
        [value("c_out", TensorProto.BOOL, []), *(value(result, kind, shape) for result in body.results)],
        [numpy_helper.from_array(array.astype(dtype), weight) for weight, array in body.weights.items()],
    )
    ports = [f"{letter}{k}" for letter in "xy" for k in carried]
    first, results = ports[: len(carried)], ports[len(carried) :]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", *first], results, body=body_graph, name="decode")],
        "main",
        [value(port, kind, shape) for port in first],
        [value(port, kind, shape) for port in results],
        [numpy_helper.from_array(np.array(ITERATION_COUNT), "n")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.save(model, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def model_pairs(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield the title of a comparison, and the two files."""
    for width in (16, 256):
        base = save_model(folder, f"a{width}", decoder_body(width))
        yield f"500 nodes of width {width}: equal", base, save_model(folder, f"b{width}", decoder_body(width))
        yield "one constant changed, late", base, save_model(folder, f"c{width}", decoder_body(width, 480))
    narrow = save_model(folder, "half", decoder_body(16), np.float16)
    yield "500 nodes of width 16: float32 and float16", folder / "a16.onnx", narrow
    many_base = save_model(folder, "many", many_carried_body())
    yield f"{CARRIED_COUNT} carried values: equal", many_base, save_model(folder, "same", many_carried_body())
    yield "one constant changed, late", many_base, save_model(folder, "other", many_carried_body(240))


def time_diff(left: Path, right: Path, rounds: int) -> list[float]:
    """Return the duration of the command in each round."""
    command = [sys.executable, "-P", "-m", "loopdbg", "diff", str(left), str(right)]
    durations = []
    for _ in range(rounds):
        start = time.perf_counter()
        process = subprocess.run(command, capture_output=True, text=True)
        durations.append(time.perf_counter() - start)
        if process.returncode not in (0, 6):
            sys.exit(f"{' '.join(command)}: {process.stderr}")
    return durations


def lines(quick: bool = False) -> Iterator[str]:
    """Yield the table, row by row."""
    yield f"Seconds of loopdbg diff, {ITERATION_COUNT} iterations: the median of the rounds, and the slowest."
    yield ROW.format("", "median", "slowest")
    with tempfile.TemporaryDirectory() as folder:
        for title, left, right in islice(model_pairs(Path(folder)), 2 if quick else None):
            durations = time_diff(left, right, 1 if quick else ROUNDS)
            yield ROW.format(title, f"{statistics.median(durations):.2f}", f"{max(durations):.2f}")
