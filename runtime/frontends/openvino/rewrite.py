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
from ...dtypes import to_openvino
from ...errors import UnsupportedError
from ...graph import Array, Graph, Loop, TensorType, Value
from ..changes import Changes
from .places import Place, Places

#: Constants begin at multiples of this many bytes.
_ALIGNMENT = 64


def rewritten(source: Path, weights: Path | None, graph: Graph, changes: Changes, target: Path) -> list[Path]:
    """Write the copy and its .bin; returns both.

    Raises:
        OSError: a file cannot be written.
        ModelError: the file changed since it was opened.
        UnsupportedError: a value has no place in the file where it could be changed.
    """
    writer = _Writer(Places(source, weights, graph))
    for value, data in changes.constants.items():
        writer.constant(value, data)
    for (loop, param), data in changes.begins.items():
        writer.begin(loop, param, data)
    for loop, count in changes.trips.items():
        writer.special(loop, 0, count, np.int64, loop.trip_count)
    for loop, condition in changes.conditions.items():
        writer.special(loop, 1, condition, np.bool_, loop.initial_condition)
    blob = target.with_suffix(".bin")
    with atomic_binary(blob) as file:
        if writer.places.weights.exists():
            with open(writer.places.weights, "rb") as older:
                shutil.copyfileobj(older, file)
        file.write(writer.added)
    root = writer.places.document.root
    write_bytes(target, etree.tostring(root.getroottree(), xml_declaration=True, encoding="utf-8"))
    return [target, blob]


class _Writer:
    """Changes the tree of a document."""

    def __init__(self, places: Places) -> None:
        self.places = places
        size = places.weights.stat().st_size if places.weights.exists() else 0
        self._end = size
        self.added = bytearray()

    def constant(self, value: Value, data: Array) -> None:
        """Let a Const layer hold something else."""
        found = self.places.constant(value)
        if found is None:
            raise UnsupportedError(f"'{value.name}' is no Const of the file")
        layer = found[0]
        word = (layer.data.get("element_type") or layer.outputs[0].precision or "").lower()
        if word not in (to_openvino(data.dtype), _precision(data).lower()) or word[1:2] == "4":
            raise UnsupportedError(f"'{value.name}' is stored as {word}, which is not written; decompress the model")
        self._fill(layer.element, data)

    def begin(self, loop: Loop, param: Value, data: Array) -> None:
        """Give a body's Parameter another value in iteration 0."""
        place = self._place(loop)
        scope = self.places.scope_of(loop.body)
        parameters = dict(zip(loop.body.inputs, scope.parameters, strict=False))
        fed, _ = self.places.document.port_map(place.layer)
        external = next((entry.external for entry in fed if entry.internal == parameters[param]), None)
        if external is None:
            raise UnsupportedError(f"nothing in the file feeds '{param.name}' of loop '{loop.name}'")
        if sum(entry.external == external for entry in fed) > 1:
            raise UnsupportedError(f"the input port that feeds '{param.name}' of loop '{loop.name}' feeds others, too")
        self._feed(place, external, data, f"{param.name}_set")

    def special(self, loop: Loop, rank: int, number: Any, usual: Any, before: Value | None) -> None:
        """Give a Loop another trip count or initial condition: its first two ports."""
        place = self._place(loop)
        if place.layer.kind != "loop":
            raise UnsupportedError(f"{place.layer.type} '{loop.name}' has no port for it")
        kind = before.type if before is not None and isinstance(before.type, TensorType) else TensorType()
        data = np.full((1,) * len(kind.shape or ()), number, usual if kind.dtype is None else kind.dtype)
        role = ("trip_count", "condition")[rank]
        self._feed(place, place.layer.inputs[rank].id, data, f"{loop.name}_{role}_set")

    def _place(self, loop: Loop) -> Place:
        place = self.places.of(loop)
        if place is None or loop.made_of:
            raise UnsupportedError(f"the file has {loop.made_of or 'nothing'} in place of loop '{loop.name}'")
        return place

    def _feed(self, place: Place, port: int, data: Array, name: str) -> None:
        """Connect a new Const to an input port."""
        layers = place.layer.element.getparent()
        id = 1 + max(int(layer.get("id")) for layer in layers.iterchildren("layer"))
        made = etree.SubElement(layers, "layer", id=str(id), name=name, type="Const", version="opset1")
        etree.SubElement(made, "data")
        etree.SubElement(etree.SubElement(made, "output"), "port", id="0", precision=_precision(data))
        self._fill(made, data)
        edges = layers.getparent().find("edges")
        for edge in edges.iterchildren("edge"):
            if (edge.get("to-layer"), edge.get("to-port")) == (str(place.layer.id), str(port)):
                edge.set("from-layer", str(id))
                edge.set("from-port", "0")
        read = place.layer.element.find(f"input/port[@id='{port}']")
        _size(read, data)

    def _fill(self, layer: Any, data: Array) -> None:
        """Put data behind those that there are, and let a layer have them."""
        filling = -(self._end + len(self.added)) % _ALIGNMENT
        self.added += bytes(filling)
        start = self._end + len(self.added)
        stored = data.tobytes()
        self.added += stored
        told = layer.find("data")
        told.set("element_type", to_openvino(data.dtype))
        told.set("shape", ",".join(map(str, data.shape)))
        told.set("offset", str(start))
        told.set("size", str(len(stored)))
        _size(layer.find("output/port"), data)


def _size(port: Any, data: Array) -> None:
    """Let a port state the shape of data."""
    for dim in port.findall("dim"):
        port.remove(dim)
    for size in data.shape:
        etree.SubElement(port, "dim").text = str(size)


def _precision(data: Array) -> str:
    """How a port calls an element type."""
    word = to_openvino(data.dtype)
    return {"f32": "FP32", "f64": "FP64", "f16": "FP16", "boolean": "BOOL"}.get(word, word.upper())
