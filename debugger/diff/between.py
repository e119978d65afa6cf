"""What makes a value leave a reference: the nodes between what agrees with it and what no longer does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...runtime.graph import Loop, Node, Value, bodies, captured
from ..reference.reference import Key
from .findings import Cause, Difference, NodeDifference
from .iteration_values import Moment
from .layout import Layout, Spot

#: Nodes that are named.
_NAMED = 8


@dataclass
class Between:
    """One search back from a value in one iteration.

    ``known``: whether the reference has a value in an iteration; ``differs``: how that differs, where it does.
    """

    layout: Layout
    known: Callable[[Value, Key], bool]
    differs: Callable[[Value, Key], Difference | None]
    nodes: dict[Node, Key] = field(default_factory=dict)
    #: Carried values of which nothing is known.
    unknown: list[str] = field(default_factory=list)
    source: Difference | None = None

    def search(self, spot: Spot, key: Key) -> None:
        """Go back from a value that differs to values that do not."""
        # Of iterations before, each value once.
        seen: set[tuple[Value, bool]] = set()
        waiting = [(spot, key)]
        while waiting and self.source is None:
            here, at = waiting.pop(0)
            for value, before in self._fed(here, at):
                mark = value, before == key[: len(before)]
                if mark in seen or value.constant is not None:
                    continue
                seen.add(mark)
                found = self._next(here, value, before)
                if found is not None:
                    waiting.append(found)

    def _fed(self, spot: Spot, key: Key) -> list[tuple[Value, Key]]:
        """The values that one is made of."""
        came = self.layout.came_from(spot, key)
        if came is not None:
            return [came]
        if spot.node is None:
            return []
        if spot.node.op_type == "Constant" and self.nodes:
            return []
        self.nodes.setdefault(spot.node, key)
        fed = [value for value in spot.node.inputs if value is not None]
        fed += [value for _, inner in bodies(spot.node) for value in captured(inner)]
        # What a recurrent operator makes of its weights is computed ahead.
        operator = self.layout.operators.get(spot.node)
        fed += [] if operator is None else [value for value in operator.inputs if value is not None]
        return [(value, key) for value in fed]

    def _next(self, here: Spot, value: Value, key: Key) -> tuple[Spot, Key] | None:
        """Where the search goes on, None where it ends."""
        spot = self.layout.spots.get(value)
        if spot is None:
            return None
        key = key[: spot.depth]
        if self.known(value, key):
            self.source = self.source or self.differs(value, key)
            return None
        if isinstance(spot.node, Loop) and self._is_followed(spot.node, value, key):
            return None
        if spot.role == "carried" and key[-1] and here.node is not None:
            # An iteration before computed it: if nothing is known of that, it may have left the reference there.
            came = self.layout.came_from(spot, key)
            if came is not None and self.known(*came):
                return None
            self.unknown.append(spot.name)
        return spot, key

    def _is_followed(self, loop: Loop, value: Value, key: Key) -> bool:
        """Whether the reference has what the iterations of a loop gave for one of its results."""
        made = [last.result for last in loop.last_values if last.outer is value]
        made += [scan.result for scan in loop.scan_outputs if scan.outer is value]
        return any(self.known(result, (*key, 0)) for result in made)


def cause_of(found: Between, first: Difference, moment: Moment | None, others: Mapping[Value, str]) -> Cause | None:
    """What a search found. ``moment``: the values in the iteration in question; ``others``: names in the reference."""
    if found.source is not None:
        return Cause(found.source)
    ordered = sorted(found.nodes, key=lambda node: found.layout.order_of(node))
    nodes = list(dict.fromkeys(found.layout.operators.get(node, node) for node in ordered))
    if not nodes:
        return None
    if len(nodes) > 1 or found.unknown:
        return Cause(remark=_told(nodes, found.unknown), among=tuple(node.name for node in nodes))
    node = nodes[0]
    if isinstance(node, Loop):
        return Cause(remark=f"the loop '{node.name}' computes it", among=(node.name,))
    fed = [value for value in node.inputs if value is not None]
    read = [(value, moment.read(value)) for value in fed] if moment is not None else []
    inputs = [(value.name, data) for value, (there, data) in read if there]
    made = next((value for value in node.outputs if value is not None and value in others), None)
    other = "" if made is None else others[made]
    return Cause(None, NodeDifference(node.name, first.name, node.op_type, inputs, first, other, node.op_type))


def _told(nodes: list[Node], unknown: list[str]) -> str:
    named = ", ".join(_named(node) for node in nodes[:_NAMED])
    rest = nodes[_NAMED:]
    lines = ", ".join(dict.fromkeys(place for node in rest if (place := str(node.origin))))
    more = f" and {len(rest)} more{f' ({lines})' if lines else ''}" if rest else ""
    told = f"made by {named}{more}" if len(nodes) == 1 else f"made by one of these nodes, in this order: {named}{more}"
    if not unknown:
        return f"{told}; what goes into them agrees"
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(unknown))
    return f"{told}; there or in an iteration before, since the reference does not have what is carried as {names}"


def _named(node: Node) -> str:
    """A node with the line that it was written in, where its model tells."""
    place = str(node.origin)
    return f"{node.op_type} '{node.name}'{f' ({place})' if place else ''}"
