"""Extracts a loop or its body from the XML of an OpenVINO IR; layers, attributes and port maps are copied unchanged.

Outer values computed from constants only are copied too; every other outer value becomes a Parameter.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ...runtime.atomic_file import atomic_binary, write_bytes
from ...runtime.dtypes import dtype_to_openvino
from ...runtime.errors import UnsupportedError
from ...runtime.frontends.openvino.ir_document import Element, IrLayer, PortKey
from ...runtime.graph import NO_PORT, Array, Loop, TensorType, Value, walk
from ...runtime.model import Model
from ...runtime.modelfile.ir_graph import IrGraph, add_port, get_or_add_child, port_precision, set_port_shape
from ...runtime.modelfile.openvino_ir import ALIGNMENT_BYTES, IrFile, IrLayerLocation
from ...runtime.ops.registry import is_random
from .submodel import CaptureValues, Submodel, reject_random_operators
from .submodel import SubmodelPort as PartPort

#: Layers whose outputs do not depend on their inputs alone.
_IMPURE_LAYERS = ("parameter", "readvalue", "assign", "randomuniform", "multinomial", "loop", "tensoriterator", "if")


def extract_from_ir(
    model: Model, loop: Loop, capture_body: CaptureValues | None, capture_loop: CaptureValues
) -> Submodel:
    """One iteration of a loop's body, or all iterations of one entry.

    Raises:
        UnsupportedError: the model was not read from a file, or the loop uses variables of the model, draws random
            numbers, or has no body in the file.
        ModelError: the file changed since it was opened.
    """
    if NO_PORT in (*loop.input_ports, *loop.output_ports):
        raise UnsupportedError(
            f"loop '{loop.name}' uses variables of the model, which a part of it does not have",
            loop=loop.name,
            got="variables",
        )
    if model.path is None:
        raise UnsupportedError(f"{model.name}: it came from no file, and an IR is cut out of its file", name=model.name)
    file = IrFile(model.path, model.graph.weights, model.graph)
    location = file.locate(loop)
    if location is None:
        raise UnsupportedError(f"loop '{loop.name}': the file has no layer of it", loop=loop.name)
    if capture_body is not None and loop.derived_from:
        raise UnsupportedError(
            f"loop '{loop.name}' is made of {loop.derived_from}, and the file has no body of it;"
            " extract the whole loop",
            loop=loop.name,
            got=loop.derived_from,
        )
    return (
        _extract_loop(file, location, loop, capture_loop)
        if capture_body is None
        else _extract_body(file, loop, capture_body)
    )


def _extract_loop(file: IrFile, location: IrLayerLocation, loop: Loop, capture: CaptureValues) -> Submodel:
    reject_random_operators(loop)
    builder = _IrSubmodelBuilder(file, loop.name)
    port_sources = [location.network.sources.get((location.layer.id, port.id)) for port in location.layer.inputs]
    outer = {
        source: value
        for source in port_sources
        if source is not None
        and not _is_constant(location, source[0])
        and (value := file.value_at_port(location, source)) is not None
    }
    outputs = [
        (port, value)
        for port in location.layer.outputs
        if (value := file.value_at_port(location, (location.layer.id, port.id))) is not None
    ]
    feeds, results = capture(list(outer.values()), [value for _, value in outputs])
    ids = {layer.id for layer in location.network.layers.values()}
    port_of = {source: builder.add_parameter(_fresh_id(ids), value, feeds[value]) for source, value in outer.items()}
    for source in port_sources:
        if source is not None and source not in port_of:
            builder.add_constant(location, source[0])
    builder.layers.append(copy.deepcopy(location.layer.element))
    for port, source in zip(location.layer.inputs, port_sources, strict=True):
        if source is not None:
            builder.net.add_edge(port_of.get(source, source), (location.layer.id, port.id))
    for port, value in outputs:
        builder.add_result(_fresh_id(ids), (location.layer.id, port.id), value.name)
    return builder.build(list(outer.values()), [value for _, value in outputs], feeds, results)


def _extract_body(file: IrFile, loop: Loop, capture: CaptureValues) -> Submodel:
    scope = file.layer_scope(loop.body)
    builder = _IrSubmodelBuilder(file, f"{loop.name}_body")
    random_layers = _random_values(file, loop)
    results = list(loop.body.outputs)
    feeds, values = capture([*loop.body.inputs, *random_layers], results)
    params = dict(zip(scope.parameters, loop.body.inputs, strict=True))
    random_ids = {layer.id: value for value, layer in random_layers.items()}
    order: list[Value] = []
    for id, layer in scope.network.layers.items():
        if id in random_ids:
            order.append(random_ids[id])
            builder.add_random_parameter(layer, random_ids[id], feeds[random_ids[id]])
        elif id in params:
            order.append(params[id])
            builder.layers.append(_adapt_parameter(copy.deepcopy(layer.element), params[id], feeds[params[id]]))
        else:
            builder.layers.append(copy.deepcopy(layer.element))
    for target, source in scope.network.sources.items():
        if target[0] not in random_ids:
            builder.net.add_edge(source, target)
    return builder.build(order, results, feeds, values)


def _random_values(file: IrFile, loop: Loop) -> dict[Value, IrLayer]:
    """Outputs of the random layers of a body, with their layers."""
    layers: dict[Value, IrLayer] = {}
    for node in (node for node in walk(loop.body) if is_random(node, loop.system)):
        location = file.locate(node)
        if node not in loop.body.nodes or location is None:
            raise UnsupportedError(
                f"loop '{loop.name}': {node.op_type} '{node.name}' draws random numbers in a graph inside the body,"
                " where they cannot be an input",
                **node.error_fields,
                loop=loop.name,
            )
        layers.update((value, location.layer) for value in node.outputs if value is not None)
    return layers


def _is_constant(location: IrLayerLocation, id: int) -> bool:
    """Whether a layer is computed from constants alone."""
    layer = location.network.layers[id]
    if layer.kind in ("const", "constant"):
        return True
    if layer.kind in _IMPURE_LAYERS or not layer.inputs:
        return False
    sources = [location.network.sources.get((id, port.id)) for port in layer.inputs]
    return all(source is not None and _is_constant(location, source[0]) for source in sources)


class _IrSubmodelBuilder:
    """Builds the XML document of a part."""

    def __init__(self, file: IrFile, name: str) -> None:
        self.file = file
        self.root = etree.Element("net", {**file.document.root.attrib, "name": name})
        self.layers = etree.SubElement(self.root, "layers")
        self.net = IrGraph(self.root)
        self._copied_layers: set[int] = set()

    def add_parameter(self, id: int, value: Value, data: Any) -> PortKey:
        """Add a Parameter for an outer value; return its output port."""
        self.layers.append(_make_parameter(id, 0, value, data))
        return id, 0

    def add_random_parameter(self, layer: IrLayer, value: Value, data: Any) -> None:
        """Add a Parameter that replaces a random layer."""
        self.layers.append(_make_parameter(layer.id, layer.outputs[0].id, value, data))

    def add_constant(self, location: IrLayerLocation, id: int) -> None:
        """Copy a constant layer and the layers that it is computed from."""
        if id in self._copied_layers:
            return
        self._copied_layers.add(id)
        layer = location.network.layers[id]
        for port in layer.inputs:
            source = location.network.sources[id, port.id]
            self.add_constant(location, source[0])
            self.net.add_edge(source, (id, port.id))
        self.layers.append(copy.deepcopy(layer.element))

    def add_result(self, id: int, source: PortKey, name: str) -> None:
        """Add a Result for an output port."""
        result = etree.Element("layer", id=str(id), name=f"{name}/result", type="Result", version="opset1")
        add_port(result, "input", "0")
        self.layers.append(result)
        self.net.add_edge(source, (id, 0))

    def build(
        self, inputs: Iterable[Value], outputs: Iterable[Value], feeds: Mapping[Value, Any], values: Mapping[Value, Any]
    ) -> Submodel:
        """Assemble the document."""
        get_or_add_child(self.root, "edges")
        for child in self.file.document.root:
            if child.tag not in ("layers", "edges"):
                self.root.append(copy.deepcopy(child))
        weights = self._collect_weights()
        ports = [[PartPort(value.name, value, value.type) for value in side] for side in (inputs, outputs)]
        return Submodel(self.root, ports[0], ports[1], feeds, values, weights)

    def _collect_weights(self) -> list[bytes]:
        """Collect the bytes of the constants and rewrite their offsets for the new file."""
        pieces: list[bytes] = []
        offsets: dict[tuple[int, int], int] = {}
        end = 0
        for data in _constant_data(self.root):
            extent = int(data.get("offset")), int(data.get("size"))
            if extent not in offsets:
                offsets[extent] = end
                data_bytes = self.file.read_weights(*extent)
                padding = bytes(-len(data_bytes) % ALIGNMENT_BYTES)
                pieces += [data_bytes, padding]
                end += len(data_bytes) + len(padding)
            data.set("offset", str(offsets[extent]))
        return pieces


def _constant_data(root: Element) -> Iterator[Element]:
    """The ``data`` elements of all constants stored in the weights file."""
    for layer in root.iter("layer"):
        data = layer.find("data")
        if (layer.get("type") or "").lower() in ("const", "constant") and data is not None and data.get("offset"):
            yield data


def _fresh_id(used: set[int]) -> int:
    """An unused layer id, which is added to ``taken``."""
    number = max(used, default=-1) + 1
    used.add(number)
    return number


def _make_parameter(id: int, port: int, value: Value, data: Any) -> Element:
    """A Parameter with the declared type of a value if it fits the run, else with the type of the run."""
    array = np.asarray(data)
    layer = etree.Element("layer", id=str(id), name=value.name, type="Parameter", version="opset1")
    kind = dtype_to_openvino(array.dtype)
    etree.SubElement(layer, "data", shape=_shape_text(value, array), element_type=kind)
    names = value.name.replace(",", "\\,")
    output = add_port(layer, "output", str(port), precision=port_precision(kind), names=names)
    set_port_shape(output, _declared_dims(value, array))
    return layer


def _adapt_parameter(layer: Element, value: Value, data: Any) -> Element:
    """A Parameter of a body, unchanged if its type fits the value in the run."""
    kind, array = value.type, np.asarray(data)
    actual = TensorType(array.dtype, array.shape)
    if isinstance(kind, TensorType) and kind.dtype == array.dtype and not kind.excludes(actual):
        return layer
    data_element = get_or_add_child(layer, "data")
    data_element.set("shape", _shape_text(value, array))
    data_element.set("element_type", dtype_to_openvino(array.dtype))
    return layer


def _declared_dims(value: Value, array: Array) -> list[int | None]:
    kind, actual = value.type, TensorType(array.dtype, array.shape)
    fits = isinstance(kind, TensorType) and kind.shape is not None and not kind.excludes(actual)
    if fits and isinstance(kind, TensorType) and kind.shape is not None:
        return [dim if isinstance(dim, int) else None for dim in kind.shape]
    return list(array.shape)


def _shape_text(value: Value, array: Array) -> str:
    return ",".join("?" if dim is None else str(dim) for dim in _declared_dims(value, array))


def write_ir(part: Submodel, folder: Path) -> Path:
    """Write ``model.xml`` and ``model.bin``."""
    path = folder / "model.xml"
    write_bytes(path, etree.tostring(part.model, xml_declaration=True, encoding="utf-8", pretty_print=True))
    with atomic_binary(path.with_suffix(".bin")) as file:
        for piece in part.weights or ():
            file.write(piece)
    return path
