"""Integers that pick something: tokens, positions that ArgMax or TopK found, indices of a Gather. How large they are
means nothing, so that no picture shows them as magnitudes."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import numpy as np

from .loop_graph import If, Loop, Node, TensorType, Value, bodies, walk
from .producers import ProducerMap

#: The input of an operator that picks.
_INDEX_INPUT = {
    "Gather": 1, "GatherElements": 1, "GatherND": 1, "ScatterElements": 1, "ScatterND": 1, "Scatter": 1,
    "ScatterUpdate": 1, "ScatterElementsUpdate": 1, "ScatterNDUpdate": 1, "OneHot": 0,
}  # fmt: skip
#: The output that tells which one was chosen.
_INDEX_OUTPUT = {"ArgMax": 0, "ArgMin": 0, "TopK": 1, "Multinomial": 0}
#: What hands numbers on as they are, and the inputs that it takes them from; None: all of them.
_FORWARDED_INPUTS: dict[str, tuple[int, ...] | None] = {
    "Cast": (0,), "Convert": (0,), "Concat": None, "Expand": (0,), "Flatten": (0,), "Gather": (0,), "Identity": (0,),
    "Reshape": (0,), "Slice": (0,), "Squeeze": (0,), "StridedSlice": (0,), "Tile": (0,), "Transpose": (0,),
    "Unsqueeze": (0,), "Where": (1, 2), "Select": (1, 2),
}  # fmt: skip


#: What was found, as long as the loop is there.
_CACHE: WeakKeyDictionary[Loop, frozenset[Value]] = WeakKeyDictionary()


def index_values(loop: Loop) -> frozenset[Value]:
    """Of what a loop carries and collects (as the parameters of its body, and its results) that which picks. What is
    computed with, such as a counter, does not."""
    found = _CACHE.get(loop)
    if found is None:
        found = _CACHE[loop] = _find_index_values(loop)
    return found


def _find_index_values(loop: Loop) -> frozenset[Value]:
    origins = ProducerMap.for_graph(loop.body)
    read = _values_used_as_index(loop)
    carried = {edge.param: edge.result for edge in loop.back_edges}
    found = set[Value]()
    for value, result in (*carried.items(), *((scan.result, scan.result) for scan in loop.scan_outputs)):
        if not _may_be_integers(value):
            continue
        sources = _source_values(result, origins, carried)
        chosen = any(_is_index_output(one, origins) for one in sources)
        computed = any(origins.producer(one) is not None and not _is_index_output(one, origins) for one in sources)
        if chosen or (not computed and (value in read or result in read)):
            found.add(value)
    return frozenset(found)


def _may_be_integers(value: Value) -> bool:
    kind = value.type
    if not isinstance(kind, TensorType):
        return False
    return kind.dtype is None or np.dtype(kind.dtype).kind in "iu"


def _is_index_output(value: Value, origins: ProducerMap) -> bool:
    """Does an operator say with it which one it chose?"""
    node = origins.producer(value)
    if node is None or node.op_type not in _INDEX_OUTPUT:
        return False
    place = _INDEX_OUTPUT[node.op_type]
    return place < len(node.outputs) and node.outputs[place] is value


def _forwarded_values(node: Node | None, value: Value) -> Iterator[Value]:
    """The values that a node hands on as the one that it makes; none where it computes."""
    if isinstance(node, If):
        place = list(node.outputs).index(value)
        yield from (branch.outputs[place] for _, branch in bodies(node))
    elif node is not None and node.op_type in _FORWARDED_INPUTS:
        places = _FORWARDED_INPUTS[node.op_type]
        inputs = node.inputs if places is None else [node.inputs[k] for k in places if k < len(node.inputs)]
        yield from (one for one in inputs if one is not None)


def _source_values(value: Value, origins: ProducerMap, carried: dict[Value, Value]) -> set[Value]:
    """Where the numbers of a value come from, through iterations too."""
    found, rest = set[Value](), [value]
    seen = set(rest)
    while rest:
        one = rest.pop()
        before = [*_forwarded_values(origins.producer(one), one), *filter(None, [carried.get(one)])]
        if not before:
            found.add(one)
        rest += (new for new in before if new not in seen)
        seen.update(before)
    return found


def _values_used_as_index(loop: Loop) -> set[Value]:
    """What reaches the picking input of an operator as it is."""
    nodes = list(walk(loop.body))
    found = {
        node.inputs[_INDEX_INPUT[node.op_type]]
        for node in nodes
        if len(node.inputs) > _INDEX_INPUT.get(node.op_type, 99)
    }
    while True:
        more = {edge.result for edge in loop.back_edges if edge.param in found}
        for node in nodes:
            more.update(
                one for value in node.outputs if value in found and value for one in _forwarded_values(node, value)
            )
        if more <= found:
            return {value for value in found if value is not None}
        found |= more
