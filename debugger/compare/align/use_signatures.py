"""Signatures of the uses of a graph's values, equal on both sides if all transitive uses are equal.

They complement value numbers (value_numbering.py), which cover the operands: if a node is removed from a chain of equal
nodes, either one shows a position, and only both together show that the position is ambiguous.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ....runtime.graph import Node, Value
from .normal_form import COMMUTATIVE_OPERATORS
from .value_numbering import NumberedGraph, ValueNumberTable


class UseSignatures:
    """Use signatures of one graph. ``ends``: results of the graph with their roles."""

    def __init__(
        self,
        graph: NumberedGraph,
        table: ValueNumberTable,
        nodes: Sequence[Node],
        ends: Iterable[tuple[Value, Hashable]],
    ) -> None:
        self._graph = graph
        self._table = table
        self._uses: dict[Value, list[int]] = {}
        self._signatures: dict[Value, int] = {}
        for value, end in ends:
            self._add_use(value, ("end", end))
        for node in reversed(nodes):
            if node.op_type != "Identity":
                self._add_node_uses(node)

    def signature(self, value: Value | None) -> int | None:
        """The signature of the uses of a value; None if nothing reads it."""
        origin = None if value is None else self._graph.origin(value)
        if origin is None or origin not in self._uses:
            return None
        if origin not in self._signatures:
            self._signatures[origin] = self._table.number_for(("purpose", *sorted(self._uses[origin])))
        return self._signatures[origin]

    def signatures(self, values: Iterable[Value | None]) -> tuple[int | None, ...] | None:
        """The signatures of several values; None if nothing reads any of them."""
        signatures = tuple(self.signature(value) for value in values)
        return signatures if any(signature is not None for signature in signatures) else None

    def _add_node_uses(self, node: Node) -> None:
        form = self._graph.normal_form(node)
        results = self.signatures(node.outputs)
        for position, operand in enumerate(form.operands):
            if operand is not None:
                index = None if form.operator in COMMUTATIVE_OPERATORS else position
                self._add_use(operand.value, (form.operator, index, operand.transposed, results))
        for value in self._graph.captures(node):
            self._add_use(value, (form.operator, "inside", results))

    def _add_use(self, value: Value, key: Hashable) -> None:
        self._uses.setdefault(self._graph.origin(value), []).append(self._table.number_for(("use", key)))
