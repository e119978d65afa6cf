"""A benchmark case: a model, its inputs, its number of iterations, and the ratio it must reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = dict[str, Array]
Outputs: TypeAlias = dict[str, Array]

# Every peer supports these.
OPSET = 18
IR_VERSION = 8


@dataclass(frozen=True)
class BenchmarkCase:
    """One loop that every runtime runs. Times are per iteration of the innermost loop."""

    name: str
    description: str
    iterations: int
    build: Callable[[], onnx.ModelProto]
    inputs: Callable[[], Inputs]
    #: Minimum speedup over the faster peer, headless; ``stepped_speedup_goal``: with a stop at every iteration.
    speedup_goal: float | None = None
    stepped_speedup_goal: float | None = None
    #: Tolerance of results. Peers may fuse a multiplication with an addition and sum in any order.
    rtol: float = 1e-4
    atol: float = 1e-5


def parse(text: str, weights: Mapping[str, Array] | None = None) -> onnx.ModelProto:
    """Return the model of a graph in ONNX's text form; ``weights`` become initializers of the main graph.

    Raises:
        onnx.parser.ParseError: the text is not a graph.
        onnx.checker.ValidationError: the graph is not a valid model.
    """
    header = f'<ir_version: {IR_VERSION}, opset_import: ["" : {OPSET}], producer_name: "loopdbg">\n'
    model = onnx.parser.parse_model(header + text)
    for name, array in (weights or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.checker.check_model(model)
    return model


def trip_count_inputs(count: int) -> dict[str, Array]:
    """Return trip count and condition as initializers: every runtime can know the length of the sequence."""
    return {"M": i64(count), "cond": np.array(True)}


def f32(value: object) -> Array:
    """Return a float32 array."""
    return np.array(value, np.float32)


def i64(value: object) -> Array:
    """Return an int64 array."""
    return np.array(value, np.int64)


def uniform(seed: int, *shape: int, low: float = -1.0, high: float = 1.0) -> NDArray[np.float32]:
    """Return uniform float32 numbers in [low, high), the same in every run."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def weight(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    """Return a weight matrix whose products preserve the magnitude of their operand."""
    limit = (3.0 / rows) ** 0.5
    return uniform(seed, rows, columns, low=-limit, high=limit)
