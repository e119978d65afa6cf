"""Applies edits: a copy of the left model in which chosen places are as in the right one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import (
    Array,
    BackEdge,
    Graph,
    Invariant,
    LastValueOutput,
    Loop,
    Node,
    Operation,
    ScanOutput,
    SlicedInput,
    System,
    TensorType,
    Value,
    bodies,
    captured_values,
    loops,
    walk,
    walk_graphs,
)
from ....runtime.graph.producers import ProducerMap
from ....runtime.graph.topological_order import topological_order
from ....runtime.ops.constant_folding import ConstantFolder
from ....runtime.ops.registry import ResolvedOperation, resolve
from ..edits import Edit, EditKind, EditPlace, EditScript

#: The role of a place -> what the loop or port takes over: values outside of the body, values in it, other fields.
_PORT_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "trip count": (("trip_count",), (), ("fixed_trips",)),
    "initial condition": (("initial_condition",), (), ()),
    "condition": ((), ("condition", "ignored_condition"), ()),
    "slice": (("outer",), (), ("axis", "start", "end", "stride", "part_size", "drop_axis", "from_trip_count")),
    "initial value": (("initial",), (), ()),
    "back edge": ((), ("result",), ()),
    "scan output": (("length",), ("result",), ("axis", "stack", "reverse", "part_size")),
    "last value": ((), ("result",), ()),
}
#: What a deep copy copies; all else is shared.
_COPIED = Node, Graph, SlicedInput, BackEdge, Invariant, LastValueOutput, ScanOutput
#: The fields whose values are defined there, and not read.
_DEFINITIONS = (
    (Node, "outputs"),
    (Graph, "inputs"),
    (Graph, "constants"),
    (LastValueOutput, "outer"),
    (ScanOutput, "outer"),
)


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
        self._right_constants = {value for inner in walk_graphs(right) for value in inner.constants}
        #: Right values with their left counterparts; of several the one that most graphs can read.
        self._counterparts: dict[Value, Value] = {}
        for a, b in (*script.aligned.items(), *script.matched.items()):
            self._counterparts.setdefault(b, a)
        self._scopes: dict[Value, Graph] = {}
        self._parents: dict[Graph, Graph] = {}
        self._record_scopes(left)
        #: The shapes that changed constants have in the left model, by the names of the right ones: systems differ in
        #: axes of length 1.
        self._left_shapes = {
            edit.right_name: edit.left_data.shape
            for edit in chosen
            if edit.kind is EditKind.CONSTANT and edit.left_data is not None and self._foreign_system is not None
        }
        self._with_left_axes: set[Value] = set()
        places = [place for edit in chosen for place in edit.places]
        self._replaced = {
            place.left: place.right for place in places if place.role == "value" and place.left is not None
        }
        self._unchanged = self._constants_kept(script.matched)
        #: By left value, the operands that its node exchanges, with None for all else, by the chosen edits and by all.
        self._exchanged = _exchanged_operands(places)
        self._exchanged_by_all = _exchanged_operands([place for edit in script.edits for place in edit.places])
        self._port_places = [place for place in places if place.role != "value"]
        self._right_outputs = right.outputs
        #: What the bodies of the right model receive unchanged, with the outer values.
        self._invariants = {
            port.inner: port.outer for node in walk(right) if isinstance(node, Loop) for port in node.invariants
        }
        #: What operators that were expanded compute -> all that the nodes compute that they were expanded into.
        expanded = {place.left for place in places if place.is_expanded}
        self._expansions = {value: values for values in _expansions(left) for value in values & expanded}
        #: Left values that are not read in place of right ones: those of an operator that is replaced as a whole.
        self._hidden: set[Value] = set()
        self._new_values: dict[Value, Value] = {}
        self._cloned = self._shared_clones = dict[tuple[Value, Graph], Value]()
        self._new_nodes: dict[Graph, list[Node]] = {}
        self._new_constants: dict[Graph, list[Value]] = {}
        #: Graphs, nodes and ports of the left model with their copies.
        self._copies: dict[Any, Any] = {}

    def graph(self) -> Graph:
        """The copy."""
        for value in self._replaced:
            self._map_value(value)
        result: Graph = _deep_copy(self._left, self._map_value, lambda value: value, self._copies)
        scopes = {port: loop for loop in loops(self._left) for port in (loop, *_ports(loop))}
        for place in self._port_places:
            if place.role != "output":
                self._change_port(place, scopes[place.left])
            elif self._left.outputs[place.left] not in self._replaced:
                value = self._left.outputs[place.left]
                result.outputs[place.left] = self._transfer_value(self._right_outputs[place.right], self._left, value)
        changed_loops = loops(result)
        for loop in changed_loops:
            _list_values(loop)
        for graph in walk_graphs(self._left):
            new = self._copies[graph]
            kept = [node for node in new.nodes if not self._is_replaced(node)]
            kept = self._without_replaced_loops([*kept, *self._new_nodes.get(graph, ())], new.outputs)
            new.nodes = _sort_topologically(kept)
            new.constants += self._new_constants.get(graph, ())
        for loop in changed_loops:
            if loop.condition_node_count is not None:
                _move_condition_nodes_first(loop)
        result.output_names = [
            self._left.output_names[k] if k < len(self._left.output_names) else value.name
            for k, value in enumerate(self._left.outputs)
        ]
        return result

    def _without_replaced_loops(self, nodes: list[Node], outputs: Collection[Value]) -> list[Node]:
        """The nodes without those of expanded operators that nothing reads any more."""
        replaced: set[Value] = set().union(*self._expansions.values())
        while True:
            unread = replaced.difference(outputs, *map(_values_read_by_node, nodes))
            kept = [node for node in nodes if not node.outputs or not unread.issuperset(filter(None, node.outputs))]
            if len(kept) == len(nodes):
                return nodes
            nodes = kept

    def _constants_kept(self, matched: Mapping[Value, Value]) -> dict[Value, Array]:
        """The constants that both models compute alike, though from operands that the chosen edits change."""
        folder, changed = ConstantFolder(self._left_producers, self._left.system), set(self._replaced)
        constants: dict[Value, Array] = {}
        for node in walk(self._left):
            if isinstance(node, Operation) and not changed.isdisjoint(node.inputs):
                outputs = {value for value in node.outputs if value is not None}
                changed |= outputs - matched.keys()
                folded = {value: folder.value_of(value) for value in outputs & matched.keys()}
                constants |= {value: array for value, array in folded.items() if array is not None}
        return constants

    def _record_scopes(self, graph: Graph) -> None:
        self._scopes.update((value, graph) for value in _own_values(graph))
        for inner in (inner for node in graph.nodes for _, inner in bodies(node)):
            self._parents[inner] = graph
            self._record_scopes(inner)

    # -- values

    def _map_value(self, value: Value) -> Value:
        """What a value of the left model becomes."""
        if value in self._new_values:
            return self._new_values[value]
        if value in self._replaced:
            other, scope = self._replaced[value], self._scopes.get(value, self._left)
            self._new_values[value] = value
            if other is not None:
                self._new_values[value] = self._replacement(value, other, scope)
        elif value in self._unchanged:
            constant = self._new_values[value] = Value(f"{value.name}_unchanged", value.type, self._unchanged[value])
            self._new_constants.setdefault(self._scopes[value], []).append(constant)
        else:
            return value
        return self._new_values[value]

    def _is_replaced(self, node: Node) -> bool:
        """Whether nothing reads a node's results any more. What it reads may have changed, so that it would fail."""
        outputs = [value for value in node.outputs if value is not None]
        return bool(outputs) and all(self._map_value(value) is not value for value in outputs)

    def _replacement(self, value: Value, other: Value, scope: Graph) -> Value:
        """What a left value becomes where only the chosen ones of the edits at its node are applied."""
        exchanged, exchanged_by_all = self._exchanged[value], self._exchanged_by_all[value]
        if None in exchanged_by_all - exchanged:
            return self._copy_with_operands(value, {pair[0]: pair[1] for pair in exchanged if pair}, scope)
        expansion = self._expansions.get(value, set())
        if expansion and exchanged_by_all - exchanged:
            raise UsageError(f"the edits of the operator that computes '{value.name}' cannot be applied alone")
        kept = {(pair[1], scope): self._map_value(pair[0]) for pair in exchanged_by_all - exchanged if pair}
        outer, self._cloned, self._hidden = (self._cloned, self._hidden), kept or self._shared_clones, expansion
        result = self._transfer_value(other, scope, itself=value)
        self._cloned, self._hidden = outer
        return result

    def _copy_with_operands(self, value: Value, exchanged: Mapping[Value, Value], scope: Graph) -> Value:
        """A left value, computed by a copy of its node that reads other operands."""
        node = self._left_producers.get(value)
        if not isinstance(node, Operation) or not exchanged.keys() <= set(node.inputs):
            raise UsageError(f"the edits of the operands of '{value.name}' cannot be applied alone")
        read = {
            item: self._transfer_value(exchanged[item], scope) if item in exchanged else self._map_value(item)
            for item in node.inputs
            if item is not None
        }
        new = copy.copy(node)
        new.inputs = [None if item is None else read[item] for item in node.inputs]
        new.outputs = [None if item is None else Value(f"{item.name}_edited", item.type) for item in node.outputs]
        self._new_nodes.setdefault(scope, []).append(new)
        result = new.outputs[node.outputs.index(value)]
        assert result is not None
        return result

    def _transfer_value(self, value: Value, scope: Graph, itself: Value | None = None) -> Value:
        """A value of the right model in a graph of the left one: its counterpart, or a copy of what computes it."""
        if (value, scope) in self._cloned:
            return self._cloned[value, scope]
        twin = self._counterparts.get(value)
        is_readable = twin is not None and twin is not itself and twin not in self._hidden
        if twin is not None and is_readable and self._is_visible(twin, scope):
            return self._map_value(twin)
        node = self._right_producers.get(value)
        if value in self._invariants:
            self._cloned[value, scope] = self._transfer_value(self._invariants[value], scope)
        elif node is not None:
            self._clone_right_node(node, scope)
        elif value in self._right_constants or value.constant is not None:
            constant = self._cloned[value, scope] = self._with_left_shape(value)
            self._new_constants.setdefault(scope, []).append(constant)
        elif isinstance(self._right_inputs.get(value), np.ndarray):
            constant = self._cloned[value, scope] = Value(f"{value.name}_right", value.type, self._right_inputs[value])
            self._new_constants.setdefault(scope, []).append(constant)
        else:
            raise UsageError(f"'{value.name}' has no counterpart in the left model")
        return self._cloned[value, scope]

    def _with_left_shape(self, constant: Value) -> Value:
        """A constant of the right model, with the shape of the one whose place it takes, if they differ in axes of
        length 1 alone."""
        shape, data = self._left_shapes.get(constant.name), constant.constant
        if shape is None or not isinstance(data, np.ndarray) or data.shape == shape:
            return constant
        if [dim for dim in shape if dim != 1] != [dim for dim in data.shape if dim != 1]:
            return constant
        reshaped = Value(constant.name, TensorType(data.dtype, shape), data.reshape(shape))
        self._with_left_axes.add(reshaped)
        return reshaped

    def _is_visible(self, value: Value, scope: Graph) -> bool:
        owner: Graph | None = self._scopes.get(value)
        graph: Graph | None = scope
        while graph is not None:
            if graph is owner:
                return True
            graph = self._parents.get(graph)
        return False

    def _clone_right_node(self, node: Node, scope: Graph) -> None:
        """A copy of a right node in a graph of the left model, with fresh values for its results and inside it."""
        for value in node.outputs:
            if value is not None:
                self._cloned[value, scope] = Value(f"{value.name}_right", value.type)
        inside = {
            value: Value(value.name, value.type, value.constant, value.short_name)
            for _, body in bodies(node)
            for graph in walk_graphs(body)
            for value in _own_values(graph)
        }

        def copied(value: Value) -> Value:
            return inside[value] if value in inside else self._transfer_value(value, scope)

        new = _deep_copy(node, copied, copied, {})
        if isinstance(node, Loop) and self._hidden:
            # It takes the place of a loop, of which others know values by its path.
            twins = [self._counterparts.get(value) for value in node.body.inputs]
            bodies_of_twins = {self._scopes.get(twin) for twin in twins if twin is not None}
            new.name = next((loop.name for loop in loops(self._left) if loop.body in bodies_of_twins), node.name)
        if self._foreign_system is not None:
            new = _with_resolved_operators(new, self._foreign_system)
        self._new_nodes.setdefault(scope, []).append(new)

    # -- ports

    def _change_port(self, place: EditPlace, loop: Loop) -> None:
        """Let the copy of a loop or port be as the right one."""
        new, other = self._copies[place.left], place.right
        outer_names, inner_names, names = _PORT_FIELDS[place.role]
        for name in (*outer_names, *inner_names):
            value = getattr(other, name)
            if not isinstance(value, SlicedInput):
                scope = loop.body if name in inner_names else self._parents[loop.body]
                setattr(new, name, None if value is None else self._transfer_value(value, scope))
        # The systems differ in whether a part keeps its axis.
        result = getattr(new, "result", None)
        is_foreign = result in self._cloned.values() and result not in self._with_left_axes
        keeps_axis = self._foreign_system is not None and not is_foreign
        for name in names:
            if not (keeps_axis and name in ("drop_axis", "stack")):
                setattr(new, name, getattr(other, name))
        if place.role == "last value":
            param = None if other.edge is None else self._counterparts.get(other.edge.param)
            edges = (item for item in self._copies.values() if isinstance(item, BackEdge))
            new.edge = next((edge for edge in edges if edge.param is param), None)


