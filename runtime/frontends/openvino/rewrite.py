"""A copy of an IR with changed constants, initial values, trip counts and conditions; all else is as it was.

New data stand behind those of the .bin, so that constants that share bytes stay apart.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ...atomic_file import atomic_binary, write_bytes
from ...dtypes import dtype_to_openvino
from ...errors import UnsupportedError
from ...graph import Array, Graph, Loop, TensorType, Value
from ..model_edits import ModelEdits
from .source_map import IrLayerLocation, IrSourceMap

#: Constants begin at multiples of this many bytes.
_ALIGNMENT_BYTES = 64


def write_edited_copy(
    source: Path, weights: Path | None, graph: Graph, changes: ModelEdits, target: Path
) -> list[Path]:
    """Write the copy and its .bin; returns both.

    Raises:
        OSError: a file cannot be written.
        ModelError: the file changed since it was opened.
        UnsupportedError: a value has no place in the file where it could be changed.
    """
    writer = _IrEditor(IrSourceMap(source, weights, graph))
    for value, data in changes.constants.items():
        writer.set_constant(value, data)
    for (loop, param), data in changes.initial_values.items():
        writer.set_initial_value(loop, param, data)
    for loop, count in changes.trip_counts.items():
        writer.set_control_input(loop, 0, count, np.int64, loop.trip_count)
    for loop, condition in changes.initial_conditions.items():
        writer.set_control_input(loop, 1, condition, np.bool_, loop.initial_condition)
    blob = target.with_suffix(".bin")
    with atomic_binary(blob) as file:
        if writer.source_map.weights.exists():
            with open(writer.source_map.weights, "rb") as older:
                shutil.copyfileobj(older, file)
        file.write(writer.appended_bytes)
    root = writer.source_map.document.root
    write_bytes(target, etree.tostring(root.getroottree(), xml_declaration=True, encoding="utf-8"))
    return [target, blob]


class _IrEditor:
    """Changes the tree of a document."""

    def __init__(self, places: IrSourceMap) -> None:
        self.source_map = places
        size = places.weights.stat().st_size if places.weights.exists() else 0
        self._weights_size = size
        self.appended_bytes = bytearray()

    def set_constant(self, value: Value, data: Array) -> None:
        """Let a Const layer hold something else."""
        found = self.source_map.constant_layer(value)
        if found is None:
            raise UnsupportedError(f"'{value.name}' is no Const of the file")
        layer = found[0]
        word = (layer.data.get("element_type") or layer.outputs[0].precision or "").lower()
        if word not in (dtype_to_openvino(data.dtype), _port_precision(data).lower()) or word[1:2] == "4":
            raise UnsupportedError(f"'{value.name}' is stored as {word}, which is not written; decompress the model")
        self._append_data(layer.element, data)

    def set_initial_value(self, loop: Loop, param: Value, data: Array) -> None:
        """Give a body's Parameter another value in iteration 0."""
        place = self._locate(loop)
        scope = self.source_map.layer_scope(loop.body)
        parameters = dict(zip(loop.body.inputs, scope.parameters, strict=False))
        fed, _ = self.source_map.document.port_map(place.layer)
        external = next((entry.external for entry in fed if entry.internal == parameters[param]), None)
        if external is None:
            raise UnsupportedError(f"nothing in the file feeds '{param.name}' of loop '{loop.name}'")
        if sum(entry.external == external for entry in fed) > 1:
            raise UnsupportedError(f"the input port that feeds '{param.name}' of loop '{loop.name}' feeds others, too")
        self._connect_constant(place, external, data, f"{param.name}_set")

    def set_control_input(self, loop: Loop, rank: int, number: Any, usual: Any, before: Value | None) -> None:
        """Give a Loop another trip count or initial condition: its first two ports."""
        place = self._locate(loop)
        if place.layer.kind != "loop":
            raise UnsupportedError(f"{place.layer.type} '{loop.name}' has no port for it")
        kind = before.type if before is not None and isinstance(before.type, TensorType) else TensorType()
        data = np.full((1,) * len(kind.shape or ()), number, usual if kind.dtype is None else kind.dtype)
        role = ("trip_count", "condition")[rank]
        self._connect_constant(place, place.layer.inputs[rank].id, data, f"{loop.name}_{role}_set")

    def _locate(self, loop: Loop) -> IrLayerLocation:
        place = self.source_map.locate(loop)
        if place is None or loop.derived_from:
            raise UnsupportedError(f"the file has {loop.derived_from or 'nothing'} in place of loop '{loop.name}'")
        return place

    def _connect_constant(self, place: IrLayerLocation, port: int, data: Array, name: str) -> None:
        """Connect a new Const to an input port."""
        layers = place.layer.element.getparent()
        id = 1 + max(int(layer.get("id")) for layer in layers.iterchildren("layer"))
        made = etree.SubElement(layers, "layer", id=str(id), name=name, type="Const", version="opset1")
        etree.SubElement(made, "data")
        etree.SubElement(etree.SubElement(made, "output"), "port", id="0", precision=_port_precision(data))
        self._append_data(made, data)
        edges = layers.getparent().find("edges")
        for edge in edges.iterchildren("edge"):
            if (edge.get("to-layer"), edge.get("to-port")) == (str(place.layer.id), str(port)):
                edge.set("from-layer", str(id))
                edge.set("from-port", "0")
        read = place.layer.element.find(f"input/port[@id='{port}']")
        _set_port_shape(read, data)

    def _append_data(self, layer: Any, data: Array) -> None:
        """Put data behind those that there are, and let a layer have them."""
        filling = -(self._weights_size + len(self.appended_bytes)) % _ALIGNMENT_BYTES
        self.appended_bytes += bytes(filling)
        start = self._weights_size + len(self.appended_bytes)
        stored = data.tobytes()
        self.appended_bytes += stored
        told = layer.find("data")
        told.set("element_type", dtype_to_openvino(data.dtype))
        told.set("shape", ",".join(map(str, data.shape)))
        told.set("offset", str(start))
        told.set("size", str(len(stored)))
        _set_port_shape(layer.find("output/port"), data)


def _set_port_shape(port: Any, data: Array) -> None:
    """Let a port state the shape of data."""
    for dim in port.findall("dim"):
        port.remove(dim)
    for size in data.shape:
        etree.SubElement(port, "dim").text = str(size)


def _port_precision(data: Array) -> str:
    """How a port calls an element type."""
    word = dtype_to_openvino(data.dtype)
    return {"f32": "FP32", "f64": "FP64", "f16": "FP16", "boolean": "BOOL"}.get(word, word.upper())
