"""How far what a body computes in a narrow type reaches into it: node by node, while two runs are compared.

What loops carry does not tell all: an infinity between two nodes is gone behind a Tanh, and a value that comes near to
the largest of its type may never be carried. So on the side of the narrower floats the results of all nodes are looked
at in every iteration, in the order in which they were computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ....runtime.graph import Array, Graph, If, Loop, Node, Value, bodies
from ..align.correspondence import Correspondence
from ..align.loop_ports import LoopAlignment
from ..report.findings import BodyHeadroom, OutOfRangeResult
from ..running.value_comparison import dtype_kind
from ..running.value_readers import ValueReader
from .narrow_types import dtype_by_name, largest_finite, one_sided_nonfinite

#: Results that are tested: reading one takes some microseconds.
_MAX_TESTED_RESULTS = 2_000_000


@dataclass(frozen=True)
class _MonitoredResult:
    """A node's result on the narrow side, and what it is on the other one."""

    node: Node
    value: Value
    counterpart: Value | None


class RangeMonitor:
    """The results of one loop's body that are of the type ``dtype``, on the side that has it."""

    def __init__(self, alignment: Correspondence, ports: LoopAlignment, side: int, dtype: str) -> None:
        loop = (ports.left, ports.right)[side]
        # What a condition that is asked before an iteration needs is the next one's by then.
        early = set(loop.body.nodes[: loop.condition_node_count or 0])
        self._results = [one for one in _results(alignment, loop.body, side) if one.node not in early]
        main = (alignment.left, alignment.right)[side].graph
        #: What an infinity can come in with; only what runs before the loop has a value by then.
        self._main_graph_results = list(_results(alignment, main, side)) if loop in main.nodes else []
        self._read_count = 0
        self._dtype = dtype_by_name(dtype)
        self.headroom = BodyHeadroom(side, dtype, largest_finite(dtype))

    def test_iteration(self, entry: tuple[int, ...], iteration: int, left: ValueReader, right: ValueReader) -> None:
        """Test what both sides computed in an iteration."""
        reach = self.headroom
        if self._read_count >= _MAX_TESTED_RESULTS:
            reach.untested_from_iteration = (
                iteration if reach.untested_from_iteration is None else reach.untested_from_iteration
            )
            return
        narrow, wide = (left, right) if reach.side == 0 else (right, left)
        for result in self._main_graph_results:
            self._test_result(result, entry, None, narrow, wide)
        self._main_graph_results = []
        for result in self._results:
            self._test_result(result, entry, iteration, narrow, wide)

    def _test_result(
        self,
        result: _MonitoredResult,
        entry: tuple[int, ...],
        iteration: int | None,
        narrow: ValueReader,
        wide: ValueReader,
    ) -> None:
        there, data = narrow.read(result.value)
        if not there or not isinstance(data, np.ndarray) or data.dtype != self._dtype or not data.size:
            return
        self._read_count += 1
        if not self._measure(iteration, result.node, data) and self.headroom.first_nonfinite is None:
            self.headroom.first_nonfinite = _one_sided_nonfinite(entry, iteration, result, data, narrow, wide)

    def _measure(self, iteration: int | None, node: Node, data: Array) -> bool:
        """Take note of the largest magnitude; whether all elements are finite."""
        magnitudes = np.abs(data)
        top = float(magnitudes.max())
        whole = math.isfinite(top)
        if not whole:
            finite = magnitudes[np.isfinite(magnitudes.astype(np.float64))]
            top = float(finite.max()) if finite.size else 0.0
        reach = self.headroom
        if top > reach.largest:
            reach.largest, reach.iteration, reach.op_type, reach.node = top, iteration, node.op_type, node.name
        return whole


def _one_sided_nonfinite(
    entry: tuple[int, ...],
    iteration: int | None,
    result: _MonitoredResult,
    data: Array,
    narrow: ValueReader,
    wide: ValueReader,
) -> OutOfRangeResult | None:
    """What of a result is not finite on this side alone. Where the other side has no such result, it is what a node
    makes of finite numbers."""
    there, other = (False, None) if result.counterpart is None else wide.read(result.counterpart)
    if there and isinstance(other, np.ndarray) and other.size == data.size:
        count = int(np.count_nonzero(one_sided_nonfinite(data, other)))
    elif _inputs_finite(result.node, narrow):
        count = int(np.count_nonzero(~np.isfinite(data.astype(np.float64))))
    else:
        count = 0
    if not count:
        return None
    node = result.node
    return OutOfRangeResult(node.name, result.value.name, node.op_type, entry, iteration, count, data.size)


def _results(alignment: Correspondence, graph: Graph, side: int) -> Iterator[_MonitoredResult]:
    """Of the nodes of a body, those in branches included; a loop inside is a pair of its own."""
    for node in graph.nodes:
        if isinstance(node, If):
            for _, branch in bodies(node):
                yield from _results(alignment, branch, side)
        elif not isinstance(node, Loop):
            yield from (
                _MonitoredResult(node, v, alignment.counterpart(side, v)) for v in node.outputs if v is not None
            )


def _inputs_finite(node: Node, moment: ValueReader) -> bool:
    """Whether all numbers that a node is fed are known and finite."""
    for value in (value for value in node.inputs if value is not None):
        there, data = (True, value.constant) if value.constant is not None else moment.read(value)
        if not there or not isinstance(data, np.ndarray):
            return False
        if dtype_kind(data.dtype) == "f" and not np.isfinite(data.astype(np.float64)).all():
            return False
    return True
