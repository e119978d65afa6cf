"""Writes OpenVINO IR: a ``.xml`` of layers, ports and edges, and the ``.bin`` with the constants.

OpenVINO itself is not needed. Format: docs.openvino.ai, "Operation Sets" and "TensorIterator-1", "Loop-5".
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field

from sample import Array

# Element type in the IR -> precision of ports; NumPy dtype -> element type.
PRECISION = {"f32": "FP32", "i64": "I64", "boolean": "BOOL"}
ELEMENT_TYPE = {"float32": "f32", "int64": "i64", "bool": "boolean"}

Shape = tuple[int, ...]


@dataclass(frozen=True)
class LayerPort:
    """An output port of a layer, or the input port of a ``Result``. A dim of -1 is unknown."""

    layer: int
    port: int
    element: str
    shape: Shape


@dataclass(frozen=True)
class PortMapSlice:
    """How a ``port_map`` entry slices or joins its tensor, with the defaults of TensorIterator-1."""

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


@dataclass(frozen=True)
class PortMapInput:
    """A ``port_map`` input: the source, the body parameter, and the slicing."""

    source: LayerPort
    parameter: LayerPort
    sliced: PortMapSlice | None = None


@dataclass(frozen=True)
class PortMapOutput:
    """A ``port_map`` output: a body result, its last value or the concatenation of ``count`` of them."""

    result: LayerPort
    joined: PortMapSlice | None = None
    count: int = -1

    @property
    def shape(self) -> Shape:
        """The shape of the loop's output."""
        dims = list(self.result.shape)
        if self.joined:
            axis = self.joined.axis
            dims[axis] = dims[axis] * self.count if self.count >= 0 else -1
        return tuple(dims)


@dataclass
class ConstantBlob:
    """The content of the ``.bin``: deduplicated constants."""

    content: bytearray = field(default_factory=bytearray)
    offsets: dict[bytes, int] = field(default_factory=dict)

    def add(self, constant: bytes) -> int:
        """Return the offset of a constant, which is appended if it is new."""
        if constant not in self.offsets:
            self.offsets[constant] = len(self.content)
            self.content += constant
        return self.offsets[constant]