def _deep_copy(
    item: Any, read: Callable[[Value], Value], define: Callable[[Value], Value], copies: dict[Any, Any]
) -> Any:
    """A copy of a graph, node or port and of those in it.

    Args:
        item: the original.
        read: gives the value to read in the place of one.
        define: gives the value to define in the place of one.
        copies: receives each copy, by its original.
    """
    if isinstance(item, Value):
        return read(item)
    if isinstance(item, list):
        return [_deep_copy(part, read, define, copies) for part in item]
    if isinstance(item, dict):
        return {_deep_copy(key, read, define, copies): content for key, content in item.items()}
    if not isinstance(item, _COPIED):
        return item
    if item not in copies:
        new = copies[item] = copy.copy(item)
        defined = {name for kind, name in _DEFINITIONS if isinstance(item, kind)}
        for name, content in vars(item).items():
            setattr(new, name, _deep_copy(content, define if name in defined else read, define, copies))
    return copies[item]


def _own_values(graph: Graph) -> Iterator[Value]:
    yield from (*graph.inputs, *graph.constants)
    yield from (value for node in graph.nodes for value in node.outputs if value is not None)


def _expansions(graph: Graph) -> list[set[Value]]:
    """For each operator that was expanded, all that the nodes compute that it was expanded into."""
    operators: dict[Node, set[Value]] = {}
    for inner in walk_graphs(graph):
        for node, operator in inner.expanded_from.items():
            inside = [_own_values(part) for _, body in bodies(node) for part in walk_graphs(body)]
            values = (value for value in node.outputs if value is not None)
            operators.setdefault(operator, set()).update(values, *inside)
    return list(operators.values())


