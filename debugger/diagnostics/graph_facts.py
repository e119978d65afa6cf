"""What the checks of nodes need to know of a graph: readers of values, and which values decide."""

from __future__ import annotations

from collections.abc import Container

from ...runtime.graph import Graph, If, Loop, Node, Operation, Value, loops, walk
from ...runtime.graph.producers import ProducerMap
from ..describe.node_text import NodeFormatter

#: Operators whose result is a truth value made of that of an operand.
_PASSES_TRUTH_ON = frozenset(
    {"Not", "And", "Or", "Xor", "LogicalNot", "LogicalAnd", "LogicalOr", "LogicalXor", "Cast", "Convert", "Identity",
     "Squeeze", "Unsqueeze", "Reshape", "Expand", "Broadcast", "ReduceMin", "ReduceMax", "ReduceLogicalAnd",
     "ReduceLogicalOr", "ReduceProd", "ReduceSum"}
)  # fmt: skip


class GraphFacts:
    """Producers and readers of all values of a model. ``constants``: values that are computed from constants."""

    def __init__(self, graph: Graph, constants: Container[Value]) -> None:
        self._constants = constants
        self.system = graph.system
        self.origins = ProducerMap.for_graph(graph)
        self.formatter = NodeFormatter(self.origins)
        self._readers: dict[Value, list[Node]] = {}
        self._deciding: dict[Value, str] = {}
        for node in walk(graph):
            for value in node.inputs:
                if value is not None:
                    self._readers.setdefault(value, []).append(node)
        for loop in loops(graph):
            if loop.condition is not None:
                self._deciding[loop.condition] = f"the condition of loop '{loop.name}'"
        self._varying: dict[Loop, set[Value]] = {}

    def readers(self, value: Value | None) -> list[Node]:
        """The nodes that read a value."""
        return [] if value is None else self._readers.get(value, [])

    def deciding_use(self, value: Value | None) -> str:
        """What a truth value decides: a loop's condition, a Where or an If; "" if nothing does."""
        pending, seen = [value], set[Value]()
        while pending:
            current = pending.pop()
            if current is None or current in seen:
                continue
            seen.add(current)
            if current in self._deciding:
                return self._deciding[current]
            for node in self.readers(current):
                if node.op_type in ("Where", "Select") and node.inputs[0] is current:
                    return f"{node.op_type} '{node.name}'"
                if isinstance(node, If):
                    return f"If '{node.name}'"
                if node.op_type in _PASSES_TRUTH_ON:
                    pending += node.outputs
        return ""

    def varies_between_iterations(self, loop: Loop | None, value: Value | None) -> bool:
        """Whether a value may differ between the iterations of a loop: the body computes it from what it gets."""
        if loop is None or value is None:
            return False
        if loop not in self._varying:
            fixed = {entry.inner for entry in loop.invariants}
            varying = {entry for entry in loop.body.inputs if entry not in fixed}
            for node in walk(loop.body):
                if isinstance(node, Loop) or any(entry in varying for entry in node.inputs):
                    varying.update(entry for entry in node.outputs if entry is not None)
            self._varying[loop] = varying
        return value in self._varying[loop]

    def is_constant(self, value: Value | None) -> bool:
        """Whether a value is a constant of the model, or computed from constants."""
        return value is not None and (value.constant is not None or value in self._constants)

    def text(self, node: Operation) -> str:
        """A node as pseudo-code."""
        return self.formatter.assignment(node)
