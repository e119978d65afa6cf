"""Detects saturation of quantised values while two runs are compared.

The scale of a QuantizeLinear and the limits of a FakeQuantize come from calibration; values beyond are clipped. A
DynamicQuantizeLinear adapts its scale to the input and clips nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.graph import Array, Graph, Loop, Node, Operation, Value, own_nodes
from ..report.findings import OutOfRangeResult, Saturation
from ..running.value_readers import ValueReader


class SaturationMonitor:
    """Monitors the quantising nodes of one graph. ``side``: that of the model (0: left); ``early``: nodes that do not
    belong to an iteration."""

    def __init__(self, graph: Graph, side: int, early: Collection[Node] = ()) -> None:
        nodes = [node for node in own_nodes(graph) if isinstance(node, Operation) and node not in early]
        self._nodes = [node for node in nodes if node.op_type in _RANGE_BY_OPERATOR]
        self._saturations: dict[Node, Saturation] = {}
        self._side = side

    @classmethod
    def for_loop(cls, loop: Loop, side: int) -> SaturationMonitor:
        """The monitor of a loop's body."""
        return cls(loop.body, side, loop.body.nodes[: loop.condition_node_count or 0])

    @property
    def saturations(self) -> list[Saturation]:
        """The saturation of each node, in execution order."""
        return [self._saturations[node] for node in self._nodes if node in self._saturations]

    def check_iteration(
        self, entry: tuple[int, ...], iteration: int | None, readers: Sequence[ValueReader | None]
    ) -> None:
        """Test the quantised values of an iteration; None: of the main graph. ``readers``: of both sides."""
        reader = readers[self._side]
        if reader is None:
            return
        for node in self._nodes:
            inputs = [_read_array(reader, value) for value in node.inputs[:3]]
            output = None if node.outputs[0] is None else _read_array(reader, node.outputs[0])
            if inputs[0] is None or output is None or not inputs[0].size:
                continue
            limits = _RANGE_BY_OPERATOR[node.op_type](node, inputs, output)
            if limits is not None:
                self._record_saturation(node, inputs[0], limits, entry, iteration)

    def _record_saturation(
        self, node: Operation, x: Array, limits: _QuantizedRange, entry: tuple[int, ...], iteration: int | None
    ) -> None:
        with np.errstate(all="ignore"):
            # The fraction of the range on its side of zero that an element takes.
            fraction = np.nan_to_num(np.where(x < 0, x / limits.low, x / limits.high), nan=0.0, posinf=np.inf)
        stats = self._saturations.get(node)
        if stats is None:
            low, high = float(np.min(limits.low)), float(np.max(limits.high))
            stats = Saturation(self._side, node.name, node.op_type, limits.kind, low, high)
            self._saturations[node] = stats
        index = int(np.argmax(fraction))
        if float(fraction.flat[index]) > stats.range_fraction:
            stats.range_fraction, stats.largest, stats.iteration = (
                float(fraction.flat[index]),
                float(x.flat[index]),
                iteration,
            )
        if stats.first_saturated is None and limits.is_saturated.any():
            count = int(np.count_nonzero(limits.is_saturated))
            name = "" if node.outputs[0] is None else node.outputs[0].name
            stats.first_saturated = OutOfRangeResult(node.name, name, node.op_type, entry, iteration, count, x.size)


@dataclass(frozen=True)
class _QuantizedRange:
    """The range of a node's results: ``low`` to ``high``, in numbers of a ``kind``; ``is_saturated``: mask."""

    low: Any
    high: Any
    kind: str
    is_saturated: Any


def _quantize_linear_range(node: Operation, inputs: Sequence[Array | None], output: Array) -> _QuantizedRange | None:
    """The range of a QuantizeLinear."""
    x, scale, *optional = inputs
    bounds = _integer_bounds(output.dtype)
    if bounds is None or x is None or scale is None:
        return None
    offset = optional[0] if optional and optional[0] is not None else np.zeros((), output.dtype)
    steps = [_broadcast_parameter(p, x, int(node.attributes.get("axis", 1))) for p in (scale, offset)]
    with np.errstate(all="ignore"):
        low, high = ((bound - steps[1]) * steps[0] for bound in bounds)
        quantized = np.rint(x.astype(np.float64) / steps[0]) + steps[1]
    return _QuantizedRange(low, high, output.dtype.name, (quantized < bounds[0]) | (quantized > bounds[1]))


def _fake_quantize_range(node: Operation, inputs: Sequence[Array | None], output: Array) -> _QuantizedRange | None:
    """The range of a FakeQuantize, which specifies its limits."""
    x, *limits = inputs
    if x is None or len(limits) < 2 or limits[0] is None or limits[1] is None:
        return None
    low, high = np.minimum(limits[0], limits[1]), np.maximum(limits[0], limits[1])
    return _QuantizedRange(low, high, f"{node.attributes.get('levels')} levels", (x < low) | (x > high))


#: Operator -> its range function.
_RANGE_BY_OPERATOR: Mapping[str, Callable[[Operation, Sequence[Array | None], Array], _QuantizedRange | None]] = {
    "QuantizeLinear": _quantize_linear_range,
    "FakeQuantize": _fake_quantize_range,
}


def _read_array(reader: ValueReader, value: Value | None) -> Array | None:
    if value is None:
        return None
    is_known, data = (True, value.constant) if value.constant is not None else reader.read(value)
    return np.asarray(data) if is_known and not isinstance(data, list) else None


def _integer_bounds(dtype: np.dtype[Any]) -> tuple[float, float] | None:
    """The smallest and the largest number of an integer type; None for 8-bit floats."""
    if "int" not in dtype.name:
        return None
    import ml_dtypes

    info: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return float(info.min), float(info.max)


def _broadcast_parameter(parameter: Array, x: Array, axis: int) -> Any:
    """Broadcast a scale or a zero point to the elements: a scalar, one value per index of an axis, or one per block of
    indices."""
    parameter = parameter.astype(np.float64)
    if parameter.ndim == 0 or parameter.size == 1:
        return parameter.reshape(())
    if parameter.ndim == 1:
        return parameter.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    return np.repeat(parameter, -(-x.shape[axis] // parameter.shape[axis]), axis).take(range(x.shape[axis]), axis)
