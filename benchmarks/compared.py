"""How long ``loopdbg diff`` takes: seconds of the command for two models, from its start to its end.

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

NODES, ITERATIONS, STATES = 500, 1000, 250
ROUNDS = 5
ROW = "{:52}{:>10}{:>10}"


@dataclass(frozen=True)
class Body:
    """What a loop computes: nodes, their weights, what is carried, and what becomes of it."""

    nodes: Sequence[onnx.NodeProto]
    weights: dict[str, np.ndarray]
    results: Sequence[str]
    width: int


def decoder(width: int, changed: int | None = None) -> Body:
    """Products and elementwise nodes over four carried values in turn; ``changed``: the node whose weight is another
    one."""
    nodes: list[onnx.NodeProto] = []
    weights: dict[str, np.ndarray] = {}
    values = [f"h{k}" for k in range(4)]
    for k in range(NODES - 1):
        op_type = ("MatMul", "Add", "Tanh", "Mul", "Sub", "Sigmoid")[k % 6]
        fed = [values[k % 4]]
        if op_type not in ("Tanh", "Sigmoid"):
            rows, spread = (width, width**-0.5) if op_type == "MatMul" else (1, 1.0)
            weights[f"w{k}"] = uniform(k, rows, width, low=-spread, high=spread) + 0.01 * (k == changed)
            fed.append(f"w{k}")
        nodes.append(helper.make_node(op_type, fed, [f"v{k}"]))
        values[k % 4] = f"v{k}"
    return Body(nodes, weights, values, width)


def states(changed: int | None = None) -> Body:
    """Many carried values, each with a weight of its own."""
    weights = {f"w{k}": uniform(k, 1, 16, low=0.9, high=1.1) + 0.01 * (k == changed) for k in range(STATES)}
    nodes = []
    for k in range(STATES):
        nodes.append(helper.make_node("Mul", [f"h{k}", f"w{k}"], [f"m{k}"]))
        nodes.append(helper.make_node("Tanh", [f"m{k}"], [f"t{k}"]))
    return Body(nodes, weights, [f"t{k}" for k in range(STATES)], 16)


def saved(folder: Path, name: str, body: Body, dtype: type = np.float32) -> Path:
    """A model with one loop."""
    kind, shape = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1, body.width]
    value, carried = helper.make_tensor_value_info, range(len(body.results))
    inside = helper.make_graph(
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
    first, last = ports[: len(carried)], ports[len(carried) :]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", *first], last, body=inside, name="decode")],
        "main",
        [value(port, kind, shape) for port in first],
        [value(port, kind, shape) for port in last],
        [numpy_helper.from_array(np.array(ITERATIONS), "n")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.save(model, folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def pairs(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """What is compared, in words, and the two files."""
    for width in (16, 256):
        one = saved(folder, f"a{width}", decoder(width))
        yield f"500 nodes of width {width}: equal", one, saved(folder, f"b{width}", decoder(width))
        yield "one constant changed, late", one, saved(folder, f"c{width}", decoder(width, 480))
    narrow = saved(folder, "half", decoder(16), np.float16)
    yield "500 nodes of width 16: float32 and float16", folder / "a16.onnx", narrow
    many = saved(folder, "many", states())
    yield f"{STATES} carried values: equal", many, saved(folder, "same", states())
    yield "one constant changed, late", many, saved(folder, "other", states(240))


def seconds(left: Path, right: Path, rounds: int) -> list[float]:
    """Of each round, what the command took."""
    command = [sys.executable, "-P", "-m", "loopdbg", "diff", str(left), str(right)]
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        taken.append(time.perf_counter() - start)
        if done.returncode not in (0, 6):
            sys.exit(f"{' '.join(command)}: {done.stderr}")
    return taken


def lines(quick: bool = False) -> Iterator[str]:
    """The table, row by row."""
    yield f"Seconds of loopdbg diff, {ITERATIONS} iterations: the median of the rounds, and the slowest."
    yield ROW.format("", "median", "slowest")
    with tempfile.TemporaryDirectory() as folder:
        for title, left, right in islice(pairs(Path(folder)), 2 if quick else None):
            taken = seconds(left, right, 1 if quick else ROUNDS)
            yield ROW.format(title, f"{statistics.median(taken):.2f}", f"{max(taken):.2f}")
