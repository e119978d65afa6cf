"""Finds the smallest set of nodes between the last matching and the first diverging value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ....runtime.graph import Loop, Node, Value, bodies, captured_values
from ...reference.reference import Key
from ..reference_match.value_locations import LocationIndex, ValueLocation
from ..report.findings import Cause, Difference, NodeDifference
from ..running.value_readers import ValueReader

#: The most nodes named in a message.
_MAX_NAMED_NODES = 8


@dataclass
class DivergenceSearch:
    """A backward search from a value in one iteration.

    ``is_recorded``: whether the reference has a value in an iteration; ``difference_at``: how it differs, if it does.
    """

    layout: LocationIndex
    is_recorded: Callable[[Value, Key], bool]
    difference_at: Callable[[Value, Key], Difference | None]
    nodes: dict[Node, Key] = field(default_factory=dict)
    #: Carried values that the reference lacks.
    unrecorded_carried: list[str] = field(default_factory=list)
    source: Difference | None = None

    def search(self, location: ValueLocation, key: Key) -> None:
        """Search backward from a differing value to matching values."""
        # In earlier iterations, each value is visited once.
        seen: set[tuple[Value, bool]] = set()
        queue = [(location, key)]
        while queue and self.source is None:
            current, current_key = queue.pop(0)
            for value, source_key in self._operand_values(current, current_key):
                visit = value, source_key == key[: len(source_key)]
                if visit in seen or value.constant is not None:
                    continue
                seen.add(visit)
                next_step = self._continue_at(current, value, source_key)
                if next_step is not None:
                    queue.append(next_step)

    def _operand_values(self, location: ValueLocation, key: Key) -> list[tuple[Value, Key]]:
        """The values that a value is computed from."""
        source = self.layout.parameter_source(location, key)
        if source is not None:
            return [source]
        if location.node is None:
            return []
        if location.node.op_type == "Constant" and self.nodes:
            return []
        self.nodes.setdefault(location.node, key)
        operands = [value for value in location.node.inputs if value is not None]
        operands += [value for _, inner in bodies(location.node) for value in captured_values(inner)]
        # Weights of a recurrent operator are preprocessed.
        operator = self.layout.operators.get(location.node)
        operands += [] if operator is None else [value for value in operator.inputs if value is not None]
        return [(value, key) for value in operands]

    def _continue_at(self, reader: ValueLocation, value: Value, key: Key) -> tuple[ValueLocation, Key] | None:
        """The next location of the search; None where it ends."""
        location = self.layout.locations.get(value)
        if location is None:
            return None
        key = key[: location.depth]
        if self.is_recorded(value, key):
            self.source = self.source or self.difference_at(value, key)
            return None
        if isinstance(location.node, Loop) and self._has_recorded_iterations(location.node, value, key):
            return None
        if location.role == "carried" and key[-1] and reader.node is not None:
            # Computed by an earlier iteration: unless the reference has it, the divergence may be there.
            source = self.layout.parameter_source(location, key)
            if source is not None and self.is_recorded(*source):
                return None
            self.unrecorded_carried.append(location.name)
        return location, key

    def _has_recorded_iterations(self, loop: Loop, value: Value, key: Key) -> bool:
        """Whether the reference has the per-iteration values behind a result of a loop."""
        results = [last.result for last in loop.last_values if last.outer is value]
        results += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        return any(self.is_recorded(result, (*key, 0)) for result in results)


def cause_from_search(
    search: DivergenceSearch, first: Difference, reader: ValueReader | None, others: Mapping[Value, str]
) -> Cause | None:
    """The result of a search. ``reader``: values of the iteration; ``others``: names in the reference."""
    if search.source is not None:
        return Cause(search.source)
    ordered = sorted(search.nodes, key=lambda node: search.layout.node_order(node))
    nodes = list(dict.fromkeys(search.layout.operators.get(node, node) for node in ordered))
    if not nodes:
        return None
    if len(nodes) > 1 or search.unrecorded_carried:
        return Cause(
            remark=_producing_nodes_text(nodes, search.unrecorded_carried),
            candidate_nodes=tuple(node.name for node in nodes),
        )
    node = nodes[0]
    if isinstance(node, Loop):
        return Cause(remark=f"the loop '{node.name}' computes it", candidate_nodes=(node.name,))
    operands = [value for value in node.inputs if value is not None]
    values = [(value, reader.read(value)) for value in operands] if reader is not None else []
    inputs = [(value.name, data) for value, (is_known, data) in values if is_known]
    output = next((value for value in node.outputs if value is not None and value in others), None)
    other = "" if output is None else others[output]
    return Cause(None, NodeDifference(node.name, first.name, node.op_type, inputs, first, other, node.op_type))


def _producing_nodes_text(nodes: list[Node], unknown: list[str]) -> str:
    head = ", ".join(_node_text(node) for node in nodes[:_MAX_NAMED_NODES])
    others = nodes[_MAX_NAMED_NODES:]
    lines = ", ".join(dict.fromkeys(line for node in others if (line := str(node.origin))))
    tail = f" and {len(others)} more{f' ({lines})' if lines else ''}" if others else ""
    text = f"made by {head}{tail}" if len(nodes) == 1 else f"made by one of these nodes, in this order: {head}{tail}"
    if not unknown:
        return f"{text}; what goes into them agrees"
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(unknown))
    return f"{text}; there or in an iteration before, since the reference does not have what is carried as {names}"


def _node_text(node: Node) -> str:
    """A node with its source line if known."""
    location = str(node.origin)
    return f"{node.op_type} '{node.name}'{f' ({location})' if location else ''}"