class IrGraphWriter:
    """A graph under construction: the net itself, or the body of a loop."""

    def __init__(self, weights: ConstantBlob | None = None) -> None:
        self.weights = weights or ConstantBlob()
        self._layers = ET.Element("layers")
        self._edges = ET.Element("edges")
        self._outputs: dict[LayerPort, ET.Element] = {}

    def body(self) -> IrGraphWriter:
        """Create a graph for a loop's body, with the same ``.bin``."""
        return IrGraphWriter(self.weights)

    def parameter(self, name: str, element: str, shape: Shape) -> LayerPort:
        """Add an input of the graph."""
        data = {"shape": _join_dims(shape), "element_type": element}
        [port] = self.layer("Parameter", name, [], [(element, shape)], data)
        self._add_tensor_name(port, name)
        return port

    def result(self, source: LayerPort, name: str) -> LayerPort:
        """Add an output of the graph; ``name`` is also added to its tensor's names."""
        layer = len(self._layers)
        self.layer("Result", name, [source], [])
        self._add_tensor_name(source, name)
        return LayerPort(layer, 0, source.element, source.shape)

    def constant(self, name: str, value: Array) -> LayerPort:
        """Add a constant, with data in the ``.bin``."""
        element = ELEMENT_TYPE[value.dtype.name]
        offset = self.weights.add(value.tobytes())
        data = {
            "element_type": element,
            "shape": _join_dims(value.shape),
            "offset": str(offset),
            "size": str(value.nbytes),
        }
        [port] = self.layer("Const", name, [], [(element, value.shape)], data)
        return port

    def op(
        self, kind: str, name: str, *inputs: LayerPort, element: str = "", shape: Shape | None = None, **data: str
    ) -> LayerPort:
        """Add an operation of opset1 with one output, by default of its first input's element type and shape."""
        first = inputs[0]
        output = (element or first.element, first.shape if shape is None else shape)
        [port] = self.layer(kind, name, inputs, [output], data)
        return port

    def binary(self, kind: str, name: str, a: LayerPort, b: LayerPort) -> LayerPort:
        """Add an arithmetic operation on ``a`` and ``b``, of the shape of ``a``."""
        return self.op(kind, name, a, b, auto_broadcast="numpy")

    def compare(self, kind: str, name: str, a: LayerPort, b: LayerPort) -> LayerPort:
        """Add a comparison of ``a`` with ``b``, of the shape of ``a``."""
        return self.op(kind, name, a, b, element="boolean", auto_broadcast="numpy")

    def layer(
        self,
        kind: str,
        name: str,
        inputs: Sequence[LayerPort],
        outputs: Sequence[tuple[str, Shape]],
        data: dict[str, str] | None = None,
        *,
        opset: str = "opset1",
    ) -> list[LayerPort]:
        """Add any layer and the edges into it; returns its output ports, numbered after its inputs."""
        number = len(self._layers)
        layer = ET.SubElement(self._layers, "layer", {"id": str(number), "name": name, "type": kind, "version": opset})
        if data:
            ET.SubElement(layer, "data", data)
        if inputs:
            section = ET.SubElement(layer, "input")
            for to_port, source in enumerate(inputs):
                _add_port(section, to_port, source.element, source.shape)
                origin = {"from-layer": source.layer, "from-port": source.port}
                target = {"to-layer": number, "to-port": to_port}
                ET.SubElement(self._edges, "edge", _attribute_texts(origin | target))
        ports = []
        if outputs:
            section = ET.SubElement(layer, "output")
            for number_of_port, (element, shape) in enumerate(outputs, start=len(inputs)):
                port = LayerPort(number, number_of_port, element, shape)
                self._outputs[port] = _add_port(section, number_of_port, element, shape)
                ports.append(port)
        return ports

    def tensor_iterator(
        self,
        name: str,
        body: IrGraphWriter,
        inputs: Sequence[PortMapInput],
        outputs: Sequence[PortMapOutput],
        back_edges: Sequence[tuple[LayerPort, LayerPort]],
    ) -> list[LayerPort]:
        """Add a TensorIterator-1; a back edge goes from a body result to a body parameter."""
        ports = self.layer(
            "TensorIterator", name, [i.source for i in inputs], [(o.result.element, o.shape) for o in outputs]
        )
        port_map = self._add_loop_sections(body, back_edges)
        for number, entry in enumerate(inputs):
            _add_port_map_entry(port_map, "input", number, entry.parameter, entry.sliced)
        for number, output in enumerate(outputs, start=len(inputs)):
            _add_port_map_entry(port_map, "output", number, output.result, output.joined)
        return ports

    def loop(
        self,
        name: str,
        body: IrGraphWriter,
        trip_count: LayerPort,
        condition: LayerPort,
        inputs: Sequence[PortMapInput],
        outputs: Sequence[PortMapOutput],
        back_edges: Sequence[tuple[LayerPort, LayerPort]],
        *,
        next_condition: LayerPort,
        iteration: LayerPort | None = None,
    ) -> list[LayerPort]:
        """Add a Loop-5: ``condition`` decides on iteration 0, the body result ``next_condition`` on later ones.

        ``iteration`` is the body's parameter for the iteration number, if it has one.
        """
        sources = [trip_count, condition, *(i.source for i in inputs)]
        ports = self.layer("Loop", name, sources, [(o.result.element, o.shape) for o in outputs], opset="opset5")
        port_map = self._add_loop_sections(body, back_edges)
        for number, entry in enumerate(inputs, start=2):
            _add_port_map_entry(port_map, "input", number, entry.parameter, entry.sliced)
        for number, output in enumerate(outputs, start=len(sources)):
            _add_port_map_entry(port_map, "output", number, output.result, output.joined)
        if iteration:
            _add_port_map_entry(port_map, "input", -1, iteration, None, purpose="current_iteration")
        _add_port_map_entry(port_map, "output", -1, next_condition, None, purpose="execution_condition")
        return ports

    def _add_loop_sections(self, body: IrGraphWriter, back_edges: Sequence[tuple[LayerPort, LayerPort]]) -> ET.Element:
        """Add the sections of a loop to the newest layer and return its empty port_map."""
        layer = self._layers[-1]
        port_map = ET.SubElement(layer, "port_map")
        edges = ET.SubElement(layer, "back_edges")
        for result, parameter in back_edges:
            edge = {"from-layer": result.layer, "to-layer": parameter.layer}
            ET.SubElement(edges, "edge", _attribute_texts(edge))
        ET.SubElement(layer, "body").extend([body._layers, body._edges])
        return port_map

    def _add_tensor_name(self, port: LayerPort, name: str) -> None:
        """Add a tensor name to an output port."""
        element = self._outputs[port]
        names = element.get("names")
        element.set("names", f"{names},{name}" if names else name)

    def files(self, name: str, version: int) -> dict[str, bytes]:
        """The net's two files, by suffix; ``version``: the version of the IR, 10 or 11."""
        net = ET.Element("net", {"name": name, "version": str(version)})
        net.extend([self._layers, self._edges])
        ET.indent(net, "\t")
        text = '<?xml version="1.0"?>\n' + ET.tostring(net, encoding="unicode") + "\n"
        return {".xml": text.encode(), ".bin": bytes(self.weights.content)}


def _add_port_map_entry(
    port_map: ET.Element, side: str, external: int, internal: LayerPort, slicing: PortMapSlice | None, **purpose: str
) -> None:
    entry = ET.SubElement(port_map, side)
    if slicing:
        entry.attrib.update(_attribute_texts(vars(slicing)))
    entry.attrib.update(_attribute_texts({"external_port_id": external, "internal_layer_id": internal.layer}))
    entry.attrib.update(purpose)


def _add_port(section: ET.Element, number: int, element: str, shape: Shape) -> ET.Element:
    port = ET.SubElement(section, "port", {"id": str(number), "precision": PRECISION[element]})
    for dim in shape:
        ET.SubElement(port, "dim").text = str(dim)
    return port


def _attribute_texts(numbers: dict[str, int]) -> dict[str, str]:
    return {name: str(number) for name, number in numbers.items()}


def _join_dims(shape: Shape) -> str:
    return ",".join(map(str, shape))
