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
from ...graph.producers import ProducerMap
from ...ops.constant_folding import ConstantFolder
from ...ops.recurrent_cells import STATE_NAMES
from ...ops.registry import attribute_keywords
from ...record import record
from .layers import RecurrentLayer, layer_function
from .loop_lowering import RecurrentLowering


def expand_recurrent_operators(graph: Graph) -> None:
    """Put loops where a graph, or a graph inside it, has recurrent operators.

    Raises:
        ModelError: attributes or inputs that the operator's specification rejects.
        UnsupportedError: an activation that no specification has.
    """
    _RecurrentExpander(ConstantFolder(ProducerMap.for_graph(graph), graph.system), graph.system).expand(graph)


@record
class _RecurrentExpander:
    constants: ConstantFolder
    system: System

    def expand(self, graph: Graph) -> None:
        """Open the operators of a graph, and of the graphs inside it."""
        names: set[str] | None = None
        nodes: list[Node] = []
        for node in graph.nodes:
            for _, inner in bodies(node):
                self.expand(inner)
            says = None
            if isinstance(node, Operation):
                says = layer_function(self.system, node.domain, node.op_type, node.version)
            if says is None:
                nodes.append(node)
                continue
            assert isinstance(node, Operation)
            if names is None:
                names = {value.name for value in own_values(graph)}
            made = self._expand_node(node, says, graph, names)
            graph.expanded_from.update((one, node) for one in made)
            for one in walk(Graph("made", nodes=made)):
                one.source = node.source
            nodes += made
        graph.nodes = nodes

    def _expand_node(
        self, node: Operation, says: Callable[..., RecurrentLayer], graph: Graph, names: set[str]
    ) -> list[Node]:
        """The nodes for one operator.

        Raises:
            LoopdbgError: the operator is against its specification; the text begins with the node.
        """
        keywords = attribute_keywords(node, says, self.system)
        most = len(STATE_NAMES[_cell_kind(node)]) + 1
        if len(node.outputs) > most:
            raise ModelError(f"{node.describe()} has {len(node.outputs)} outputs; it has at most {most}")
        try:
            layer = says(None, *node.inputs, **keywords)
            return RecurrentLowering(self.constants.value_of, node, layer, graph, names).lower()
        except LoopdbgError as error:
            raise type(error)(f"{node.describe()}: {error}") from None


def _cell_kind(node: Node) -> str:
    return node.op_type.upper().removesuffix("SEQUENCE").removeprefix("DYNAMICQUANTIZE")
