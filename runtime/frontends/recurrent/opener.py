"""Puts loops where a graph has recurrent operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from ...errors import LoopdbgError, ModelError
from ...graph import (
    Array,
    Graph,
    Node,
    Operation,
    System,
    Value,
    bodies,
    own_values,
)
from ...graph.origins import Origins
from ...ops.cells import STATES
from ...ops.eager import Eager
from ...ops.registry import keywords_of, resolve
from ...record import record
from .layers import Layer, layer_function
from .writer import Writer, tensor_type


def open_loops(graph: Graph) -> None:
    """Put loops where a graph, or a graph inside it, has recurrent operators.

    Raises:
        ModelError: attributes or inputs that the operator's specification rejects.
        UnsupportedError: an activation that no specification has.
    """
    _Opener(Origins.of(graph), graph.system).open(graph)


@record
class _Opener:
    origins: Origins
    system: System
    #: Values that follow from constants, as far as anybody asked.
    known: dict[Value, Array | None] = field(default_factory=dict)

    def open(self, graph: Graph) -> None:
        """Open the operators of a graph, and of the graphs inside it."""
        names: set[str] | None = None
        nodes: list[Node] = []
        for node in graph.nodes:
            for _, inner in bodies(node):
                self.open(inner)
            says = None
            if isinstance(node, Operation):
                says = layer_function(self.system, node.domain, node.op_type, node.version)
            if says is None:
                nodes.append(node)
                continue
            assert isinstance(node, Operation)
            if names is None:
                names = {value.name for value in own_values(graph)}
            made = self._made(node, says, graph, names)
            graph.opened.update((one, node) for one in made)
            nodes += made
        graph.nodes = nodes

    def _made(self, node: Operation, says: Callable[..., Layer], graph: Graph, names: set[str]) -> list[Node]:
        """The nodes for one operator.

        Raises:
            LoopdbgError: the operator is against its specification; the text begins with the node.
        """
        keywords = keywords_of(node, says, self.system)
        most = len(STATES[_kind(node)]) + 1
        if len(node.outputs) > most:
            raise ModelError(f"{node.describe()} has {len(node.outputs)} outputs; it has at most {most}")
        try:
            layer = says(None, *node.inputs, **keywords)
            return Writer(self.constant, node, layer, graph, names).nodes()
        except LoopdbgError as error:
            raise type(error)(f"{node.describe()}: {error}") from None

    def constant(self, value: Value | None) -> Array | None:
        """The numbers of a value that follows from constants."""
        if value is None or value.constant is not None:
            return None if value is None else value.constant
        if value not in self.known:
            self.known[value] = None
            self.known[value] = self._computed(value)
        return self.known[value]

    def _computed(self, value: Value) -> Array | None:
        node = self.origins.maker(value)
        if not isinstance(node, Operation):
            return None
        if node.op_type == "ShapeOf":  # what lengths of sequences are made of by OpenVINO's converter
            shape = tensor_type(node.inputs[0]).shape if node.inputs else None
            return np.array(shape, np.int64) if shape and all(isinstance(n, int) for n in shape) else None
        given = [self.constant(one) for one in node.inputs]
        if any(one is not None and array is None for one, array in zip(node.inputs, given, strict=True)):
            return None
        try:
            op = resolve(node, self.system)
            if not op.pure or op.random:
                return None
            with np.errstate(all="ignore"):
                return np.asarray(op.apply(Eager(), given)[node.outputs.index(value)])
        except Exception:  # whatever is wrong with it is said where it runs
            return None


def _kind(node: Node) -> str:
    return node.op_type.upper().removesuffix("SEQUENCE").removeprefix("DYNAMICQUANTIZE")
