"""Rooflines: the operations and bytes of nodes, and how fast this machine does the one and moves the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...runtime.graph import Operation

#: A tensor at run time: dtype and shape. None: it is unknown, or not a tensor.
Operand = tuple["np.dtype[Any]", tuple[int, ...]] | None

#: Sizes of weights, in KiB: from the size of a second-level cache to sizes beyond all caches.
WEIGHT_SIZES_KIB = (128, 512, 2048, 8192, 65536)
_ROUNDS, _SECONDS, _PRODUCT_SIZE = 60, 0.002, 384
_PRODUCTS = frozenset({"MatMul", "Gemm", "FullyConnected"})
_CONVOLUTIONS = frozenset({"Conv", "FusedConv", "Convolution", "GroupConvolution"})
#: Operators with one operation for each element of the result.
_ARITHMETIC = frozenset(
    {"Abs", "Add", "Div", "Divide", "Max", "Maximum", "Min", "Minimum", "Mul", "Multiply", "Neg", "Negative", "Relu",
     "Sub", "Subtract", "Sum"}
)  # fmt: skip
#: Operators whose operations have no number: what they compute for an element are several.
_FUNCTIONS = frozenset(
    {"Ceil", "Ceiling", "Clamp", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HSigmoid",
     "LeakyRelu", "Log", "Pow", "Power", "Reciprocal", "Round", "Select", "Selu", "Sigmoid", "Sign", "Sin", "Softplus",
     "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "Where"}
)  # fmt: skip


@dataclass(frozen=True)
class NodeWork:
    """What one call of a node does at least: ``flops``: additions and multiplications (None: they have no number);
    ``nbytes``: the bytes of its operands and results."""

    flops: float | None
    nbytes: float


@dataclass(frozen=True)
class NodeRoofline:
    """What a node reached, per second. ``share``: the time that its operations or bytes take at best on this machine,
    divided by its time."""

    flops: float | None
    nbytes: float
    share: float


@dataclass(frozen=True)
class MachineLimits:
    """What this machine reaches, in float32. ``bandwidth``: KiB of weights -> bytes per second; ``flops``: additions
    and multiplications per second."""

    bandwidth: Mapping[int, float]
    flops: float

    def read_bandwidth(self, nbytes: float) -> float:
        """Bytes per second for repeated reads of ``nbytes`` bytes."""
        fitting = [self.bandwidth[size] for size in WEIGHT_SIZES_KIB if size * 1024 >= nbytes]
        return fitting[0] if fitting else self.bandwidth[WEIGHT_SIZES_KIB[-1]]

    def min_seconds(self, work: NodeWork) -> float:
        """The time of such a call at best: that of its arithmetic or of its bytes, whichever is longer."""
        return max((work.flops or 0.0) / self.flops, work.nbytes / self.read_bandwidth(work.nbytes))

    def compare(self, work: NodeWork, seconds: float) -> NodeRoofline:
        """What a call of ``seconds`` reached."""
        flops = None if work.flops is None else work.flops / seconds
        return NodeRoofline(flops, work.nbytes / seconds, self.min_seconds(work) / seconds)


def fastest_run_seconds(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of one run, the minimum of some rounds. ``clock``: CPU time by default."""
    run()
    started = clock()
    run()
    repeats = max(1, int(_SECONDS / max(clock() - started, 1e-6)))
    durations = []
    for _ in range(_ROUNDS):
        started = clock()
        for _ in range(repeats):
            run()
        durations.append((clock() - started) / repeats)
    return min(durations)


def measure_machine(clock: Callable[[], float] = time.process_time) -> MachineLimits:
    """Measure this machine in about a second: products with one row, which read weights once, and of square
    matrices, both by NumPy's BLAS."""
    bandwidth = {}
    for size in WEIGHT_SIZES_KIB:
        rows = size * 1024 // 4 // 512
        weights, x = np.ones((512, rows), np.float32), np.ones(512, np.float32)
        bandwidth[size] = weights.nbytes / fastest_run_seconds(lambda x=x, weights=weights: x @ weights, clock)  # type: ignore[misc]
    a = np.ones((_PRODUCT_SIZE, _PRODUCT_SIZE), np.float32)
    return MachineLimits(bandwidth, 2 * _PRODUCT_SIZE**3 / fastest_run_seconds(lambda: a @ a, clock))


def node_work(node: Operation, inputs: Sequence[Operand], outputs: Sequence[Operand]) -> NodeWork | None:
    """What a call of a node does; None: it is not known."""
    result = outputs[0] if outputs else None
    if result is None or None in outputs:
        return None
    flops = _flops(node, inputs, result)
    if flops is None and node.op_type not in _FUNCTIONS:
        return None
    return NodeWork(flops, sum(map(_nbytes, [*inputs, *outputs])))


def group_work(works: Sequence[NodeWork | None], operands: Collection[Operand]) -> NodeWork | None:
    """What a call of nodes that run together does. ``operands``: what they read and write in memory, and not only
    between them."""
    known = [work for work in works if work is not None]
    if not known or None in operands:
        return None
    return NodeWork(sum(work.flops or 0.0 for work in known) or None, sum(map(_nbytes, operands)))


def _nbytes(operand: Operand) -> int:
    return 0 if operand is None else operand[0].itemsize * prod(operand[1])


def _flops(node: Operation, inputs: Sequence[Operand], result: tuple[np.dtype[Any], tuple[int, ...]]) -> float | None:
    dtype, shape = result
    if dtype != np.float32 or not inputs or inputs[0] is None:
        return None
    if node.op_type in _ARITHMETIC:
        return float(prod(shape))
    if node.op_type in _PRODUCTS:
        left = inputs[0][1]
        is_transposed = str(node.attributes.get("transA", node.attributes.get("transpose_a", "0"))).lower() in (
            "1",
            "true",
        )
        return 2.0 * prod(shape) * left[-2 if is_transposed and len(left) > 1 else -1] if left else None
    weights = inputs[1] if len(inputs) > 1 else None
    if node.op_type in _CONVOLUTIONS and weights is not None and len(shape) > 1 and shape[1]:
        return 2.0 * prod(shape) * prod(weights[1]) / shape[1]
    return None
