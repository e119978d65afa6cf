"""Maps the nodes and values of a graph to the XML of its IR, so that parts and edited copies of a model keep everything
else unchanged."""

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
    """One layer of a file. ``network``: its network; ``values_by_port``: the values at output ports."""

    layer: IrLayer
    network: IrNetwork
    values_by_port: Mapping[PortKey, Value]


class IrSourceMap:
    """An IR's document, and the layer of each node and each constant of its graph."""

    def __init__(self, path: Path, weights: Path | None, graph: Graph) -> None:
        """``graph``: the graph that was read from the same file before.

        Raises:
            ModelError: the file has changed.
        """
        self.document = IrDocument(path)
        self.weights = path.with_suffix(".bin") if weights is None else weights
        reread, self._recorder = build_graph(_RecordingBuilder, self.document, weights)
        self._locations: dict[Node, IrLayerLocation] = {}
        self._scopes: dict[Graph, LayerScope] = {}
        self._original_values: dict[Value, Value] = {}
        self._pair_graphs(graph, reread)

    def locate(self, node: Node) -> IrLayerLocation | None:
        """The location of a node, or of the layer it was expanded from; None where the file has neither."""
        return self._locations.get(node)

    def value_at_port(self, location: IrLayerLocation, port: PortKey) -> Value | None:
        """The value at an output port in a layer's network; None where the graph does not have it."""
        return self._original_values.get(location.values_by_port[port])

    def layer_scope(self, body: Graph) -> LayerScope:
        """The layers of a body."""
        return self._scopes[body]

    def constant_layer(self, value: Value) -> tuple[IrLayer, Any] | None:
        """The Const layer of a value; None for other values."""
        return next(
            (
                layer
                for reread, layer in self._recorder.constant_layers.items()
                if self._original_values.get(reread) is value
            ),
            None,
        )

    def read_weights(self, offset: int, size: int) -> bytes:
        """Read bytes of the file with the constants.

        Raises:
            ModelError: they cannot be read.
        """
        try:
            with StableFile(self.weights) as file:
                return bytes(file.read_range(offset, offset + size))
        except OSError as error:
            raise ModelError(f"{self.weights}: cannot be read: {error.strerror or one_line(error)}") from None

    def _pair_graphs(self, graph: Graph, reread: Graph) -> None:
        for original, copied in ((graph.inputs, reread.inputs), (graph.constants, reread.constants)):
            self._pair_values(original, copied)
        if len(graph.nodes) != len(reread.nodes):
            raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
        if reread in self._recorder.scopes:
            self._scopes[graph] = self._recorder.scopes[reread]
        for node, twin in zip(graph.nodes, reread.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (twin.name, twin.op_type, len(bodies(twin))):
                raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
            location = self._recorder.layer_locations.get(twin) or self._recorder.layer_locations.get(
                reread.expanded_from.get(twin, twin)
            )
            if location is not None:
                self._locations[node] = location
            self._pair_values(node.inputs, twin.inputs)
            self._pair_values(node.outputs, twin.outputs)
            for (_, inner), (_, inner_twin) in zip(bodies(node), bodies(twin), strict=True):
                self._pair_graphs(inner, inner_twin)
        self._pair_values(graph.outputs, reread.outputs)

    def _pair_values(self, originals: list[Any], rereads: list[Any]) -> None:
        if len(originals) != len(rereads):
            raise ModelError(f"{self.document.path}: {FILE_CHANGED_MESSAGE}")
        for a, b in zip(originals, rereads, strict=True):
            if a is not None and b is not None:
                self._original_values[b] = a


class _RecordingBuilder(IrGraphBuilder):
    """A builder that records the layer of each node."""

    def __init__(self, document: IrDocument, blobs: IrConstantReader) -> None:
        super().__init__(document, blobs)
        self.layer_locations: dict[Node, IrLayerLocation] = {}
        self.scopes: dict[Graph, LayerScope] = {}
        self.constant_layers: dict[Value, tuple[IrLayer, Element]] = {}

    def build_scope(
        self,
        element: Element,
        name: str,
        label: str,
        captures: Mapping[int, Value] | None = None,
        outer: Collection[int] = (),
    ) -> LayerScope:
        scope = super().build_scope(element, name, label, captures, outer)
        self.scopes[scope.graph] = scope
        return scope

    def _build_node(self, layer: IrLayer, network: IrNetwork, values: Mapping[PortKey, Value], graph: Graph) -> Node:
        node = super()._build_node(layer, network, values, graph)
        self.layer_locations[node] = IrLayerLocation(layer, network, values)
        return node

    def _layer_values(self, layer: IrLayer) -> list[Value]:
        values = super()._layer_values(layer)
        if layer.kind in ("const", "constant"):
            self.constant_layers.update((value, (layer, layer.element)) for value in values)
        return values
