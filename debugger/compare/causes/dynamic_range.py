"""Monitors the dynamic range of a body's results in a narrow type, node by node, while two runs are compared.

Carried values do not suffice: an infinity between two nodes vanishes in a Tanh, and a value close to the maximum of its
type may never be carried. So all node results on the side with the narrower floats are checked in every iteration, in
execution order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....runtime.graph import Array, Graph, If, Loop, Node, Value, own_nodes
from ..alignment.model_alignment import AlignedModels
from ..alignment.port_alignment import LoopAlignment
from ..report.findings import BodyHeadroom, OutOfRangeResult
from ..running.value_readers import ValueReader
from .narrow_type_headroom import dtype_by_name, largest_finite_number, one_sided_nonfinite_mask

#: Limit of tested results; reading one takes some microseconds.
_MAX_TESTED_RESULTS = 2_000_000


@dataclass(frozen=True)
class _MonitoredResult:
    """A node result on the narrow side, with its counterpart on the other side."""

    node: Node
    value: Value
    counterpart: Value | None


class RangeMonitor:
    """Monitors one loop's results of type ``dtype`` on the side with that type."""

    def __init__(self, alignment: AlignedModels, ports: LoopAlignment, side: int, dtype: str) -> None:
        loop = (ports.left, ports.right)[side]
        # Nodes of a condition evaluated before an iteration already hold the next iteration's values.
        early = set(loop.body.nodes[: loop.condition_node_count or 0])
        self._monitored_results = [
            result for result in _monitored_results(alignment, loop.body, side) if result.node not in early
        ]
        main_graph = alignment.pairs.sides[side].graph
        #: Possible sources of infinities; only values computed before the loop are available.
        self._main_graph_results = (
            list(_monitored_results(alignment, main_graph, side)) if loop in main_graph.nodes else []
        )
        self._read_count = 0
        self._dtype = dtype_by_name(dtype)
        self.headroom = BodyHeadroom(side, dtype, largest_finite_number(dtype))

    def check_iteration(self, entry: tuple[int, ...], iteration: int, readers: Sequence[ValueReader | None]) -> None:
        """Test the results of an iteration. ``readers``: of both sides."""
        headroom = self.headroom
        narrow, broad = readers[headroom.side], readers[1 - headroom.side]
        if narrow is None or broad is None:
            return
        if self._read_count >= _MAX_TESTED_RESULTS:
            if headroom.untested_from_iteration is None:
                headroom.untested_from_iteration = iteration
            return
        for result in self._main_graph_results:
            self._check_result_range(result, entry, None, narrow, broad)
        self._main_graph_results = []
        for result in self._monitored_results:
            self._check_result_range(result, entry, iteration, narrow, broad)

    def _check_result_range(
        self,
        result: _MonitoredResult,
        entry: tuple[int, ...],
        iteration: int | None,
        narrow: ValueReader,
        broad: ValueReader,
    ) -> None:
        is_known, data = narrow.read(result.value)
        if not is_known or not isinstance(data, np.ndarray) or data.dtype != self._dtype or not data.size:
            return
        self._read_count += 1
        if self._record_magnitude(iteration, result.node, data) or self.headroom.first_nonfinite is not None:
            return
        is_known, other = (False, None) if result.counterpart is None else broad.read(result.counterpart)
        if is_known and isinstance(other, np.ndarray) and other.size == data.size:
            count = int(np.count_nonzero(one_sided_nonfinite_mask(data, other)))
            if count:
                self.headroom.first_nonfinite = OutOfRangeResult(
                    result.node.name, result.value.name, result.node.op_type, entry, iteration, count, data.size
                )

    def _record_magnitude(self, iteration: int | None, node: Node, data: Array) -> bool:
        """Record the largest magnitude; returns whether all elements are finite."""
        magnitudes = np.abs(data)
        peak = float(magnitudes.max())
        is_finite = math.isfinite(peak)
        if not is_finite:
            finite = magnitudes[np.isfinite(magnitudes.astype(np.float64))]
            peak = float(finite.max()) if finite.size else 0.0
        record = self.headroom
        if peak > record.largest:
            record.largest, record.iteration, record.op_type, record.node = peak, iteration, node.op_type, node.name
        return is_finite


def _monitored_results(alignment: AlignedModels, graph: Graph, side: int) -> Iterator[_MonitoredResult]:
    """Node results of a body including its branches; nested loops are separate pairs."""
    for node in own_nodes(graph):
        if not isinstance(node, If | Loop):
            yield from (
                _MonitoredResult(node, v, alignment.counterpart(side, v)) for v in node.outputs if v is not None
            )
