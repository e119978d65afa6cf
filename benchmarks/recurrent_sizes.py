"""Recurrent operators by size: LSTM, GRU and RNN of ONNX in loopdbg and its peers, microseconds per step.

python benchmarks/run.py --recurrent           hidden 64 to 1024, batch 1, 8 and 32, 100 and 1 000 steps
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from functools import partial
from itertools import product

import onnx
from onnx import TensorProto, helper, numpy_helper

from case import IR_VERSION, OPSET, BenchmarkCase, Inputs, uniform
from measure import MeasuringEffort, measure
from report_schema import speedup_over_peers
from runners import PEERS

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
HIDDEN_SIZES = (64, 128, 256, 512, 1024)
BATCH_SIZES = (1, 8, 32)
STEP_COUNTS = (100, 1000)
#: Above this number of multiplications per run only the shorter sequence is measured.
MAX_FLOPS = 2e10
RUNNERS = ("loopdbg", *PEERS)
ROW = "{:6}{:>8}{:>7}{:>7}{:>12}{:>10}{:>14}{:>10}{:>8}"


def model(op_type: str, hidden: int, batch: int, steps: int, directions: int) -> onnx.ModelProto:
    """Return one layer with an input as wide as its state; all outputs are read."""
    rows, spread = GATES[op_type] * hidden, (1.0 / hidden) ** 0.5
    weights = {
        "W": uniform(1, directions, rows, hidden, low=-spread, high=spread),
        "R": uniform(2, directions, rows, hidden, low=-spread, high=spread),
        "B": uniform(3, directions, 2 * rows, low=-spread, high=spread),
    }
    outputs = ["Y", "Y_h", "Y_c"] if op_type == "LSTM" else ["Y", "Y_h"]
    attributes = {"linear_before_reset": 1} if op_type == "GRU" else {}
    node = helper.make_node(
        op_type,
        ["X", *weights],
        outputs,
        hidden_size=hidden,
        direction="bidirectional" if directions == 2 else "forward",
        **attributes,
    )
    value, number, last = helper.make_tensor_value_info, TensorProto.FLOAT, [directions, batch, hidden]
    graph = helper.make_graph(
        [node],
        op_type.lower(),
        [value("X", number, [steps, batch, hidden])],
        [value(name, number, [steps, *last] if name == "Y" else last) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def inputs(hidden: int, batch: int, steps: int) -> Inputs:
    return {"X": uniform(4, steps, batch, hidden)}


def cases(quick: bool) -> Iterator[tuple[tuple[str, int, int, int, int], BenchmarkCase]]:
    """Yield forward layers, and one size in both directions."""
    forward = product(
        GATES,
        HIDDEN_SIZES[::2] if quick else HIDDEN_SIZES,
        BATCH_SIZES,
        STEP_COUNTS[:1] if quick else STEP_COUNTS,
        (1,),
    )
    for size in [*forward, *product(GATES, (256,), BATCH_SIZES, STEP_COUNTS[:1], (2,))]:
        op_type, hidden, batch, steps, directions = size
        if steps > STEP_COUNTS[0] and 2 * GATES[op_type] * hidden**2 * batch * steps > MAX_FLOPS:
            continue
        build = partial(model, op_type, hidden, batch, steps, directions)
        name = f"{op_type.lower()}_{hidden}"
        yield (
            size,
            BenchmarkCase(name, "one layer", steps, build, partial(inputs, hidden, batch, steps), rtol=1e-3, atol=1e-4),
        )


def lines(quick: bool = False, threads: int | None = 1) -> Iterator[str]:
    """Yield the table, row by row."""
    yield "Recurrent operators, us a step: the median. ratio: the faster peer's time by that of loopdbg."
    yield ROW.format("", "hidden", "batch", "steps", "directions", "loopdbg", "ONNX Runtime", "OpenVINO", "ratio")
    ratios = []
    for (op_type, hidden, batch, steps, directions), case in cases(quick):
        times, failed = measure(case, threads, MeasuringEffort(1.0, 3, 9), RUNNERS)
        cells = [f"{times[key]['median_us']:.3g}" if key in times else "–" for key in RUNNERS]
        speedup = speedup_over_peers(times, "loopdbg")
        ratios += [] if speedup is None else [speedup]
        text = "–" if speedup is None else f"{speedup:.2f}"
        row = ROW.format(op_type, hidden, batch, steps, directions, *cells, text)
        yield row + "".join(f"  {key}: {reason}" for key, reason in failed.items())
    if ratios:
        mean, fast = statistics.geometric_mean(ratios), sum(r >= 1 for r in ratios)
        yield f"geometric mean {mean:.2f}; {fast} of {len(ratios)} at least 1"
