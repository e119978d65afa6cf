"""Where the nodes and values of a graph stand in the XML of its IR: what writes a part of a model, or a model with a
few changes, keeps everything else as it is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ...errors import ModelError, one_line
from ...files import Held
from ...graph import Graph, Node, Value, bodies
from ...record import record
from .constants import Blobs
from .loops import LayerScope
from .reader import Builder, built
from .xml import Document, Element, Layer, Network, Port

CHANGED = "it, or its .bin, changed since it was opened; open it again"


@record(frozen=True, eq=False)
class Place:
    """One layer of a file. ``network``: the layers and edges around it; ``values``: what its output ports give."""

    layer: Layer
    network: Network
    values: Mapping[Port, Value]


class Places:
    """An IR's document, and where in it each node and each constant of its graph stands."""

    def __init__(self, path: Path, weights: Path | None, graph: Graph) -> None:
        """``graph``: what was read from the same file before.

        Raises:
            ModelError: the file is another one by now.
        """
        self.document = Document(path)
        self.weights = path.with_suffix(".bin") if weights is None else weights
        again, self._noted = built(_Noting, self.document, weights)
        self._nodes: dict[Node, Place] = {}
        self._scopes: dict[Graph, LayerScope] = {}
        self._back: dict[Value, Value] = {}
        self._pair(graph, again)

    def of(self, node: Node) -> Place | None:
        """The place of a node, or of the layer of the file that it was made of; None where the file has neither."""
        return self._nodes.get(node)

    def value(self, place: Place, port: Port) -> Value | None:
        """What an output port gives, beside a layer; None where nothing in the graph has it."""
        return self._back.get(place.values[port])

    def scope_of(self, body: Graph) -> LayerScope:
        """The layers of a body."""
        return self._scopes[body]

    def constant(self, value: Value) -> tuple[Layer, Any] | None:
        """The Const layer of a value; None where it is none."""
        return next((layer for mine, layer in self._noted.constants.items() if self._back.get(mine) is value), None)

    def bytes_at(self, offset: int, size: int) -> bytes:
        """Bytes of the file with the constants.

        Raises:
            ModelError: they cannot be read.
        """
        try:
            with Held(self.weights) as file:
                return bytes(file.piece(offset, offset + size))
        except OSError as error:
            raise ModelError(f"{self.weights}: cannot be read: {error.strerror or one_line(error)}") from None

    def _pair(self, graph: Graph, again: Graph) -> None:
        for mine, theirs in ((graph.inputs, again.inputs), (graph.constants, again.constants)):
            self._alike(mine, theirs)
        if len(graph.nodes) != len(again.nodes):
            raise ModelError(f"{self.document.path}: {CHANGED}")
        if again in self._noted.scopes:
            self._scopes[graph] = self._noted.scopes[again]
        for node, other in zip(graph.nodes, again.nodes, strict=True):
            if (node.name, node.op_type, len(bodies(node))) != (other.name, other.op_type, len(bodies(other))):
                raise ModelError(f"{self.document.path}: {CHANGED}")
            found = self._noted.places.get(other) or self._noted.places.get(again.opened.get(other, other))
            if found is not None:
                self._nodes[node] = found
            self._alike(node.inputs, other.inputs)
            self._alike(node.outputs, other.outputs)
            for (_, inner), (_, same) in zip(bodies(node), bodies(other), strict=True):
                self._pair(inner, same)
        self._alike(graph.outputs, again.outputs)

    def _alike(self, mine: list[Any], theirs: list[Any]) -> None:
        if len(mine) != len(theirs):
            raise ModelError(f"{self.document.path}: {CHANGED}")
        for a, b in zip(mine, theirs, strict=True):
            if a is not None and b is not None:
                self._back[b] = a


class _Noting(Builder):
    """The builder, taking note of what it makes of which layer."""

    def __init__(self, document: Document, blobs: Blobs) -> None:
        super().__init__(document, blobs)
        self.places: dict[Node, Place] = {}
        self.scopes: dict[Graph, LayerScope] = {}
        self.constants: dict[Value, tuple[Layer, Element]] = {}

    def scope(
        self,
        element: Element,
        name: str,
        where: str,
        captures: Mapping[int, Value] | None = None,
        outer: Collection[int] = (),
    ) -> LayerScope:
        made = super().scope(element, name, where, captures, outer)
        self.scopes[made.graph] = made
        return made

    def _node(self, layer: Layer, network: Network, values: Mapping[Port, Value], graph: Graph) -> Node:
        node = super()._node(layer, network, values, graph)
        self.places[node] = Place(layer, network, values)
        return node

    def _values(self, layer: Layer) -> list[Value]:
        made = super()._values(layer)
        if layer.kind in ("const", "constant"):
            self.constants.update((value, (layer, layer.element)) for value in made)
        return made
