"""An OpenVINO IR that is edited, or of which parts are copied.

New data are appended to the .bin, so that constants that share bytes are not affected.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from lxml import etree

from ..atomic_file import atomic_binary, write_bytes
from ..dtypes import dtype_to_openvino
from ..errors import ModelError, UnsupportedError, file_error
from ..frontends.openvino.constants import IrConstantReader
from ..frontends.openvino.ir_document import Element, IrLayer, IrNetwork, IrXml, PortKey
from ..frontends.openvino.loops import LayerScope
from ..frontends.openvino.reader import IrGraphBuilder, build_graph
from ..graph import Array, Graph, Loop, Node, Value
from ..record import record
from ..safe_file_reading import StableFile
from .ir_graph import IrGraph, add_port, input_ports, output_ports, port_precision, set_port_shape
from .model_file import CONTROL_INPUTS, ModelFile

#: The alignment of constants.
ALIGNMENT_BYTES = 64


@record(frozen=True, eq=False)
class IrLayerLocation:
    """One layer of a file. ``network``: its network; ``values_by_port``: the values at output ports."""

    layer: IrLayer
    network: IrNetwork
    values_by_port: Mapping[PortKey, Value]


class IrFile(ModelFile[IrLayerLocation]):
    """An IR's document, and the layer of each node and each constant of its graph."""

    FILE_CHANGED_MESSAGE = "it, or its .bin, changed since it was opened; open it again"

    def __init__(self, path: Path, weights: Path | None, graph: Graph) -> None:
        """``graph``: the graph that was read from the same file before.

        Raises:
            ModelError: the file has changed.
        """
        self.document = IrXml(path)
        self.weights = path.with_suffix(".bin") if weights is None else weights
        reread, self._recorder = build_graph(_RecordingBuilder, self.document, weights)
        super().__init__(path, graph, reread, self._recorder.layer_locations)
        self._weights_size = self.weights.stat().st_size if self.weights.exists() else 0
        self._appended_bytes = bytearray()

    def value_at_port(self, location: IrLayerLocation, port: PortKey) -> Value | None:
        """The value at an output port in a layer's network; None where the graph does not have it."""
        return self.original_value(location.values_by_port[port])

    def layer_scope(self, body: Graph) -> LayerScope:
        """The layers of a body."""
        return self._recorder.scopes[self.reread_graphs[body]]

    def read_weights(self, offset: int, size: int) -> bytes:
        """Read bytes of the file with the constants.

        Raises:
            ModelError: they cannot be read.
        """
        try:
            with StableFile(self.weights) as file:
                return bytes(file.read_range(offset, offset + size))
        except OSError as error:
            raise file_error(ModelError, self.weights, "cannot be read", error) from None

    # -- edits

    def set_constant(self, value: Value, data: Array) -> None:
        layers = self._recorder.constant_layers.items()
        layer = next((layer for reread, layer in layers if self.original_value(reread) is value), None)
        if layer is None:
            raise UnsupportedError(f"'{value.name}' is no Const of the file", name=value.name)
        kind = (layer.data.get("element_type") or layer.outputs[0].precision or "").lower()
        element_type = dtype_to_openvino(data.dtype)
        if kind not in (element_type, port_precision(element_type).lower()) or kind[1:2] == "4":
            raise UnsupportedError(
                f"'{value.name}' is stored as {kind}, which is not written; decompress the model",
                name=value.name,
                got=kind,
            )
        self._append_data(layer.element, data)

    def set_initial_value(self, loop: Loop, param: Value, data: Array) -> None:
        location = self._require_location(loop)
        scope = self.layer_scope(loop.body)
        parameters = dict(zip(loop.body.inputs, scope.parameters, strict=False))
        entries, _ = self.document.port_map(location.layer)
        external = next((entry.external for entry in entries if entry.internal == parameters[param]), None)
        if external is None:
            raise UnsupportedError(f"nothing in the file feeds '{param.name}' of loop '{loop.name}'")
        if sum(entry.external == external for entry in entries) > 1:
            raise UnsupportedError(f"the input port that feeds '{param.name}' of loop '{loop.name}' feeds others, too")
        self._connect_constant(location, external, data, f"{param.name}_set")

    def set_control_input(self, loop: Loop, port: int, data: Array) -> None:
        location = self._require_location(loop)
        if location.layer.kind != "loop":
            raise UnsupportedError(f"{location.layer.type} '{loop.name}' has no port for it")
        external = location.layer.inputs[port].id
        self._connect_constant(location, external, data, f"{loop.name}_{CONTROL_INPUTS[port]}_set")

    def _require_location(self, loop: Loop) -> IrLayerLocation:
        location = self.locate(loop)
        if location is None or loop.derived_from:
            raise UnsupportedError(f"the file has {loop.derived_from or 'nothing'} in place of loop '{loop.name}'")
        return location

    def _connect_constant(self, location: IrLayerLocation, port: int, data: Array, name: str) -> None:
        """Connect a new Const to an input port."""
        layer = location.layer.element
        net = IrGraph(layer.getparent().getparent())
        constant = net.add_layer("Const", name)
        etree.SubElement(constant, "data")
        add_port(constant, "output", "0", precision=port_precision(dtype_to_openvino(data.dtype)))
        self._append_data(constant, data)
        for edge in net.edges():
            if (edge.get("to-layer"), edge.get("to-port")) == (layer.get("id"), str(port)):
                edge.set("from-layer", constant.get("id"))
                edge.set("from-port", "0")
        set_port_shape(next(item for item in input_ports(layer) if item.get("id") == str(port)), data.shape)

    def _append_data(self, layer: Element, data: Array) -> None:
        """Append data to the .bin and connect a layer to them."""
        self._appended_bytes += bytes(-(self._weights_size + len(self._appended_bytes)) % ALIGNMENT_BYTES)
        start = self._weights_size + len(self._appended_bytes)
        stored = data.tobytes()
        self._appended_bytes += stored
        attributes = layer.find("data")
        attributes.set("element_type", dtype_to_openvino(data.dtype))
        attributes.set("shape", ",".join(map(str, data.shape)))
        attributes.set("offset", str(start))
        attributes.set("size", str(len(stored)))
        set_port_shape(output_ports(layer)[0], data.shape)

    # -- saving

    def save(self, path: Path, folder: Path) -> list[Path]:
        text = etree.tostring(self.document.root.getroottree(), xml_declaration=True, encoding="utf-8")
        return write_ir(path, text, self.weights, self._appended_bytes)


def write_ir(path: Path, text: bytes, weights: Path, appended: bytes | bytearray) -> list[Path]:
    """Write an IR and its constants, those of the file ``weights`` with more behind them; returns both paths."""
    constants = path.with_suffix(".bin")
    with atomic_binary(constants) as file:
        if weights.exists():
            with open(weights, "rb") as original:
                shutil.copyfileobj(original, file)
        file.write(appended)
    write_bytes(path, text)
    return [path, constants]


class _RecordingBuilder(IrGraphBuilder):
    """A builder that records the layer of each node."""

    def __init__(self, document: IrXml, blobs: IrConstantReader) -> None:
        super().__init__(document, blobs)
        self.layer_locations: dict[Node, IrLayerLocation] = {}
        self.scopes: dict[Graph, LayerScope] = {}
        self.constant_layers: dict[Value, IrLayer] = {}

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
            self.constant_layers.update((value, layer) for value in values)
        return values
