"""Integers used as indices: tokens, results of ArgMax or TopK, indices of a Gather. Their magnitude is meaningless, so
that plots do not show it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .loop_graph import If, Loop, Node, TensorType, Value, bodies, walk
from .producers import ProducerMap

#: Operator -> its index input.
_INDEX_INPUT = {
    "Gather": 1, "GatherElements": 1, "GatherND": 1, "ScatterElements": 1, "ScatterND": 1, "Scatter": 1,
    "ScatterUpdate": 1, "ScatterElementsUpdate": 1, "ScatterNDUpdate": 1, "OneHot": 0,
}  # fmt: skip
#: Operator -> its index output.
_INDEX_OUTPUT = {"ArgMax": 0, "ArgMin": 0, "TopK": 1, "Multinomial": 0}
#: Operator -> the inputs whose elements it forwards unchanged; None: all of them.
_FORWARDED_INPUTS: dict[str, tuple[int, ...] | None] = {
    "Cast": (0,), "Convert": (0,), "Concat": None, "Expand": (0,), "Flatten": (0,), "Gather": (0,), "Identity": (0,),
    "Reshape": (0,), "Slice": (0,), "Squeeze": (0,), "StridedSlice": (0,), "Tile": (0,), "Transpose": (0,),
    "Unsqueeze": (0,), "Where": (1, 2), "Select": (1, 2),
}  # fmt: skip


def find_index_values(loop: Loop) -> frozenset[Value]:
    """The carried and collected values of a loop (body parameters and results) that are indices. A value used in
    arithmetic, such as a counter, is not."""
    producers = ProducerMap.for_graph(loop.body)
    used_as_index = _values_used_as_index(loop)
    carried = {edge.param: edge.result for edge in loop.back_edges}
    indices = set[Value]()
    for value, result in (*carried.items(), *((scan.result, scan.result) for scan in loop.scan_outputs)):
        if not _may_be_integers(value):
            continue
        sources = _source_values(result, producers, carried)
        is_index = any(_is_index_output(leaf, producers) for leaf in sources)
        computed = any(producers.get(v) is not None and not _is_index_output(v, producers) for v in sources)
        if is_index or (not computed and (value in used_as_index or result in used_as_index)):
            indices.add(value)
    return frozenset(indices)


def _may_be_integers(value: Value) -> bool:
    kind = value.type
    if not isinstance(kind, TensorType):
        return False
    return kind.dtype is None or np.dtype(kind.dtype).kind in "iu"


def _is_index_output(value: Value, origins: ProducerMap) -> bool:
    """Whether the value is the index output of an operator."""
    node = origins.get(value)
    if node is None or node.op_type not in _INDEX_OUTPUT:
        return False
    position = _INDEX_OUTPUT[node.op_type]
    return position < len(node.outputs) and node.outputs[position] is value


def _forwarded_values(node: Node | None, value: Value) -> Iterator[Value]:
    """The inputs that a node forwards as an output; none where it computes."""
    if isinstance(node, If):
        position = list(node.outputs).index(value)
        yield from (branch.outputs[position] for _, branch in bodies(node))
    elif node is not None and node.op_type in _FORWARDED_INPUTS:
        positions = _FORWARDED_INPUTS[node.op_type]
        inputs = node.inputs if positions is None else [node.inputs[k] for k in positions if k < len(node.inputs)]
        yield from (source for source in inputs if source is not None)


def _source_values(value: Value, origins: ProducerMap, carried: dict[Value, Value]) -> set[Value]:
    """The values that a value's elements originate from, across iterations as well."""
    sources, worklist = set[Value](), [value]
    seen = set(worklist)
    while worklist:
        current = worklist.pop()
        predecessors = [*_forwarded_values(origins.get(current), current), *filter(None, [carried.get(current)])]
        if not predecessors:
            sources.add(current)
        worklist += (predecessor for predecessor in predecessors if predecessor not in seen)
        seen.update(predecessors)
    return sources


def _values_used_as_index(loop: Loop) -> set[Value]:
    """The values that reach an index input unchanged."""
    nodes = walk(loop.body)
    indices = {
        node.inputs[_INDEX_INPUT[node.op_type]]
        for node in nodes
        if len(node.inputs) > _INDEX_INPUT.get(node.op_type, 99)
    }
    while True:
        added = {edge.result for edge in loop.back_edges if edge.param in indices}
        for node in nodes:
            added.update(
                leaf for value in node.outputs if value in indices and value for leaf in _forwarded_values(node, value)
            )
        if added <= indices:
            return {value for value in indices if value is not None}
        indices |= added
