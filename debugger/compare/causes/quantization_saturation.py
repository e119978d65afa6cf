"""Where a quantised value leaves the range of its bytes, while two runs are compared.

A QuantizeLinear has its scale, and a FakeQuantize its ends, from a few inputs that were tried; what is beyond is cut
off. A DynamicQuantizeLinear fits its scale to what it is given, and cuts nothing off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.graph import Array, Graph, If, Loop, Node, Operation, Value, bodies
from ..report.findings import OutOfRangeResult, Saturation
from ..running.value_readers import ValueReader


class SaturationMonitor:
    """The nodes of one graph that quantise. ``side``: that of the model (0: the left one); ``early``: nodes that are
    none of an iteration's."""

    def __init__(self, graph: Graph, side: int, early: Collection[Node] = ()) -> None:
        self._nodes = [node for node in _quantizer_nodes(graph) if node not in early]
        self._saturations: dict[Node, Saturation] = {}
        self._side = side

    @classmethod
    def for_loop(cls, loop: Loop, side: int) -> SaturationMonitor:
        """Those of a loop's body."""
        return cls(loop.body, side, loop.body.nodes[: loop.condition_node_count or 0])

    @property
    def saturations(self) -> list[Saturation]:
        """What was found of each, in the order in which they run."""
        return [self._saturations[node] for node in self._nodes if node in self._saturations]

    def test_iteration(self, entry: tuple[int, ...], iteration: int | None, moment: ValueReader) -> None:
        """Test what an iteration quantised; None: the main graph."""
        for node in self._nodes:
            fed = [_read(moment, value) for value in node.inputs[:3]]
            made = None if node.outputs[0] is None else _read(moment, node.outputs[0])
            if fed[0] is None or made is None or not fed[0].size:
                continue
            held = _RANGE_BY_OPERATOR[node.op_type](node, fed, made)
            if held is not None:
                self._test_node(node, fed[0], held, entry, iteration)

    def _test_node(
        self, node: Operation, x: Array, held: _QuantizedRange, entry: tuple[int, ...], iteration: int | None
    ) -> None:
        with np.errstate(all="ignore"):
            # How much of the range on its own side of zero an element takes.
            part = np.nan_to_num(np.where(x < 0, x / held.low, x / held.high), nan=0.0, posinf=np.inf)
        found = self._saturations.get(node)
        if found is None:
            low, high = float(np.min(held.low)), float(np.max(held.high))
            found = Saturation(self._side, node.name, node.op_type, held.kind, low, high)
            self._saturations[node] = found
        most = int(np.argmax(part))
        if float(part.flat[most]) > found.range_fraction:
            found.range_fraction, found.largest, found.iteration = (
                float(part.flat[most]),
                float(x.flat[most]),
                iteration,
            )
        if found.first_saturated is None and held.is_saturated.any():
            count = int(np.count_nonzero(held.is_saturated))
            name = "" if node.outputs[0] is None else node.outputs[0].name
            found.first_saturated = OutOfRangeResult(node.name, name, node.op_type, entry, iteration, count, x.size)


@dataclass(frozen=True)
class _QuantizedRange:
    """What a node can give back: ``low`` to ``high``, in numbers of some ``kind``; which elements are ``beyond``."""

    low: Any
    high: Any
    kind: str
    is_saturated: Any


def _quantize_linear_range(node: Operation, fed: Sequence[Array | None], made: Array) -> _QuantizedRange | None:
    """Of a QuantizeLinear."""
    x, scale, *more = fed
    bounds = _integer_bounds(made.dtype)
    if bounds is None or x is None or scale is None:
        return None
    zero = more[0] if more and more[0] is not None else np.zeros((), made.dtype)
    steps = [_broadcast_parameter(one, x, int(node.attributes.get("axis", 1))) for one in (scale, zero)]
    with np.errstate(all="ignore"):
        low, high = ((bound - steps[1]) * steps[0] for bound in bounds)
        places = np.rint(x.astype(np.float64) / steps[0]) + steps[1]
    return _QuantizedRange(low, high, made.dtype.name, (places < bounds[0]) | (places > bounds[1]))


def _fake_quantize_range(node: Operation, fed: Sequence[Array | None], made: Array) -> _QuantizedRange | None:
    """Of a FakeQuantize, which says itself where it cuts off."""
    x, *ends = fed
    if x is None or len(ends) < 2 or ends[0] is None or ends[1] is None:
        return None
    low, high = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
    return _QuantizedRange(low, high, f"{node.attributes.get('levels')} levels", (x < low) | (x > high))


#: Operator -> what it holds.
_RANGE_BY_OPERATOR: Mapping[str, Callable[[Operation, Sequence[Array | None], Array], _QuantizedRange | None]] = {
    "QuantizeLinear": _quantize_linear_range,
    "FakeQuantize": _fake_quantize_range,
}


def _quantizer_nodes(graph: Graph) -> Iterator[Operation]:
    for node in graph.nodes:
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _quantizer_nodes(branch)
        elif isinstance(node, Operation) and node.op_type in _RANGE_BY_OPERATOR:
            yield node


def _read(moment: ValueReader, value: Value | None) -> Array | None:
    if value is None:
        return None
    there, data = (True, value.constant) if value.constant is not None else moment.read(value)
    return np.asarray(data) if there and not isinstance(data, list) else None


def _integer_bounds(dtype: np.dtype[Any]) -> tuple[float, float] | None:
    """The smallest and the largest number of a type of integers; None for floats of 8 bits."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return float(info.min), float(info.max)
    if dtype.kind == "V" and "int" in dtype.name:
        import ml_dtypes

        narrow: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return float(narrow.min), float(narrow.max)
    return None


def _broadcast_parameter(one: Array, x: Array, axis: int) -> Any:
    """A scale or a zero point for each element: it is one for all, one for each place on an axis, or one for each block
    of them."""
    one = one.astype(np.float64)
    if one.ndim == 0 or one.size == 1:
        return one.reshape(())
    if one.ndim == 1:
        return one.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    return np.repeat(one, -(-x.shape[axis] // one.shape[axis]), axis).take(range(x.shape[axis]), axis)
