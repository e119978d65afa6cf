"""Replaces recurrent operators by loops."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ErrorFields, LoopdbgError, ModelError
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
    """Expand the recurrent operators of a graph, and of the graphs inside it, into loops.

    Raises:
        ModelError: invalid attributes or inputs of an operator.
        UnsupportedError: an unknown activation.
    """
    _RecurrentExpander(ConstantFolder(ProducerMap.for_graph(graph), graph.system), graph.system).expand(graph)


@record
class _RecurrentExpander:
    constants: ConstantFolder
    system: System

    def expand(self, graph: Graph) -> None:
        """Expand the operators of a graph, and of the graphs inside it."""
        names: set[str] | None = None
        nodes: list[Node] = []
        for node in graph.nodes:
            for _, inner in bodies(node):
                self.expand(inner)
            build_layer = None
            if isinstance(node, Operation):
                build_layer = layer_function(self.system, node.domain, node.op_type, node.version)
            if build_layer is None:
                nodes.append(node)
                continue
            assert isinstance(node, Operation)
            if names is None:
                names = {value.name for value in own_values(graph)}
            expanded = self._expand_node(node, build_layer, graph, names)
            graph.expanded_from.update((inner_node, node) for inner_node in expanded)
            for inner_node in walk(Graph("made", nodes=expanded)):
                inner_node.source = node.source
            nodes += expanded
        graph.nodes = nodes

    def _expand_node(
        self, node: Operation, build_layer: Callable[..., RecurrentLayer], graph: Graph, names: set[str]
    ) -> list[Node]:
        """Return the nodes for one operator.

        Raises:
            LoopdbgError: the operator violates its specification; the message begins with the node.
        """
        keywords = attribute_keywords(node, build_layer, self.system)
        maximum = len(STATE_NAMES[_cell_kind(node)]) + 1
        if len(node.outputs) > maximum:
            raise ModelError(
                f"{node.describe()} has {len(node.outputs)} outputs; it has at most {maximum}",
                **node.error_fields,
                name="outputs",
                expected=f"at most {maximum}",
                got=str(len(node.outputs)),
            )
        try:
            layer = build_layer(None, *node.inputs, **keywords)
            return RecurrentLowering(self.constants.value_of, node, layer, graph, names).lower()
        except LoopdbgError as error:
            fields: ErrorFields = {**node.error_fields, **error.fields}
            raise type(error)(f"{node.describe()}: {error.what}", error.remedy, **fields) from None


def _cell_kind(node: Node) -> str:
    return node.op_type.upper().removesuffix("SEQUENCE").removeprefix("DYNAMICQUANTIZE")
