"""Writes copies of an IR with changed constants, initial values, trip counts and conditions.

New data are appended to the .bin, so that constants that share bytes are not affected.
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

#: The alignment of constants.
_ALIGNMENT_BYTES = 64


def write_edited_copy(
    source: Path, weights: Path | None, graph: Graph, changes: ModelEdits, target: Path
) -> list[Path]:
    """Write an edited copy and its .bin; returns both.

    Raises:
        OSError: a file cannot be written.
        ModelError: the file changed since it was opened.
        UnsupportedError: a value cannot be changed in the file.
    """
    editor = _IrEditor(IrSourceMap(source, weights, graph))
    for value, data in changes.constants.items():
        editor.set_constant(value, data)
    for (loop, param), data in changes.initial_values.items():
        editor.set_initial_value(loop, param, data)
    for loop, count in changes.trip_counts.items():
        editor.set_control_input(loop, 0, count, np.int64, loop.trip_count)
    for loop, condition in changes.initial_conditions.items():
        editor.set_control_input(loop, 1, condition, np.bool_, loop.initial_condition)
    blob = target.with_suffix(".bin")
    with atomic_binary(blob) as file:
        if editor.source_map.weights.exists():
            with open(editor.source_map.weights, "rb") as original:
                shutil.copyfileobj(original, file)
        file.write(editor.appended_bytes)
    root = editor.source_map.document.root
    write_bytes(target, etree.tostring(root.getroottree(), xml_declaration=True, encoding="utf-8"))
    return [target, blob]


class _IrEditor:
    """Edits the tree of a document."""

    def __init__(self, source_map: IrSourceMap) -> None:
        self.source_map = source_map
        size = source_map.weights.stat().st_size if source_map.weights.exists() else 0
        self._weights_size = size
        self.appended_bytes = bytearray()

    def set_constant(self, value: Value, data: Array) -> None:
        """Replace the data of a Const layer."""
        entry = self.source_map.constant_layer(value)
        if entry is None:
            raise UnsupportedError(f"'{value.name}' is no Const of the file")
        layer = entry[0]
        kind = (layer.data.get("element_type") or layer.outputs[0].precision or "").lower()
        if kind not in (dtype_to_openvino(data.dtype), _port_precision(data).lower()) or kind[1:2] == "4":
            raise UnsupportedError(f"'{value.name}' is stored as {kind}, which is not written; decompress the model")
        self._append_data(layer.element, data)

    def set_initial_value(self, loop: Loop, param: Value, data: Array) -> None:
        """Set the value of a body's Parameter in iteration 0."""
        location = self._locate(loop)
        scope = self.source_map.layer_scope(loop.body)
        parameters = dict(zip(loop.body.inputs, scope.parameters, strict=False))
        entries, _ = self.source_map.document.port_map(location.layer)
        external = next((entry.external for entry in entries if entry.internal == parameters[param]), None)
        if external is None:
            raise UnsupportedError(f"nothing in the file feeds '{param.name}' of loop '{loop.name}'")
        if sum(entry.external == external for entry in entries) > 1:
            raise UnsupportedError(f"the input port that feeds '{param.name}' of loop '{loop.name}' feeds others, too")
        self._connect_constant(location, external, data, f"{param.name}_set")

    def set_control_input(self, loop: Loop, rank: int, number: Any, default: Any, current: Value | None) -> None:
        """Set a Loop's trip count or initial condition: its first two ports."""
        location = self._locate(loop)
        if location.layer.kind != "loop":
            raise UnsupportedError(f"{location.layer.type} '{loop.name}' has no port for it")
        kind = current.type if current is not None and isinstance(current.type, TensorType) else TensorType()
        data = np.full((1,) * len(kind.shape or ()), number, default if kind.dtype is None else kind.dtype)
        role = ("trip_count", "condition")[rank]
        self._connect_constant(location, location.layer.inputs[rank].id, data, f"{loop.name}_{role}_set")

    def _locate(self, loop: Loop) -> IrLayerLocation:
        location = self.source_map.locate(loop)
        if location is None or loop.derived_from:
            raise UnsupportedError(f"the file has {loop.derived_from or 'nothing'} in place of loop '{loop.name}'")
        return location

    def _connect_constant(self, location: IrLayerLocation, port: int, data: Array, name: str) -> None:
        """Connect a new Const to an input port."""
        layers = location.layer.element.getparent()
        id = 1 + max(int(layer.get("id")) for layer in layers.iterchildren("layer"))
        constant = etree.SubElement(layers, "layer", id=str(id), name=name, type="Const", version="opset1")
        etree.SubElement(constant, "data")
        etree.SubElement(etree.SubElement(constant, "output"), "port", id="0", precision=_port_precision(data))
        self._append_data(constant, data)
        edges = layers.getparent().find("edges")
        for edge in edges.iterchildren("edge"):
            if (edge.get("to-layer"), edge.get("to-port")) == (str(location.layer.id), str(port)):
                edge.set("from-layer", str(id))
                edge.set("from-port", "0")
        port_element = location.layer.element.find(f"input/port[@id='{port}']")
        _set_port_shape(port_element, data)

    def _append_data(self, layer: Any, data: Array) -> None:
        """Append data to the .bin and connect a layer to them."""
        padding = -(self._weights_size + len(self.appended_bytes)) % _ALIGNMENT_BYTES
        self.appended_bytes += bytes(padding)
        start = self._weights_size + len(self.appended_bytes)
        stored = data.tobytes()
        self.appended_bytes += stored
        attributes = layer.find("data")
        attributes.set("element_type", dtype_to_openvino(data.dtype))
        attributes.set("shape", ",".join(map(str, data.shape)))
        attributes.set("offset", str(start))
        attributes.set("size", str(len(stored)))
        _set_port_shape(layer.find("output/port"), data)


def _set_port_shape(port: Any, data: Array) -> None:
    """Set the shape of a port."""
    for dim in port.findall("dim"):
        port.remove(dim)
    for size in data.shape:
        etree.SubElement(port, "dim").text = str(size)


def _port_precision(data: Array) -> str:
    """A port's name for an element type."""
    name = dtype_to_openvino(data.dtype)
    return {"f32": "FP32", "f64": "FP64", "f16": "FP16", "boolean": "BOOL"}.get(name, name.upper())
