"""What recurrent operators could take at best on this machine, and what they take: the roofline, with one thread.

python benchmarks/run.py --roofline                  recurrent layers by size
python benchmarks/run.py --roofline MODEL.onnx ...   the recurrent operators of models, such as those in build/real
python benchmarks/run.py --roofline MODEL.xml ...    those of IRs of 8 bits (roofline_int8.py)

The processor is measured first: how fast it reads weights that lie in each of its caches and in memory, by a product
with one row, and how many products it computes, by a product of square matrices; both by NumPy's BLAS. At best a layer
reads its weights once in each step and computes what it has to, whichever takes longer. All is processor time, the
least of the rounds, so that other programs on the machine matter less; they still take memory bandwidth.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import shape_inference

import recurrent_sizes

#: Sizes of weights, in KiB: from what a second-level cache holds to what only memory does.
WEIGHT_SIZES_KIB = (128, 512, 2048, 8192, 65536)
ROUNDS, SECONDS = 15, 0.02
ROW = "{:38}{:>9}{:>9}{:>10}{:>10}{:>10}"


def fastest_run(run: Callable[[], object]) -> float:
    """Seconds of a processor that one run takes, the least of some rounds."""
    run()
    started = time.process_time()
    run()
    repeats = max(1, int(SECONDS / max(time.process_time() - started, 1e-6)))
    taken = []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(repeats):
            run()
        taken.append((time.process_time() - started) / repeats)
    return min(taken)


@dataclass(frozen=True)
class MachineLimits:
    """``bandwidth``: KiB of weights -> bytes a second; ``flops``: additions and multiplications a second."""

    bandwidth: dict[int, float]
    flops: float

    def read_bandwidth(self, nbytes: int) -> float:
        """Bytes a second where so many are read again and again."""
        fitting = [self.bandwidth[size] for size in WEIGHT_SIZES_KIB if size * 1024 >= nbytes]
        return fitting[0] if fitting else self.bandwidth[WEIGHT_SIZES_KIB[-1]]


def measure_machine() -> MachineLimits:
    """This machine, in float32."""
    bandwidth = {}
    for size in WEIGHT_SIZES_KIB:
        rows = size * 1024 // 4 // 512
        weights, x = np.ones((512, rows), np.float32), np.ones(512, np.float32)
        bandwidth[size] = weights.nbytes / fastest_run(lambda x=x, weights=weights: x @ weights)
    a = np.ones((768, 768), np.float32)
    return MachineLimits(bandwidth, 2 * 768**3 / fastest_run(lambda: a @ a))


@dataclass(frozen=True)
class RecurrentWork:
    """What a model's recurrent operators have to do. ``read``: the bytes that each step of a layer reads, ``steps``: of
    each layer; ``flops`` of all."""

    bytes_read_per_step: Sequence[int]
    steps: Sequence[int]
    flops: float

    def min_seconds(self, machine: MachineLimits) -> tuple[float, float]:
        """At least so long for reading, and for computing."""
        reading = sum(
            n * count / machine.read_bandwidth(n) for n, count in zip(self.bytes_read_per_step, self.steps, strict=True)
        )
        return reading, self.flops / machine.flops


def recurrent_work(model: onnx.ModelProto) -> RecurrentWork:
    """The recurrent operators of the main graph; weights of a state are read in each step, those of the input once.

    Raises:
        ValueError: a shape is not known.
    """
    graph = shape_inference.infer_shapes(model, data_prop=True).graph
    known = (*graph.input, *graph.value_info)
    shapes = {one.name: [d.dim_value for d in one.type.tensor_type.shape.dim] for one in known}
    shapes |= {one.name: list(one.dims) for one in graph.initializer}
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
    """One layer of each operator, of some sizes."""
    for op_type, hidden, batch in ((o, h, b) for o in recurrent_sizes.GATES for h in (64, 256, 512) for b in (1, 8)):
        yield f"{op_type} {hidden}, batch {batch}, 100 steps", recurrent_sizes.model(op_type, hidden, batch, 100, 1)


def time_model(model: onnx.ModelProto) -> float:
    """What a run takes here."""
    import loopdbg

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        loaded = loopdbg.load(path)
    feeds = {
        port.name: np.zeros([n if isinstance(n, int) else 1 for n in port.type.shape], port.type.dtype)
        for port in loaded.inputs
    }
    return fastest_run(lambda: loaded.run(feeds))


def lines(given: Sequence[str]) -> Iterator[str]:
    """The machine, and each model beside what it could take."""
    machine = measure_machine()
    told = ", ".join(f"{size} KiB {speed / 1e9:.0f}" for size, speed in machine.bandwidth.items())
    yield f"weights read, GB/s: {told}; products: {machine.flops / 1e9:.0f} GFLOPS"
    yield "Microseconds: at least for reading and for computing, what a run takes, and the longer of both by that."
    yield ROW.format("", "reading", "computing", "at least", "run", "reached")
    graphs = [path for path in given if path.endswith(".xml")]
    if graphs:
        import roofline_int8

        fast = roofline_int8.measure_int8_limits()
        yield (
            f"8 bits: {fast.widened_per_second / 1e9:.0f} G weights/s made floats, {fast.ops_per_second / 1e9:.0f} "
            "GOPS multiplied as bytes"
        )
        for path in graphs:
            yield from roofline_int8.lines(Path(path), machine, fast)
    files = ((path, onnx.load(path)) for path in given if path not in graphs)
    for name, model in files if given else models():
        reading, computing = recurrent_work(model).min_seconds(machine)
        taken, bound = time_model(model), max(reading, computing)
        yield ROW.format(
            name[-37:], *(f"{one * 1e6:.0f}" for one in (reading, computing, bound, taken)), f"{bound / taken:.2f}"
        )
