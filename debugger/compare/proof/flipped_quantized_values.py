"""Finds the first quantised value that rounds to a neighbouring step in one of two runs that differ by rounding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeGuard

import numpy as np

from ....runtime.graph import MAIN, Array, Graph, Loop, Node, Operation, Value, own_nodes, walk
from ..report.findings import TippedValue
from ..running.sides import ModelSide
from ..running.value_comparison import Tolerance, compare, dtype_kind
from ..running.value_readers import ValueReader

#: Operators whose results are whole numbers of steps; a Cast is one if it goes from floats to integers.
_QUANTIZERS = frozenset(
    ("Cast", "Ceil", "Ceiling", "Convert", "DynamicQuantizeLinear", "FakeQuantize", "Floor", "QuantizeLinear", "Round")
)
#: Inputs of a quantiser that differ within this tolerance differ by rounding.
_ROUNDING = Tolerance()


@dataclass
class TippedValueSearch:
    """Runs two sides in step. ``twins``: left -> right values that correspond, None if both run one model; ``paths``:
    the paths of the right side's loops, by those of the left one, if they differ."""

    left: ModelSide
    right: ModelSide
    twins: Mapping[Value, Value] | None = None
    paths: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        left = self.left.model
        self._sides = self.left, self.right
        self._graphs = {MAIN: left.graph, **{plan.path: plan.loop.body for plan in left.plan.loops}}
        self._by_graph = {
            path: [node for node in own_nodes(graph) if _is_quantizer(node)] for path, graph in self._graphs.items()
        }

    def find(self) -> TippedValue | None:
        """The first one in execution order; None if there is none, or the runs do not have the same boundaries."""
        if not any(self._by_graph.values()):
            return None
        for side, paths in zip(self._sides, (self._graphs, map(self._right_path, self._graphs)), strict=True):
            side.watch(set(paths))
        early = None
        for a, b in zip_longest(self._sides[0].boundaries(), self._sides[1].boundaries()):
            if a is None or b is None:
                break
            if (self._right_path(a.loop), a.entry, a.iteration) != (b.loop, b.entry, b.iteration):
                break
            readers = [side.reader_at_boundary() for side in self._sides]
            if a.iteration and readers[0] is not None and readers[1] is not None:
                early = self._find_tipped_node(a.loop, a.entry, a.iteration - 1, readers[0], readers[1])
                if early is not None:
                    break
        else:
            readers = [side.final_reader for side in self._sides]
            if readers[0] is not None and readers[1] is not None:
                return self._find_tipped_node(MAIN, (), None, readers[0], readers[1])
        return early

    def _right_path(self, path: str) -> str:
        return self.paths.get(path, path)

    def _find_tipped_node(
        self, path: str, entry: tuple[int, ...], iteration: int | None, left: ValueReader, right: ValueReader
    ) -> TippedValue | None:
        """The first node of a graph whose results differ by a step, and its inputs by rounding."""
        for node in self._by_graph.get(path, ()):
            value, source = node.outputs[0], node.inputs[0]
            if value is None or source is None:
                continue
            results, operands = self._read_value_pair(value, left, right), self._read_value_pair(source, left, right)
            if results is None or operands is None or results[0].shape != results[1].shape:
                continue
            if dtype_kind(operands[0].dtype) != "f" or compare(*operands, _ROUNDING).kind:
                continue
            count = _count_tipped_elements(node, *results)
            if count:
                source_node = self._source_node(path, node)
                return TippedValue(path, entry, iteration, source_node.name, source_node.op_type, value.name, count)
        return None

    def _read_value_pair(self, value: Value, left: ValueReader, right: ValueReader) -> tuple[Array, Array] | None:
        twin = value if self.twins is None else self.twins.get(value)
        if twin is None:
            return None
        data = []
        for reader, item in ((left, value), (right, twin)):
            is_known, array = (True, item.constant) if item.constant is not None else reader.read(item)
            if not is_known or array is None or isinstance(array, list):
                return None
            data.append(np.asarray(array))
        return data[0], data[1]

    def _source_node(self, path: str, node: Node) -> Node:
        """The node of the file: an operator that was expanded to this one, or to the loop around it."""
        graph = self._graphs[path]
        if node in graph.expanded_from:
            return graph.expanded_from[node]
        for outer in self._graphs.values():
            for loop in outer.nodes:
                if isinstance(loop, Loop) and loop.body is graph and loop in outer.expanded_from:
                    return outer.expanded_from[loop]
        return node


def has_quantizers(graph: Graph) -> bool:
    """Whether a graph, or one inside it, has values that are whole numbers of steps."""
    return any(map(_is_quantizer, walk(graph)))


def _count_tipped_elements(node: Operation, left: Any, right: Any) -> int:
    """How many elements differ, if each does by one step; 0 otherwise."""
    distance = np.abs(left.astype(np.float64) - right.astype(np.float64))
    differing = distance[distance > 0]
    if not differing.size:
        return 0
    step = differing.min() if node.op_type == "FakeQuantize" else 1.0
    return int(differing.size) if bool((differing <= step * 1.5).all()) else 0


def _is_quantizer(node: Node) -> TypeGuard[Operation]:
    return isinstance(node, Operation) and node.op_type in _QUANTIZERS and not node.is_custom_operator
