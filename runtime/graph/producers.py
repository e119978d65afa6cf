"""The producers of a graph's values, determined statically."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .loop_graph import Graph, Node, Operation, Value, walk


class ProducerMap(dict[Value, Node]):
    """The node that computes each value, in all graphs of a model; inputs, parameters and constants have none."""

    @classmethod
    def for_graph(cls, graph: Graph) -> Self:
        """The producers of all values of a graph and of the graphs inside it."""
        producers = cls()
        for node in walk(graph):
            producers.add(node)
        return producers

    def add(self, node: Node) -> None:
        """Register a node's outputs."""
        for value in node.outputs:
            if value is not None:
                self[value] = node

    def skip_identities(self, value: Value) -> Value:
        """The value itself, or the source of the chain of Identity nodes that ends in it."""
        node = self.get(value)
        while node is not None and node.op_type == "Identity" and not node.is_custom_operator:
            if not node.inputs or node.inputs[0] is None:
                break
            value = node.inputs[0]
            node = self.get(value)
        return value

    def constant_scalar(self, value: Value | None) -> Any:
        """The number or Boolean of a one-element constant, also of a Constant node; None where it is unknown."""
        if value is None:
            return None
        value = self.skip_identities(value)
        data: Any = value.constant
        node = self.get(value)
        if isinstance(node, Operation) and node.op_type == "Constant" and not node.is_custom_operator:
            data = next(iter(node.attributes.values()), None)
        if data is None or np.size(data) != 1:
            return None
        element = np.asarray(data).reshape(())
        return None if element.dtype.kind in "OSU" else element.item()

    def constant_integer(self, value: Value | None) -> int | None:
        """The integer of a one-element constant; None where it is unknown or not an integer."""
        number = self.constant_scalar(value)
        return number if type(number) is int else None
