"""Where the values of a loop graph are: in which loop, at which place in the order of execution, and who makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....runtime.graph import Graph, If, Loop, Node, Value, bodies
from ...reference.reference import Key
from ..align.value_numbering import initial_outer_value
from ..running.iteration_stream import walk_loops
from ..running.sides import LoopInfo

#: Behind everything that happens inside a node: its results.
_AFTER_NODE = 1 << 60
#: The place of an iteration in an order.
_ITERATION_PLACEHOLDER = -1
Order = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ValueLocation:
    """A value of a model. ``path``: of the loop in whose iterations it is computed, empty in the main graph; ``depth``:
    in how many loops that is.

    ``role``: carried, sliced, invariant, iteration, condition of a body's parameters, input, else empty. ``loop``: of
    a parameter its loop, else that around the node. ``branch``: the If in one of whose branches it is.
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
        """Its place in the order of execution in one iteration."""
        numbers = iter(key)
        return tuple(next(numbers) if step == _ITERATION_PLACEHOLDER else step for step in self.order)

    @property
    def name(self) -> str:
        """What the value is called."""
        return self.value.name


class LocationIndex:
    """All values of a model that something computes, and the parameters of its bodies; not its constants."""

    def __init__(self, graph: Graph, loops: Sequence[LoopInfo]) -> None:
        self.graph = graph
        self.locations: dict[Value, ValueLocation] = {}
        #: Path -> loop, outer before inner.
        self.loops: dict[str, Loop] = {}
        #: What was made of a recurrent operator, the nodes of its loops too -> the operator, as the file has it.
        self.operators: dict[Node, Node] = {}
        self._depths: dict[str, int] = {}
        self._paths = {info.loop: info.path for info in walk_loops(loops) if info.loop is not None}
        for value in graph.inputs:
            self._add_location(ValueLocation(value, "", 0, "input", None, None, None, (0,)))
        self._index_graph(graph, None, (), None)
        self._index_operators(graph, None)

    def _index_operators(self, graph: Graph, around: Node | None) -> None:
        for node in graph.nodes:
            operator = around or graph.expanded_from.get(node)
            if operator is not None:
                self.operators[node] = operator
            for _, inner in bodies(node):
                self._index_operators(inner, operator)

    def _add_location(self, spot: ValueLocation) -> None:
        if spot.value.constant is None:
            self.locations.setdefault(spot.value, spot)

    def _index_graph(self, graph: Graph, loop: Loop | None, before: Order, branch: If | None) -> None:
        path = "" if loop is None else self._paths[loop]
        depth = before.count(_ITERATION_PLACEHOLDER)
        for k, node in enumerate(graph.nodes, 1):
            here = (*before, k)
            if isinstance(node, If):
                for j, (_, inner) in enumerate(bodies(node)):
                    self._index_graph(inner, loop, (*here, j), node)
            elif isinstance(node, Loop) and node in self._paths:
                self._index_body(node, (*here, _ITERATION_PLACEHOLDER))
            for value in node.outputs:
                if value is not None:
                    self._add_location(ValueLocation(value, path, depth, "", node, loop, branch, (*here, _AFTER_NODE)))

    def _index_body(self, loop: Loop, inside: Order) -> None:
        path = self._paths[loop]
        self.loops[path], self._depths[path] = loop, inside.count(_ITERATION_PLACEHOLDER)
        for value in loop.body.inputs:
            self._add_location(
                ValueLocation(
                    value,
                    path,
                    inside.count(_ITERATION_PLACEHOLDER),
                    _parameter_role(loop, value),
                    None,
                    loop,
                    None,
                    (*inside, 0),
                )
            )
        self._index_graph(loop.body, loop, inside, None)

    def locations_in_loop(self, path: str) -> Iterator[ValueLocation]:
        """The values of a loop's iterations, those of loops inside it left out; of the main graph for an empty path."""
        return (spot for spot in self.locations.values() if spot.path == path)

    def loop_depth(self, path: str) -> int:
        """In how many loops an iteration of a loop is, itself counted."""
        return self._depths[path]

    def node_order(self, node: Node) -> Order:
        """The place of a node in the order of execution."""
        spots = [self.locations[value] for value in node.outputs if value in self.locations]
        return min((spot.order for spot in spots), default=())

    def parameter_source(self, spot: ValueLocation, key: Key) -> tuple[Value, Key] | None:
        """What a body's parameter gets in an iteration: a result of the one before, or an outer value. None for what
        the loop itself makes, and for what is no parameter."""
        loop = spot.loop
        if not spot.role or loop is None or not key:
            return None
        for edge in loop.back_edges:
            if edge.param is spot.value:
                if key[-1]:
                    return edge.result, (*key[:-1], key[-1] - 1)
                return initial_outer_value(edge.initial), key[:-1]
        outer = {port.inner: port.outer for port in loop.sliced_inputs}
        outer |= {port.inner: port.outer for port in loop.invariants}
        return (outer[spot.value], key[:-1]) if spot.value in outer else None


def _parameter_role(loop: Loop, value: Value) -> str:
    if any(edge.param is value for edge in loop.back_edges):
        return "carried"
    if any(port.inner is value for port in loop.sliced_inputs):
        return "sliced"
    if value in (loop.iteration, loop.condition_input):
        return "iteration" if value is loop.iteration else "condition"
    return "invariant"
