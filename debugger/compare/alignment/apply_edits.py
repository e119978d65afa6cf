"""Applies edits: a copy of the left model in which chosen places are as in the right one."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import (
    BackEdge,
    Graph,
    If,
    Loop,
    Node,
    Operation,
    SlicedInput,
    System,
    Value,
    bodies,
    captured_values,
    walk,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.topological_order import topological_order
from ....runtime.ops.registry import ResolvedOperation, resolve
from ..edits import Edit, EditPlace, EditScript

#: The attributes of a slice, and of a scan output.
_SLICE_FIELDS = ("axis", "start", "end", "stride", "part_size", "drop_axis", "from_trip_count")
_SCAN_FIELDS = ("axis", "stack", "reverse", "part_size")


def apply_edits(
    left: Graph,
    right: Graph,
    script: EditScript,
    chosen: Collection[Edit],
    right_inputs: Mapping[Value, Any] = MappingProxyType({}),
) -> Graph:
    """A copy of the left model with the chosen edits.

    At each place of an edit the value is computed as in the right model, from the counterparts of its operands in the
    left one; nodes and constants without a counterpart are copied. Values that are not changed are shared. Nodes that
    are copied from another system keep their meaning there. ``right_inputs``: the inputs of the right model, which take
    the place of those that the left one lacks.

    Raises:
        UsageError: the edits cannot be applied without others.
    """
    return _Patch(left, right, script, chosen, right_inputs).graph()


class _Patch:
    """The changes of one copy."""

    def __init__(
        self, left: Graph, right: Graph, script: EditScript, chosen: Collection[Edit], right_inputs: Mapping[Value, Any]
    ) -> None:
        self._left, self._right_inputs = left, right_inputs
        self._foreign_system = None if left.system is right.system else right.system
        self._left_producers, self._right_producers = ProducerMap.for_graph(left), ProducerMap.for_graph(right)
        self._right_constants = set(right.constants)
        for inner in (inner for node in walk(right) for _, inner in bodies(node)):
            self._right_constants.update(inner.constants)
        #: Right values with their left counterparts; of several the one that most graphs can read.
        self._counterparts: dict[Value, Value] = {}
        for a, b in (*script.aligned.items(), *script.matched.items()):
            self._counterparts.setdefault(b, a)
        self._scopes: dict[Value, Graph] = {}
        self._parents: dict[Graph, Graph] = {}
        self._note_scopes(left)
        places = [place for edit in chosen for place in edit.places]
        self._replaced = {
            place.left: place.right for place in places if place.role == "value" and place.left is not None
        }
        #: By left value, the operands that its node exchanges, with None for all else, by the chosen edits and by all.
        self._exchanged = _exchanged_operands(places)
        self._exchanged_by_all = _exchanged_operands([place for edit in script.edits for place in edit.places])
        self._ports: dict[tuple[str, Any], EditPlace] = {
            (place.role, place.left): place for place in places if place.role != "value"
        }
        self._right_outputs = right.outputs
        #: What the bodies of the right model receive unchanged, with the outer values.
        self._invariants = {
            port.inner: port.outer for node in walk(right) if isinstance(node, Loop) for port in node.invariants
        }
        self._new_values: dict[Value, Value] = {}
        self._in_progress: set[Value] = set()
        self._cloned = self._shared_clones = dict[tuple[Value, Graph], Value]()
        self._new_nodes: dict[Graph, list[Node]] = {}
        self._new_constants: dict[Graph, list[Value]] = {}
        self._edges: dict[BackEdge, BackEdge] = {}

    def graph(self) -> Graph:
        """The copy."""
        for value in self._replaced:
            self._map(value)
        result = self._copy_graph(self._left)
        result.output_names = [
            self._left.output_names[k] if k < len(self._left.output_names) else value.name
            for k, value in enumerate(self._left.outputs)
        ]
        return result

    def _note_scopes(self, graph: Graph) -> None:
        for value in (*graph.inputs, *graph.constants):
            self._scopes[value] = graph
        for node in graph.nodes:
            self._scopes.update((value, graph) for value in node.outputs if value is not None)
            for _, inner in bodies(node):
                self._parents[inner] = graph
                self._note_scopes(inner)

    # -- values

    def _map(self, value: Value) -> Value:
        """What a value of the left model becomes."""
        if value not in self._replaced:
            return value
        if value not in self._new_values:
            if value in self._in_progress:
                raise UsageError(f"the edits of '{value.name}' cannot be applied: it would depend on itself")
            self._in_progress.add(value)
            other, scope = self._replaced[value], self._scopes.get(value, self._left)
            self._new_values[value] = value
            if other is not None:
                self._new_values[value] = self._replacement(value, other, scope)
            self._in_progress.discard(value)
        return self._new_values[value]

    def _replacement(self, value: Value, other: Value, scope: Graph) -> Value:
        """What a left value becomes where only the chosen ones of the edits at its node are applied."""
        exchanged, exchanged_by_all = self._exchanged[value], self._exchanged_by_all[value]
        if None in exchanged_by_all - exchanged:
            return self._copy_with_operands(value, {pair[0]: pair[1] for pair in exchanged if pair}, scope)
        kept = {(pair[1], scope): self._map(pair[0]) for pair in exchanged_by_all - exchanged if pair}
        outer_clones, self._cloned = self._cloned, kept or self._shared_clones
        result = self._transfer_value(other, scope, itself=value)
        self._cloned = outer_clones
        return result

    def _copy_with_operands(self, value: Value, exchanged: Mapping[Value, Value], scope: Graph) -> Value:
        """A left value, computed by a copy of its node that reads other operands."""
        node = self._left_producers.get(value)
        if not isinstance(node, Operation) or not exchanged.keys() <= set(node.inputs):
            raise UsageError(f"the edits of the operands of '{value.name}' cannot be applied alone")
        new = copy.copy(node)
        new.inputs = [
            self._transfer_value(exchanged[item], scope) if item in exchanged else self._map_optional(item)
            for item in node.inputs
        ]
        new.outputs = [None if item is None else Value(f"{item.name}_edited", item.type) for item in node.outputs]
        self._new_nodes.setdefault(scope, []).append(new)
        result = new.outputs[node.outputs.index(value)]
        assert result is not None
        return result

    def _map_optional(self, value: Value | None) -> Value | None:
        return None if value is None else self._map(value)

    def _transfer_value(self, value: Value, scope: Graph, itself: Value | None = None) -> Value:
        """A value of the right model in a graph of the left one: its counterpart, or a copy of what computes it."""
        if (value, scope) in self._cloned:
            return self._cloned[value, scope]
        twin = self._counterparts.get(value)
        if twin is not None and twin is not itself and self._is_visible(twin, scope):
            return self._map(twin)
        node = self._right_producers.get(value)
        if value in self._invariants:
            self._cloned[value, scope] = self._transfer_value(self._invariants[value], scope)
        elif node is not None:
            self._clone_node(node, scope)
        elif value in self._right_constants or value.constant is not None:
            self._new_constants.setdefault(scope, []).append(value)
            self._cloned[value, scope] = value
        elif isinstance(self._right_inputs.get(value), np.ndarray):
            constant = self._cloned[value, scope] = Value(f"{value.name}_right", value.type, self._right_inputs[value])
            self._new_constants.setdefault(scope, []).append(constant)
        else:
            raise UsageError(f"'{value.name}' has no counterpart in the left model")
        return self._cloned[value, scope]

    def _is_visible(self, value: Value, scope: Graph) -> bool:
        owner: Graph | None = self._scopes.get(value)
        graph: Graph | None = scope
        while graph is not None:
            if graph is owner:
                return True
            graph = self._parents.get(graph)
        return False

    def _clone_node(self, node: Node, scope: Graph) -> None:
        inner: dict[Value, Value] = {}
        for captured in (value for _, body in bodies(node) for value in captured_values(body)):
            inner[captured] = self._transfer_value(captured, scope)
        new = _copy_right_node(node, lambda value: self._transfer_value(value, scope), inner)
        if self._foreign_system is not None:
            new = _with_own_operator(new, self._foreign_system)
        outputs: list[Value | None] = []
        for value in node.outputs:
            fresh = None if value is None else Value(f"{value.name}_right", value.type)
            outputs.append(fresh)
            if value is not None and fresh is not None:
                self._cloned[value, scope] = fresh
        if isinstance(new, Loop):
            _replace_loop_outputs(
                new, {value: self._cloned[value, scope] for value in node.outputs if value is not None}
            )
        new.outputs = outputs
        self._new_nodes.setdefault(scope, []).append(new)

    # -- graphs

    def _copy_graph(self, graph: Graph) -> Graph:
        """A copy of a graph of the left model with the changes."""
        new = copy.copy(graph)
        by_node = {node: self._copy_node(node) for node in graph.nodes}
        new.expanded_from = {by_node.get(node, node): origin for node, origin in graph.expanded_from.items()}
        new.outputs = [self._map(value) for value in graph.outputs]
        if graph is self._left:
            new.outputs = [
                self._transfer_value(self._right_outputs[k], graph, graph.outputs[k])
                if ("output", k) in self._ports and graph.outputs[k] not in self._replaced
                else value
                for k, value in enumerate(new.outputs)
            ]
        new.nodes = _sorted_nodes([*by_node.values(), *self._new_nodes.get(graph, ())])
        new.constants = [*graph.constants, *self._new_constants.get(graph, ())]
        return new

    def _copy_node(self, node: Node) -> Node:
        new = copy.copy(node)
        new.inputs = [self._map_optional(value) for value in node.inputs]
        if isinstance(node, If) and isinstance(new, If):
            new.then_branch, new.else_branch = self._copy_graph(node.then_branch), self._copy_graph(node.else_branch)
        elif isinstance(node, Loop) and isinstance(new, Loop):
            self._copy_loop(node, new)
        return new

    def _right_port(self, role: str, item: Any) -> Any:
        """The right counterpart of a loop or port, if it is to be as there."""
        place = self._ports.get((role, item))
        return None if place is None else place.right

    def _outer(self, loop: Loop) -> Graph:
        return self._parents[loop.body]

    def _copy_loop(self, loop: Loop, new: Loop) -> None:
        body, outer = loop.body, self._outer(loop)
        other = self._right_port("trip count", loop)
        new.trip_count = self._map_optional(loop.trip_count)
        if other is not None:
            new.trip_count = None if other.trip_count is None else self._transfer_value(other.trip_count, outer)
            new.fixed_trips = other.fixed_trips
        other = self._right_port("initial condition", loop)
        new.initial_condition = self._map_optional(loop.initial_condition)
        if other is not None:
            initial = other.initial_condition
            new.initial_condition = None if initial is None else self._transfer_value(initial, outer)
        new.condition = self._map_optional(loop.condition)
        new.ignored_condition = self._map_optional(loop.ignored_condition)
        other = self._right_port("condition", loop)
        if other is not None:
            new.condition = None if other.condition is None else self._transfer_value(other.condition, body)
            ignored = other.ignored_condition
            new.ignored_condition = None if ignored is None else self._transfer_value(ignored, body)
        new.sliced_inputs = [self._copied_slice(port, outer) for port in loop.sliced_inputs]
        slices = dict(zip(loop.sliced_inputs, new.sliced_inputs, strict=True))
        new.back_edges = [self._copied_edge(edge, outer, body, slices) for edge in loop.back_edges]
        new.invariants = [copy.copy(port) for port in loop.invariants]
        for invariant in new.invariants:
            invariant.outer = self._map(invariant.outer)
        new.last_values = [self._copied_result("last value", port, body, outer) for port in loop.last_values]
        new.scan_outputs = [self._copied_result("scan output", port, body, outer) for port in loop.scan_outputs]
        new.body = self._copy_graph(body)
        results = [edge.result for edge in new.back_edges] + [last.result for last in new.last_values]
        results += [scan.result for scan in new.scan_outputs]
        results += [value for value in (new.condition, new.ignored_condition) if value is not None]
        present = set(new.body.outputs)
        new.body.outputs = [*new.body.outputs, *dict.fromkeys(value for value in results if value not in present)]
        if new.condition_node_count is not None:
            _move_condition_first(new)
        known = {value for value in new.inputs if value is not None}
        read = [new.trip_count, new.initial_condition, *(port.outer for port in new.sliced_inputs)]
        read += [edge.initial for edge in new.back_edges if isinstance(edge.initial, Value)]
        new.inputs = [*new.inputs, *dict.fromkeys(value for value in read if value is not None and value not in known)]

    def _copied_slice(self, port: SlicedInput, outer: Graph) -> SlicedInput:
        new, other = copy.copy(port), self._right_port("slice", port)
        new.outer = self._map(port.outer)
        if other is not None:
            new.outer = self._transfer_value(other.outer, outer)
            _take_fields(new, other, self._transferred_attributes(_SLICE_FIELDS))
        return new

    def _transferred_attributes(self, names: Sequence[str]) -> list[str]:
        """The attributes to take over; the systems differ in whether a part keeps its axis."""
        return [name for name in names if self._foreign_system is None or name not in ("drop_axis", "stack")]

    def _copied_edge(
        self, edge: BackEdge, outer: Graph, body: Graph, slices: Mapping[SlicedInput, SlicedInput]
    ) -> BackEdge:
        new, other = copy.copy(edge), self._right_port("initial value", edge)
        new.initial = slices[edge.initial] if isinstance(edge.initial, SlicedInput) else self._map(edge.initial)
        if other is not None and isinstance(other.initial, Value):
            new.initial = self._transfer_value(other.initial, outer)
        other = self._right_port("back edge", edge)
        new.result = self._map(edge.result) if other is None else self._transfer_value(other.result, body)
        self._edges[edge] = new
        return new

    def _copied_result(self, role: str, port: Any, body: Graph, outer: Graph) -> Any:
        new, other = copy.copy(port), self._right_port(role, port)
        new.result = self._map(port.result) if other is None else self._transfer_value(other.result, body)
        if role == "last value":
            new.edge = None if port.edge is None else self._edges[port.edge]
            if other is not None:
                param = None if other.edge is None else self._counterparts.get(other.edge.param)
                new.edge = next((edge for edge in self._edges.values() if edge.param is param), None)
        else:
            length = port.length if other is None else other.length
            new.length = (
                None if length is None else self._map(length) if other is None else self._transfer_value(length, outer)
            )
            if other is not None:
                is_cloned = new.result in self._cloned.values()
                _take_fields(new, other, _SCAN_FIELDS if is_cloned else self._transferred_attributes(_SCAN_FIELDS))
        return new


def _exchanged_operands(places: Sequence[EditPlace]) -> dict[Any, set[tuple[Value, Value] | None]]:
    exchanged: dict[Any, set[tuple[Value, Value] | None]] = {}
    for place in places:
        if place.role == "value":
            exchanged.setdefault(place.left, set()).add(place.operand)
    return exchanged


def _replace_loop_outputs(loop: Loop, values: Mapping[Value, Value]) -> None:
    """Let the outputs of a copied loop be its own."""
    for last in loop.last_values:
        last.outer = values.get(last.outer, last.outer)
    for scan in loop.scan_outputs:
        scan.outer = values.get(scan.outer, scan.outer)


def _take_fields(item: Any, other: Any, names: Sequence[str]) -> None:
    for name in names:
        setattr(item, name, getattr(other, name))


def _copy_right_node(node: Node, outer: Any, inner: dict[Value, Value]) -> Node:
    """A copy of a right node: its inputs by ``outer``, its captures by ``inner``; values inside bodies are fresh."""
    new = copy.copy(node)
    new.inputs = [None if value is None else outer(value) for value in node.inputs]
    if isinstance(node, If) and isinstance(new, If):
        new.then_branch = _copy_graph_with_fresh_values(node.then_branch, dict(inner))
        new.else_branch = _copy_graph_with_fresh_values(node.else_branch, dict(inner))
    elif isinstance(node, Loop) and isinstance(new, Loop):
        values = dict(inner)
        new.body = _copy_graph_with_fresh_values(node.body, values)
        new.trip_count = None if node.trip_count is None else outer(node.trip_count)
        new.initial_condition = None if node.initial_condition is None else outer(node.initial_condition)
        for name in ("condition", "condition_input", "ignored_condition", "iteration"):
            value = getattr(node, name)
            setattr(new, name, None if value is None else values.get(value, value))
        new.sliced_inputs = [copy.copy(port) for port in node.sliced_inputs]
        slices = dict(zip(node.sliced_inputs, new.sliced_inputs, strict=True))
        for port in (*new.sliced_inputs,):
            port.outer, port.inner = outer(port.outer), values.get(port.inner, port.inner)
        new.invariants = [copy.copy(port) for port in node.invariants]
        for invariant in new.invariants:
            invariant.outer, invariant.inner = outer(invariant.outer), values.get(invariant.inner, invariant.inner)
        edges = {edge: copy.copy(edge) for edge in node.back_edges}
        for edge, copied in edges.items():
            initial = edge.initial
            copied.initial = slices[initial] if isinstance(initial, SlicedInput) else outer(initial)
            copied.param, copied.result = values.get(edge.param, edge.param), values.get(edge.result, edge.result)
        new.back_edges = list(edges.values())
        new.last_values = [copy.copy(port) for port in node.last_values]
        for last in new.last_values:
            last.result = values.get(last.result, last.result)
            last.edge = None if last.edge is None else edges[last.edge]
        new.scan_outputs = [copy.copy(port) for port in node.scan_outputs]
        for scan in new.scan_outputs:
            scan.result = values.get(scan.result, scan.result)
            scan.length = None if scan.length is None else outer(scan.length)
    return new


def _copy_graph_with_fresh_values(graph: Graph, values: dict[Value, Value]) -> Graph:
    """A copy of a graph with fresh values, which are added to ``values``."""
    new = copy.copy(graph)

    def fresh(value: Value) -> Value:
        values[value] = Value(value.name, value.type, value.constant, value.short_name)
        return values[value]

    new.inputs = [fresh(value) for value in graph.inputs]
    new.constants = [fresh(value) for value in graph.constants]
    new.nodes = []
    for node in graph.nodes:
        inner = {v: values.get(v, v) for _, body in bodies(node) for v in captured_values(body)}
        copied = _copy_right_node(node, lambda value: values.get(value, value), inner)
        copied.outputs = [None if value is None else fresh(value) for value in node.outputs]
        if isinstance(copied, Loop):
            _replace_loop_outputs(copied, values)
        new.nodes.append(copied)
    new.outputs = [values.get(value, value) for value in graph.outputs]
    return new


def _with_own_operator(node: Node, system: System) -> Node:
    """A node of another system with its operator, and the nodes inside it."""
    for _, inner in bodies(node):
        inner.nodes = [_with_own_operator(child, system) for child in inner.nodes]
    if not isinstance(node, Operation):
        return node
    fields = node.name, node.op_type, node.domain, node.version, node.inputs, node.outputs, node.attributes
    return ResolvedOperation(*fields, source=node.source, op=resolve(node, system))


def _values_needed(node: Node) -> Iterator[Value]:
    yield from (value for value in node.inputs if value is not None)
    for _, body in bodies(node):
        yield from captured_values(body)


def _sorted_nodes(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in an order in which they can run."""
    positions = {value: k for k, node in enumerate(nodes) for value in node.outputs if value is not None}
    needs = [{positions[value] for value in _values_needed(node) if value in positions} for node in nodes]
    order = topological_order(needs)
    if len(order) < len(nodes):
        raise UsageError("the chosen edits cannot be applied: a value would depend on itself")
    return [nodes[k] for k in order]


def _move_condition_first(loop: Loop) -> None:
    """Let the nodes that a condition needs, which is tested before the others run, be the first of a body."""
    producers = {value: node for node in loop.body.nodes for value in node.outputs if value is not None}
    needed: set[Node] = set()
    pending = [] if loop.condition is None else [loop.condition]
    while pending:
        node = producers.get(pending.pop())
        if node is not None and node not in needed:
            needed.add(node)
            pending += _values_needed(node)
    loop.body.nodes = sorted(loop.body.nodes, key=lambda node: node not in needed)
    loop.condition_node_count = len(needed)
