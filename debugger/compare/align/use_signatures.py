"""What becomes of the values of a graph, by numbers: the same on both sides where the same is done with it, to the end.

That is to what comes after a value what its number (halves.py) is to what comes before it: in a chain of nodes that are
alike, one of which is gone, either tells where it stood, and only both tell that this is not known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ....runtime.graph import Node, Value
from .normal_form import COMMUTATIVE_OPERATORS
from .value_numbering import NumberedGraph, ValueNumberTable


class UseSignatures:
    """Of one graph's values. ``ends``: what is given out, and as what."""

    def __init__(
        self,
        half: NumberedGraph,
        table: ValueNumberTable,
        nodes: Sequence[Node],
        ends: Iterable[tuple[Value, Hashable]],
    ) -> None:
        self._graph = half
        self._table = table
        self._uses: dict[Value, list[int]] = {}
        self._signatures: dict[Value, int] = {}
        for value, end in ends:
            self._add_use(value, ("end", end))
        for node in reversed(nodes):
            if node.op_type != "Identity":
                self._add_node_uses(node)

    def signature(self, value: Value | None) -> int | None:
        """What becomes of a value; None where nothing reads it."""
        origin = None if value is None else self._graph.origin(value)
        if origin is None or origin not in self._uses:
            return None
        if origin not in self._signatures:
            self._signatures[origin] = self._table.number_for(("purpose", *sorted(self._uses[origin])))
        return self._signatures[origin]

    def signatures(self, values: Iterable[Value | None]) -> tuple[int | None, ...] | None:
        """What becomes of several values; None where nothing reads any of them."""
        found = tuple(self.signature(value) for value in values)
        return found if any(one is not None for one in found) else None

    def _add_node_uses(self, node: Node) -> None:
        form = self._graph.normal_form(node)
        results = self.signatures(node.outputs)
        for place, operand in enumerate(form.operands):
            if operand is not None:
                where = None if form.operator in COMMUTATIVE_OPERATORS else place
                self._add_use(operand.value, (form.operator, where, operand.transposed, results))
        for value in self._graph.captures(node):
            self._add_use(value, (form.operator, "inside", results))

    def _add_use(self, value: Value, what: Hashable) -> None:
        self._uses.setdefault(self._graph.origin(value), []).append(self._table.number_for(("use", what)))
