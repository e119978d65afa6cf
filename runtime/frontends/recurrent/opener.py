"""Puts loops where a graph has recurrent operators."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import LoopdbgError, ModelError
from ...graph import (
    Graph,
    Node,
    Operation,
    System,
    bodies,
    own_values,
    walk,
)
from ...graph.origins import Origins
from ...ops.cells import STATES
from ...ops.constants import Constants
from ...ops.registry import keywords_of
from ...record import record
from .layers import Layer, layer_function
from .writer import Writer


def open_loops(graph: Graph) -> None:
    """Put loops where a graph, or a graph inside it, has recurrent operators.

    Raises:
        ModelError: attributes or inputs that the operator's specification rejects.
        UnsupportedError: an activation that no specification has.
    """
    _Opener(Constants(Origins.of(graph), graph.system), graph.system).open(graph)


@record
class _Opener:
    constants: Constants
    system: System

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
            for one in walk(Graph("made", nodes=made)):
                one.source = node.source
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
            return Writer(self.constants.of, node, layer, graph, names).nodes()
        except LoopdbgError as error:
            raise type(error)(f"{node.describe()}: {error}") from None


def _kind(node: Node) -> str:
    return node.op_type.upper().removesuffix("SEQUENCE").removeprefix("DYNAMICQUANTIZE")
