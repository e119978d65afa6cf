"""Roofline of recurrent operators on this machine: the minimum and the actual time, with one thread.

python benchmarks/run.py --roofline                  recurrent layers by size
python benchmarks/run.py --roofline MODEL.onnx ...   the recurrent operators of models, such as those in build/real
python benchmarks/run.py --roofline MODEL.xml ...    those of 8-bit IRs (roofline_int8.py)

The processor is measured first: the read bandwidth of weights in each cache and in memory, by a product with one row,
and its arithmetic throughput, by a product of square matrices; both with NumPy's BLAS. The minimum time of a layer is
that for reading its weights once per step or for its arithmetic, whichever is longer. All times are CPU time, the
minimum of the rounds, so that other programs matter less; they still use memory bandwidth.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import shape_inference

import recurrent_sizes
from loopdbg.debugger.profiling.roofline import MachineLimits, fastest_run_seconds, measure_machine

ROW = "{:38}{:>9}{:>9}{:>10}{:>10}{:>10}"


@dataclass(frozen=True)
class RecurrentWork:
    """The work of a model's recurrent operators. ``bytes_read_per_step`` of each layer, ``steps`` of each layer; total
    ``flops``."""

    bytes_read_per_step: Sequence[int]
    steps: Sequence[int]
    flops: float

    def min_seconds(self, machine: MachineLimits) -> tuple[float, float]:
        """The minimum seconds for reading and for arithmetic."""
        reading = sum(
            n * count / machine.read_bandwidth(n) for n, count in zip(self.bytes_read_per_step, self.steps, strict=True)
        )
        return reading, self.flops / machine.flops


def recurrent_work(model: onnx.ModelProto) -> RecurrentWork:
    """Return the work of the main graph; weights of a state are read in each step, those of the input once.

    Raises:
        ValueError: an unknown shape.
    """
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    typed_values = (*graph.input, *graph.value_info)
    shapes = {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in typed_values}
    shapes |= {value.name: list(value.dims) for value in graph.initializer}
    read: list[int] = []
    steps: list[int] = []
    flops = 0.0
    for node in graph.node:
        if node.op_type not in recurrent_sizes.GATES:
            continue
        x, w, r = (shapes.get(name, []) for name in node.input[:3])
        if not all(len(shape) == 3 and all(shape) for shape in (x, w, r)):
            raise ValueError(f"{node.name}: the shapes of {', '.join(node.input[:3])} are not known")
        (length, batch, _), directions = x, r[0]
        read += [4 * math.prod(r[1:])] * directions
        steps += [length] * directions
        flops += 2.0 * length * batch * (math.prod(w) + math.prod(r))
    return RecurrentWork(read, steps, flops)


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield one layer of each operator, in some sizes."""
    for op_type, hidden, batch in ((o, h, b) for o in recurrent_sizes.GATES for h in (64, 256, 512) for b in (1, 8)):
        yield f"{op_type} {hidden}, batch {batch}, 100 steps", recurrent_sizes.model(op_type, hidden, batch, 100, 1)


def time_model(model: onnx.ModelProto) -> float:
    """Return the seconds of a run."""
    import loopdbg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        loaded = loopdbg.load(path)
    feeds = {
        port.name: np.zeros([n if isinstance(n, int) else 1 for n in port.type.shape], port.type.dtype)
        for port in loaded.inputs
    }
    return fastest_run_seconds(lambda: loaded.run(feeds))


def lines(paths: Sequence[str]) -> Iterator[str]:
    """Yield the machine, and each model with its minimum time."""
    machine = measure_machine()
    bandwidths = ", ".join(f"{size} KiB {speed / 1e9:.0f}" for size, speed in machine.bandwidth.items())
    yield f"weights read, GB/s: {bandwidths}; products: {machine.flops / 1e9:.0f} GFLOPS"
    yield "Microseconds: at least for reading and for computing, what a run takes, and the longer of both by that."
    yield ROW.format("", "reading", "computing", "at least", "run", "reached")
    graphs = [path for path in paths if path.endswith(".xml")]
    if graphs:
        import roofline_int8

        fast = roofline_int8.measure_int8_limits()
        yield (
            f"8 bits: {fast.widened_per_second / 1e9:.0f} G weights/s made floats, {fast.ops_per_second / 1e9:.0f} "
            "GOPS multiplied as bytes"
        )
        for path in graphs:
            yield from roofline_int8.lines(Path(path), machine, fast)
    files = ((path, onnx.load(path)) for path in paths if path not in graphs)
    for name, model in files if paths else models():
        reading, computing = recurrent_work(model).min_seconds(machine)
        seconds, bound = time_model(model), max(reading, computing)
        yield ROW.format(
            name[-37:], *(f"{x * 1e6:.0f}" for x in (reading, computing, bound, seconds)), f"{bound / seconds:.2f}"
        )
