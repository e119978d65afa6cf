"""A loop, or the body of one, cut out of the XML of an OpenVINO IR: layers, attributes and port maps stay as they are.

What is computed from constants alone around the loop comes along; all else that it takes from there is a Parameter.
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
from ...runtime.frontends.openvino.source_map import IrLayerLocation, IrSourceMap
from ...runtime.graph import NO_PORT, Array, Loop, TensorType, Value, walk
from ...runtime.model import Model
from ...runtime.ops.registry import is_random
from .submodel import CaptureValues, Submodel, refuse_random
from .submodel import SubmodelPort as PartPort

#: Constants begin at multiples of this many bytes.
_CONSTANT_ALIGNMENT_BYTES = 64
#: Layers that are not computed from what they read alone.
_IMPURE_LAYERS = ("parameter", "readvalue", "assign", "randomuniform", "multinomial", "loop", "tensoriterator", "if")


def open_source(model: Model) -> IrSourceMap:
    """The document of a model.

    Raises:
        UnsupportedError: it came from no file.
        ModelError: the file changed since it was opened.
    """
    if model.path is None:
        raise UnsupportedError(f"{model.name}: it came from no file, and an IR is cut out of its file")
    return IrSourceMap(model.path, model._internals.weights, model.graph)


def extract_from_ir(model: Model, loop: Loop, one: CaptureValues | None, whole: CaptureValues) -> Submodel:
    """One iteration of a loop's body, or all iterations of one entry.

    Raises:
        UnsupportedError: it uses variables of the model, draws random numbers, or the file has no body of it.
    """
    if NO_PORT in (*loop.input_ports, *loop.output_ports):
        raise UnsupportedError(f"loop '{loop.name}' uses variables of the model, which a part of it does not have")
    places = open_source(model)
    place = places.locate(loop)
    if place is None:
        raise UnsupportedError(f"loop '{loop.name}': the file has no layer of it")
    if one is not None and loop.derived_from:
        raise UnsupportedError(
            f"loop '{loop.name}' is made of {loop.derived_from}, and the file has no body of it; extract the whole loop"
        )
    return _extract_loop(places, place, loop, whole) if one is None else _extract_body(places, loop, one)


def _extract_loop(places: IrSourceMap, place: IrLayerLocation, loop: Loop, ask: CaptureValues) -> Submodel:
    refuse_random(loop)
    net = _IrSubmodelBuilder(places, loop.name)
    sources = [place.network.sources.get((place.layer.id, port.id)) for port in place.layer.inputs]
    outer = {
        source: value
        for source in sources
        if source is not None
        and not _is_constant(place, source[0])
        and (value := places.value_at_port(place, source)) is not None
    }
    outputs = [
        (port, value)
        for port in place.layer.outputs
        if (value := places.value_at_port(place, (place.layer.id, port.id))) is not None
    ]
    fed, given = ask(list(outer.values()), [value for _, value in outputs])
    taken = {layer.id for layer in place.network.layers.values()}
    begins = {source: net.add_parameter(_fresh_id(taken), value, fed[value]) for source, value in outer.items()}
    for source in sources:
        if source is not None and source not in begins:
            net.add_constant(place, source[0])
    net.layers.append(copy.deepcopy(place.layer.element))
    for port, source in zip(place.layer.inputs, sources, strict=True):
        if source is not None:
            net.add_edge(begins.get(source, source), (place.layer.id, port.id))
    for port, value in outputs:
        net.add_result(_fresh_id(taken), (place.layer.id, port.id), value.name)
    return net.build(list(outer.values()), [value for _, value in outputs], fed, given)


def _extract_body(places: IrSourceMap, loop: Loop, ask: CaptureValues) -> Submodel:
    scope = places.layer_scope(loop.body)
    net = _IrSubmodelBuilder(places, f"{loop.name}_body")
    draws = _random_values(places, loop)
    results = list(loop.body.outputs)
    fed, given = ask([*loop.body.inputs, *draws], results)
    begins = dict(zip(scope.parameters, loop.body.inputs, strict=True))
    drawn = {layer.id: value for value, layer in draws.items()}
    order: list[Value] = []
    for id, layer in scope.network.layers.items():
        if id in drawn:
            order.append(drawn[id])
            net.add_random_parameter(layer, drawn[id], fed[drawn[id]])
        elif id in begins:
            order.append(begins[id])
            net.layers.append(_adapt_parameter(copy.deepcopy(layer.element), begins[id], fed[begins[id]]))
        else:
            net.layers.append(copy.deepcopy(layer.element))
    for target, source in scope.network.sources.items():
        if target[0] not in drawn:
            net.add_edge(source, target)
    return net.build(order, results, fed, given)


def _random_values(places: IrSourceMap, loop: Loop) -> dict[Value, IrLayer]:
    """What random layers of a body give."""
    found: dict[Value, IrLayer] = {}
    for node in (one for one in walk(loop.body) if is_random(one, loop.system)):
        place = places.locate(node)
        if node not in loop.body.nodes or place is None:
            raise UnsupportedError(
                f"loop '{loop.name}': {node.op_type} '{node.name}' draws random numbers in a graph inside the body,"
                " where they cannot be an input"
            )
        found.update((value, place.layer) for value in node.outputs if value is not None)
    return found


def _is_constant(place: IrLayerLocation, id: int) -> bool:
    """Whether a layer is computed from constants alone."""
    layer = place.network.layers[id]
    if layer.kind in ("const", "constant"):
        return True
    if layer.kind in _IMPURE_LAYERS or not layer.inputs:
        return False
    sources = [place.network.sources.get((id, port.id)) for port in layer.inputs]
    return all(source is not None and _is_constant(place, source[0]) for source in sources)


class _IrSubmodelBuilder:
    """The document of a part."""

    def __init__(self, places: IrSourceMap, name: str) -> None:
        self.places = places
        self.name = name
        self.layers: list[Element] = []
        self.edges: list[Element] = []
        self._copied_layers: set[int] = set()

    def add_edge(self, source: PortKey, target: PortKey) -> None:
        """Connect two ports."""
        names = ("from-layer", "from-port", "to-layer", "to-port")
        made = etree.Element("edge")
        for name, number in zip(names, (*source, *target), strict=True):
            made.set(name, str(number))
        self.edges.append(made)

    def add_parameter(self, id: int, value: Value, data: Any) -> PortKey:
        """A Parameter for an outer value; its output port."""
        self.layers.append(_make_parameter(id, 0, value, data))
        return id, 0

    def add_random_parameter(self, layer: IrLayer, value: Value, data: Any) -> None:
        """A Parameter in the place of a random layer."""
        self.layers.append(_make_parameter(layer.id, layer.outputs[0].id, value, data))

    def add_constant(self, place: IrLayerLocation, id: int) -> None:
        """A layer that is computed from constants, with what it is computed from."""
        if id in self._copied_layers:
            return
        self._copied_layers.add(id)
        layer = place.network.layers[id]
        for port in layer.inputs:
            source = place.network.sources[id, port.id]
            self.add_constant(place, source[0])
            self.add_edge(source, (id, port.id))
        self.layers.append(copy.deepcopy(layer.element))

    def add_result(self, id: int, source: PortKey, name: str) -> None:
        """A Result for an output port."""
        made = etree.Element("layer", id=str(id), name=f"{name}/result", type="Result", version="opset1")
        etree.SubElement(etree.SubElement(made, "input"), "port", id="0")
        self.layers.append(made)
        self.add_edge(source, (id, 0))

    def build(
        self, inputs: Iterable[Value], outputs: Iterable[Value], fed: Mapping[Value, Any], given: Mapping[Value, Any]
    ) -> Submodel:
        """The whole document."""
        source = self.places.document.root
        root = etree.Element("net", dict(source.attrib))
        root.set("name", self.name)
        for tag, found in (("layers", self.layers), ("edges", self.edges)):
            etree.SubElement(root, tag).extend(found)
        for child in source:
            if child.tag not in ("layers", "edges"):
                root.append(copy.deepcopy(child))
        weights = self._collect_weights(root)
        ports = [[PartPort(value.name, value, value.type) for value in side] for side in (inputs, outputs)]
        return Submodel(root, ports[0], ports[1], fed, given, weights)

    def _collect_weights(self, root: Element) -> list[bytes]:
        """The bytes of the constants, whose offsets become those in a file of their own."""
        pieces: list[bytes] = []
        known: dict[tuple[int, int], int] = {}
        end = 0
        for data in _constant_data(root):
            at = int(data.get("offset")), int(data.get("size"))
            if at not in known:
                known[at] = end
                taken = self.places.read_weights(*at)
                filling = bytes(-len(taken) % _CONSTANT_ALIGNMENT_BYTES)
                pieces += [taken, filling]
                end += len(taken) + len(filling)
            data.set("offset", str(known[at]))
        return pieces


def _constant_data(root: Element) -> Iterator[Element]:
    """The data of every constant that lies in the file with the constants."""
    for layer in root.iter("layer"):
        data = layer.find("data")
        if (layer.get("type") or "").lower() in ("const", "constant") and data is not None and data.get("offset"):
            yield data


def _fresh_id(taken: set[int]) -> int:
    """A number that no layer has; from now on one does."""
    number = max(taken, default=-1) + 1
    taken.add(number)
    return number


def _make_parameter(id: int, port: int, value: Value, data: Any) -> Element:
    """A Parameter of the type that a value had in the run, or that it declares where that is so of it."""
    array = np.asarray(data)
    made = etree.Element("layer", id=str(id), name=value.name, type="Parameter", version="opset1")
    word = dtype_to_openvino(array.dtype)
    etree.SubElement(made, "data", shape=_shape_text(value, array), element_type=word)
    named = etree.SubElement(etree.SubElement(made, "output"), "port", id=str(port), precision=_port_precision(word))
    named.set("names", value.name.replace(",", "\\,"))
    for dim in _declared_dims(value, array):
        etree.SubElement(named, "dim").text = "-1" if dim is None else str(dim)
    return made


def _adapt_parameter(layer: Element, value: Value, data: Any) -> Element:
    """A Parameter of a body: as it is, where that is so of what it got in the run."""
    kind, array = value.type, np.asarray(data)
    found = TensorType(array.dtype, array.shape)
    if isinstance(kind, TensorType) and kind.dtype == array.dtype and not kind.excludes(found):
        return layer
    told = layer.find("data")
    told = etree.SubElement(layer, "data") if told is None else told
    told.set("shape", _shape_text(value, array))
    told.set("element_type", dtype_to_openvino(array.dtype))
    return layer


def _declared_dims(value: Value, array: Array) -> list[int | None]:
    kind, found = value.type, TensorType(array.dtype, array.shape)
    fits = isinstance(kind, TensorType) and kind.shape is not None and not kind.excludes(found)
    if fits and isinstance(kind, TensorType) and kind.shape is not None:
        return [dim if isinstance(dim, int) else None for dim in kind.shape]
    return list(array.shape)


def _shape_text(value: Value, array: Array) -> str:
    return ",".join("?" if dim is None else str(dim) for dim in _declared_dims(value, array))


def _port_precision(word: str) -> str:
    """How a port calls an element type."""
    return {"f32": "FP32", "f64": "FP64", "f16": "FP16", "boolean": "BOOL"}.get(word, word.upper())


def write_ir(part: Submodel, folder: Path) -> Path:
    """Write ``model.xml`` and ``model.bin``."""
    path = folder / "model.xml"
    write_bytes(path, etree.tostring(part.model, xml_declaration=True, encoding="utf-8", pretty_print=True))
    with atomic_binary(path.with_suffix(".bin")) as file:
        for piece in part.weights or ():
            file.write(piece)
    return path