def _ports(loop: Loop) -> Iterator[Any]:
    yield from (*loop.sliced_inputs, *loop.back_edges, *loop.last_values, *loop.scan_outputs)


def _list_values(loop: Loop) -> None:
    """Let a changed loop list what it reads, and its body what it gives."""
    results = [loop.condition, loop.ignored_condition, *(edge.result for edge in loop.back_edges)]
    results += [*(last.result for last in loop.last_values), *(scan.result for scan in loop.scan_outputs)]
    read = [loop.trip_count, loop.initial_condition, *(port.outer for port in loop.sliced_inputs)]
    read += [edge.initial for edge in loop.back_edges if isinstance(edge.initial, Value)]
    loop.body.outputs += dict.fromkeys(value for value in results if value and value not in loop.body.outputs)
    loop.inputs += dict.fromkeys(value for value in read if value and value not in loop.inputs)


def _exchanged_operands(places: Sequence[EditPlace]) -> dict[Any, set[tuple[Value, Value] | None]]:
    exchanged: dict[Any, set[tuple[Value, Value] | None]] = {}
    for place in places:
        if place.role == "value":
            exchanged.setdefault(place.left, set()).add(place.operand)
    return exchanged


def _with_resolved_operators(node: Node, system: System) -> Node:
    """A node of another system with its operator, and the nodes inside it."""
    for _, inner in bodies(node):
        inner.nodes = [_with_resolved_operators(child, system) for child in inner.nodes]
    if not isinstance(node, Operation):
        return node
    fields = node.name, node.op_type, node.domain, node.version, node.inputs, node.outputs, node.attributes
    return ResolvedOperation(*fields, source=node.source, op=resolve(node, system))


def _values_read_by_node(node: Node) -> Iterator[Value]:
    yield from (value for value in node.inputs if value is not None)
    for _, body in bodies(node):
        yield from captured_values(body)


def _sort_topologically(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in an order in which they can run."""
    positions = {value: k for k, node in enumerate(nodes) for value in node.outputs if value is not None}
    needs = [{positions[value] for value in _values_read_by_node(node) if value in positions} for node in nodes]
    order = topological_order(needs)
    if len(order) < len(nodes):
        raise UsageError("the chosen edits cannot be applied: a value would depend on itself")
    return [nodes[k] for k in order]


def _move_condition_nodes_first(loop: Loop) -> None:
    """Let the nodes that a condition needs, which is tested before the others run, be the first of a body."""
    producers = {value: node for node in loop.body.nodes for value in node.outputs if value is not None}
    needed: set[Node] = set()
    pending = [] if loop.condition is None else [loop.condition]
    while pending:
        node = producers.get(pending.pop())
        if node is not None and node not in needed:
            needed.add(node)
            pending += _values_read_by_node(node)
    loop.body.nodes = sorted(loop.body.nodes, key=lambda node: node not in needed)
    loop.condition_node_count = len(needed)
