"""Where the nodes and values of a graph stand in the XML of its IR: what writes a part of a model, or a model with a
few changes, keeps everything else as it is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import ModelError, one_line
from ...graph import Graph, Node, Value, bodies
from ...record import record
from ...stable_file import StableFile
from .constants import IrConstantReader
from .ir_document import Element, IrDocument, IrLayer, IrNetwork, PortKey
from .loops import LayerScope
from .reader import IrGraphBuilder, build_graph

FILE_CHANGED_MESSAGE = "it, or its .bin, changed since it was opened; open it again"


@record(frozen=True, eq=False)
class IrLayerLocation:
    """One layer of a file. ``network``: the layers and edges around it; ``values``: what its output ports give."""

    layer: IrLayer
    network: IrNetwork
    values_by_port: Mapping[PortKey, Value]


class IrSourceMap:
    """An IR's document, and where in it each node and each constant of its graph stands."""

    def __init__(self, path: Path, weights: Path | None, graph: Graph) -> None:
        """``graph``: what was read from the same file before.

        Raises:
            ModelError: the file is another one by now.
        """
        self.document = IrDocument(path)
        self.weights = path.with_suffix(".bin") if weights is None else weights
        again, self._recorder = build_graph(_RecordingBuilder, self.document, weights)
        self._locations: dict[Node, IrLayerLocation] = {}
        self._scopes: dict[Graph, LayerScope] = {}
        self._original_values: dict[Value, Value] = {}
        self._pair_graphs(graph, again)

    def locate(self, node: Node) -> IrLayerLocation | None:
        """The place of a node, or of the layer of the file that it was made of; None where the file has neither."""
        return self._locations.get(node)

    def value_at_port(self, place: IrLayerLocation, port: PortKey) -> Value | None:
        """What an output port gives, beside a layer; None where nothing in the graph has it."""
        return self._original_values.get(place.values_by_port[port])

    def layer_scope(self, body: Graph) -> LayerScope:
        """The layers of a body."""
        return self._scopes[body]

    def constant_layer(self, value: Value) -> tuple[IrLayer, Any] | None:
        """The Const layer of a value; None where it is none."""
        return next(
            (
                layer
                for mine, layer in self._recorder.constant_layers.items()
                if self._original_values.get(mine) is value
            ),
            None,
        )

    def read_weights(self, offset: int, size: int) -> bytes:
        """Bytes of the file with the constants.

        Raises:
            ModelError: they cannot be read.
        """
        try:
            with StableFile(self.weights) as file:
                return bytes(file.read_range(offset, offset + size))
        except OSError as error:
            raise ModelError(f"{self.weights}: cannot be read: {error.strerror or one_line(error)}") from None

    def _pair_graphs(self, graph: Graph, again: Graph) -> None:
        for mine, theirs in ((graph.inputs, again.inputs), (graph.constants, again.constants)):
            self._pair_values(mine, theirs)
        if len(graph.nodes) != len(again.nodes):
            raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
        if again in self._recorder.scopes:
            self._scopes[graph] = self._recorder.scopes[again]
        for node, other in zip(graph.nodes, again.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (other.name, other.op_type, len(bodies(other))):
                raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
            found = self._recorder.layer_locations.get(other) or self._recorder.layer_locations.get(
                again.expanded_from.get(other, other)
            )
            if found is not None:
                self._locations[node] = found
            self._pair_values(node.inputs, other.inputs)
            self._pair_values(node.outputs, other.outputs)
            for (_, inner), (_, same) in zip(bodies(node), bodies(other), strict=True):
                self._pair_graphs(inner, same)
        self._pair_values(graph.outputs, again.outputs)

    def _pair_values(self, mine: list[Any], theirs: list[Any]) -> None:
        if len(mine) != len(theirs):
            raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
        for a, b in zip(mine, theirs, strict=True):
            if a is not None and b is not None:
                self._original_values[b] = a


class _RecordingBuilder(IrGraphBuilder):
    """The builder, taking note of what it makes of which layer."""

    def __init__(self, document: IrDocument, blobs: IrConstantReader) -> None:
        super().__init__(document, blobs)
        self.layer_locations: dict[Node, IrLayerLocation] = {}
        self.scopes: dict[Graph, LayerScope] = {}
        self.constant_layers: dict[Value, tuple[IrLayer, Element]] = {}

    def build_scope(
        self,
        element: Element,
        name: str,
        where: str,
        captures: Mapping[int, Value] | None = None,
        outer: Collection[int] = (),
    ) -> LayerScope:
        made = super().build_scope(element, name, where, captures, outer)
        self.scopes[made.graph] = made
        return made

    def _build_node(self, layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], graph: Graph) -> Node:
        node = super()._build_node(layer, network, values, graph)
        self.layer_locations[node] = IrLayerLocation(layer, network, values)
        return node

    def _layer_values(self, layer: IrLayer) -> list[Value]:
        made = super()._layer_values(layer)
        if layer.kind in ("const", "constant"):
            self.constant_layers.update((value, (layer, layer.element)) for value in made)
        return made
