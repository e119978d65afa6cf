"""Locations of the values of a loop graph: the loop, the position in execution order, and the producing node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....runtime.graph import Graph, If, Loop, Node, Value, bodies
from ...reference.reference import Key
from ..alignment.port_alignment import initial_outer_value
from ..running.sides import LoopInfo, walk_loops

#: The position of a node's results, after everything inside the node.
_AFTER_NODE = 1 << 60
#: Placeholder for the iteration number in a position.
_ITERATION_PLACEHOLDER = -1
Order = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ValueLocation:
    """The location of a value. ``path``: the loop that computes it in each iteration, empty in the main graph;
    ``depth``: the loop depth.

    ``role``: carried, sliced, invariant, iteration or condition for body parameters; input; else empty. ``loop``: the
    loop of a parameter, or the loop around the node. ``branch``: the If whose branch contains it.
    """

    value: Value
    path: str
    depth: int
    role: str
    node: Node | None
    loop: Loop | None
    branch: If | None
    order: Order

    def order_in_iteration(self, key: Key) -> Order:
        """The position in execution order in one iteration."""
        numbers = iter(key)
        return tuple(next(numbers) if step == _ITERATION_PLACEHOLDER else step for step in self.order)

    @property
    def name(self) -> str:
        """The name of the value."""
        return self.value.name


class LocationIndex:
    """All computed values of a model and the parameters of its bodies, without constants."""

    def __init__(self, graph: Graph, loops: Sequence[LoopInfo]) -> None:
        self.graph = graph
        self.locations: dict[Value, ValueLocation] = {}
        #: Path -> loop, outer before inner.
        self.loops: dict[str, Loop] = {}
        #: Nodes expanded from a recurrent operator, including those of its loops -> the operator in the file.
        self.operators: dict[Node, Node] = {}
        self._depths: dict[str, int] = {}
        self._paths = {info.loop: info.path for info in walk_loops(loops) if info.loop is not None}
        for value in graph.inputs:
            self._add_location(ValueLocation(value, "", 0, "input", None, None, None, (0,)))
        self._index_graph(graph, None, (), None)
        self._index_source_operators(graph, None)

    def _index_source_operators(self, graph: Graph, outer_operator: Node | None) -> None:
        for node in graph.nodes:
            operator = outer_operator or graph.expanded_from.get(node)
            if operator is not None:
                self.operators[node] = operator
            for _, inner in bodies(node):
                self._index_source_operators(inner, operator)

    def _add_location(self, loc: ValueLocation) -> None:
        if loc.value.constant is None:
            self.locations.setdefault(loc.value, loc)

    def _index_graph(self, graph: Graph, loop: Loop | None, prefix: Order, branch: If | None) -> None:
        path = "" if loop is None else self._paths[loop]
        depth = prefix.count(_ITERATION_PLACEHOLDER)
        for k, node in enumerate(graph.nodes, 1):
            order = (*prefix, k)
            if isinstance(node, If):
                for j, (_, inner) in enumerate(bodies(node)):
                    self._index_graph(inner, loop, (*order, j), node)
            elif isinstance(node, Loop) and node in self._paths:
                self._index_body(node, (*order, _ITERATION_PLACEHOLDER))
            for value in node.outputs:
                if value is not None:
                    self._add_location(ValueLocation(value, path, depth, "", node, loop, branch, (*order, _AFTER_NODE)))

    def _index_body(self, loop: Loop, prefix: Order) -> None:
        path = self._paths[loop]
        self.loops[path], self._depths[path] = loop, prefix.count(_ITERATION_PLACEHOLDER)
        for value in loop.body.inputs:
            self._add_location(
                ValueLocation(
                    value,
                    path,
                    prefix.count(_ITERATION_PLACEHOLDER),
                    _parameter_role(loop, value),
                    None,
                    loop,
                    None,
                    (*prefix, 0),
                )
            )
        self._index_graph(loop.body, loop, prefix, None)

    def loop_depth(self, path: str) -> int:
        """The loop depth of a loop's iterations."""
        return self._depths[path]

    def node_order(self, node: Node) -> Order:
        """The position of a node in execution order."""
        locs = [self.locations[value] for value in node.outputs if value in self.locations]
        return min((loc.order for loc in locs), default=())

    def parameter_source(self, loc: ValueLocation, key: Key) -> tuple[Value, Key] | None:
        """The source of a body parameter in an iteration: a result of the previous one, or an outer value. None for
        values that the loop itself provides, and for other values."""
        loop = loc.loop
        if not loc.role or loop is None or not key:
            return None
        for edge in loop.back_edges:
            if edge.param is loc.value:
                if key[-1]:
                    return edge.result, (*key[:-1], key[-1] - 1)
                return initial_outer_value(edge.initial), key[:-1]
        outer = {port.inner: port.outer for port in loop.sliced_inputs}
        outer |= {port.inner: port.outer for port in loop.invariants}
        return (outer[loc.value], key[:-1]) if loc.value in outer else None


def _parameter_role(loop: Loop, value: Value) -> str:
    if any(edge.param is value for edge in loop.back_edges):
        return "carried"
    if any(port.inner is value for port in loop.sliced_inputs):
        return "sliced"
    if value in (loop.iteration, loop.condition_input):
        return "iteration" if value is loop.iteration else "condition"
    return "invariant"
