"""What makes a value leave a reference: the nodes between what agrees with it and what no longer does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ....runtime.graph import Loop, Node, Value, bodies, captured_values
from ...reference.reference import Key
from ..reference_match.value_locations import LocationIndex, ValueLocation
from ..report.findings import Cause, Difference, NodeDifference
from ..running.value_readers import ValueReader

#: Nodes that are named.
_MAX_NAMED_NODES = 8


@dataclass
class DivergenceSearch:
    """One search back from a value in one iteration.

    ``known``: whether the reference has a value in an iteration; ``differs``: how that differs, where it does.
    """

    layout: LocationIndex
    is_recorded: Callable[[Value, Key], bool]
    difference_at: Callable[[Value, Key], Difference | None]
    nodes: dict[Node, Key] = field(default_factory=dict)
    #: Carried values of which nothing is known.
    unrecorded_carried: list[str] = field(default_factory=list)
    source: Difference | None = None

    def search(self, spot: ValueLocation, key: Key) -> None:
        """Go back from a value that differs to values that do not."""
        # Of iterations before, each value once.
        seen: set[tuple[Value, bool]] = set()
        waiting = [(spot, key)]
        while waiting and self.source is None:
            here, at = waiting.pop(0)
            for value, before in self._source_values(here, at):
                mark = value, before == key[: len(before)]
                if mark in seen or value.constant is not None:
                    continue
                seen.add(mark)
                found = self._continue_at(here, value, before)
                if found is not None:
                    waiting.append(found)

    def _source_values(self, spot: ValueLocation, key: Key) -> list[tuple[Value, Key]]:
        """The values that one is made of."""
        came = self.layout.parameter_source(spot, key)
        if came is not None:
            return [came]
        if spot.node is None:
            return []
        if spot.node.op_type == "Constant" and self.nodes:
            return []
        self.nodes.setdefault(spot.node, key)
        fed = [value for value in spot.node.inputs if value is not None]
        fed += [value for _, inner in bodies(spot.node) for value in captured_values(inner)]
        # What a recurrent operator makes of its weights is computed ahead.
        operator = self.layout.operators.get(spot.node)
        fed += [] if operator is None else [value for value in operator.inputs if value is not None]
        return [(value, key) for value in fed]

    def _continue_at(self, here: ValueLocation, value: Value, key: Key) -> tuple[ValueLocation, Key] | None:
        """Where the search goes on, None where it ends."""
        spot = self.layout.locations.get(value)
        if spot is None:
            return None
        key = key[: spot.depth]
        if self.is_recorded(value, key):
            self.source = self.source or self.difference_at(value, key)
            return None
        if isinstance(spot.node, Loop) and self._has_recorded_iterations(spot.node, value, key):
            return None
        if spot.role == "carried" and key[-1] and here.node is not None:
            # An iteration before computed it: if nothing is known of that, it may have left the reference there.
            came = self.layout.parameter_source(spot, key)
            if came is not None and self.is_recorded(*came):
                return None
            self.unrecorded_carried.append(spot.name)
        return spot, key

    def _has_recorded_iterations(self, loop: Loop, value: Value, key: Key) -> bool:
        """Whether the reference has what the iterations of a loop gave for one of its results."""
        made = [last.result for last in loop.last_values if last.outer is value]
        made += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        return any(self.is_recorded(result, (*key, 0)) for result in made)


def cause_from_search(
    found: DivergenceSearch, first: Difference, moment: ValueReader | None, others: Mapping[Value, str]
) -> Cause | None:
    """What a search found. ``moment``: the values in the iteration in question; ``others``: names in the reference."""
    if found.source is not None:
        return Cause(found.source)
    ordered = sorted(found.nodes, key=lambda node: found.layout.node_order(node))
    nodes = list(dict.fromkeys(found.layout.operators.get(node, node) for node in ordered))
    if not nodes:
        return None
    if len(nodes) > 1 or found.unrecorded_carried:
        return Cause(
            remark=_remark(nodes, found.unrecorded_carried), candidate_nodes=tuple(node.name for node in nodes)
        )
    node = nodes[0]
    if isinstance(node, Loop):
        return Cause(remark=f"the loop '{node.name}' computes it", candidate_nodes=(node.name,))
    fed = [value for value in node.inputs if value is not None]
    read = [(value, moment.read(value)) for value in fed] if moment is not None else []
    inputs = [(value.name, data) for value, (there, data) in read if there]
    made = next((value for value in node.outputs if value is not None and value in others), None)
    other = "" if made is None else others[made]
    return Cause(None, NodeDifference(node.name, first.name, node.op_type, inputs, first, other, node.op_type))


def _remark(nodes: list[Node], unknown: list[str]) -> str:
    named = ", ".join(_node_text(node) for node in nodes[:_MAX_NAMED_NODES])
    rest = nodes[_MAX_NAMED_NODES:]
    lines = ", ".join(dict.fromkeys(place for node in rest if (place := str(node.origin))))
    more = f" and {len(rest)} more{f' ({lines})' if lines else ''}" if rest else ""
    told = f"made by {named}{more}" if len(nodes) == 1 else f"made by one of these nodes, in this order: {named}{more}"
    if not unknown:
        return f"{told}; what goes into them agrees"
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(unknown))
    return f"{told}; there or in an iteration before, since the reference does not have what is carried as {names}"


def _node_text(node: Node) -> str:
    """A node with the line that it was written in, where its model tells."""
    place = str(node.origin)
    return f"{node.op_type} '{node.name}'{f' ({place})' if place else ''}"
