"""Fixes of the port maps of OpenVINO IRs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from lxml import etree

from ...runtime.graph import MAIN
from ...runtime.model import Model
from ...runtime.modelfile.ir_graph import (
    LOOP_TYPES,
    Element,
    IrGraph,
    Port,
    add_port,
    inner_graphs,
    input_ports,
    output_ports,
    port_map_entries,
    renumber_ports,
    set_port_shape,
    walk_graphs,
)
from ..rewriting.editable_model import EditableIr
from ..rewriting.rewrite import Rewrite

#: A graph's number in the order of the file, and a layer's id.
_LayerRef = tuple[int, str]


class IrPlaces:
    """The loops of an IR."""

    def __init__(self, model: EditableIr, loaded: Model) -> None:
        numbers = {net.element: number for number, net in enumerate(walk_graphs(model.net))}
        self.loops = list(_walk_loops(model.net, MAIN, numbers))


def _walk_loops(
    net: IrGraph, path: str, numbers: dict[Element, int]
) -> Iterator[tuple[_LayerRef, IrGraph, Element, str]]:
    for layer in net.layers:
        is_loop = layer.get("type") in LOOP_TYPES
        inner_path = f"{path} ▸ {layer.get('name')}" if is_loop else path
        if is_loop:
            yield (numbers[net.element], layer.get("id")), net, layer, inner_path
        for _, inner in inner_graphs(layer):
            yield from _walk_loops(inner, inner_path, numbers)


def normalize_negative_axes(places: IrPlaces) -> Iterator[Rewrite]:
    """A negative axis of a slice or a scan output."""
    for ref, _, layer, path in places.loops:
        if any(int(entry.get("axis", "0")) < 0 for entry in _port_map(layer)):
            yield _layer_rewrite(
                "ir-positive-axis", path, layer, "counts the axes of the port map from the front", _normalize_axes, ref
            )


def _normalize_axes(model: EditableIr, net: IrGraph, layer: Element) -> None:
    for entry in _port_map(layer):
        axis = int(entry.get("axis", "0"))
        if axis < 0:
            entry.set("axis", str(axis + len(_part_dims(layer, entry))))


def _part_dims(layer: Element, entry: Element) -> list[str]:
    """The dimensions of one part: those of the body's Parameter, or of what its Result returns."""
    body = IrGraph(layer.find("body"))
    inner = body.layer(entry.get("internal_layer_id"))
    port = inner.find("output/port")
    return (
        _port_dims(port)
        if port is not None
        else _source_dims(body, (inner.get("id"), inner.find("input/port").get("id")))
    )


def _source_dims(net: IrGraph, target: Port) -> list[str]:
    """The dimensions of the output port that feeds an input port."""
    layer_id, port_id = net.source_by_input()[target]
    return _port_dims(next(port for port in output_ports(net.layer(layer_id)) if port.get("id") == port_id))


def _port_dims(port: Element) -> list[str]:
    return [dim.text for dim in port.findall("dim")]


def separate_input_ports(places: IrPlaces) -> Iterator[Rewrite]:
    """An input port that feeds several Parameters of the body."""
    for ref, _, layer, path in places.loops:
        ids = [entry.get("external_port_id") for entry in port_map_entries(layer, "input")]
        if len(set(ids)) < len(ids):
            reason = "gives each Parameter of the body an input port of its own"
            yield _layer_rewrite("ir-own-input-port", path, layer, reason, _separate_ports, ref)


def _separate_ports(model: EditableIr, net: IrGraph, layer: Element) -> None:
    seen: set[str] = set()
    for entry in port_map_entries(layer, "input"):
        port_id = entry.get("external_port_id")
        if port_id in seen:
            original = next(port for port in input_ports(layer) if port.get("id") == port_id)
            numbers = [int(port.get("id")) for port in layer.iter("port")]
            new = add_port(layer, "input", str(max(numbers) + 1), **_attributes_without_id(original))
            for dim in original.findall("dim"):
                new.append(copy.deepcopy(dim))
            net.add_edge(net.source_by_input()[layer.get("id"), port_id], (layer.get("id"), new.get("id")))
            entry.set("external_port_id", new.get("id"))
        seen.add(port_id)
    renumber_ports(net, layer)


def _attributes_without_id(port: Element) -> dict[str, str]:
    return {name: text for name, text in port.attrib.items() if name not in ("id", "names")}


def correct_part_sizes(places: IrPlaces) -> Iterator[Rewrite]:
    """A scan output whose ``part_size`` is not the number of rows of its parts."""
    for ref, _, layer, path in places.loops:
        wrong = [entry for entry in port_map_entries(layer, "output") if _corrected_part_size(layer, entry) is not None]
        if wrong:
            reason = "declares part_size and stride as the rows that the parts have"
            yield _layer_rewrite("ir-part-size", path, layer, reason, _correct_part_sizes, ref)


def _corrected_part_size(layer: Element, entry: Element) -> int | None:
    """The rows of the parts of a scan output, where the entry has another number."""
    if "axis" not in entry.attrib:
        return None
    dims = _part_dims(layer, entry)
    axis = int(entry.get("axis"))
    if not -len(dims) <= axis < len(dims) or not dims[axis].isdecimal():
        return None
    rows = int(dims[axis])
    return rows if rows != int(entry.get("part_size", "1")) else None


def _correct_part_sizes(model: EditableIr, net: IrGraph, layer: Element) -> None:
    for entry in port_map_entries(layer, "output"):
        rows = _corrected_part_size(layer, entry)
        if rows is not None:
            entry.set("part_size", str(rows))
            entry.set("stride", str(-rows if entry.get("stride", "1").startswith("-") else rows))


def cut_slices_before_loop(places: IrPlaces) -> Iterator[Rewrite]:
    """A slice that does not start at the front: the tensor is cut before the loop."""
    for ref, _, layer, path in places.loops:
        if any(_has_positive_start(entry) for entry in port_map_entries(layer, "input")):
            yield _layer_rewrite(
                "ir-cut-before", path, layer, "cuts the sliced tensor before the loop", _cut_before_loop, ref
            )


def _has_positive_start(entry: Element) -> bool:
    start, end, stride, axis = (int(entry.get(name, text)) for name, text in
                                (("start", "0"), ("end", "-1"), ("stride", "1"), ("axis", "0")))  # fmt: skip
    return "axis" in entry.attrib and stride > 0 and start > 0 and axis >= 0 and end < 0


def _cut_before_loop(model: EditableIr, net: IrGraph, layer: Element) -> None:
    for entry in port_map_entries(layer, "input"):
        if not _has_positive_start(entry):
            continue
        start, axis = int(entry.get("start")), int(entry.get("axis"))
        target = layer.get("id"), entry.get("external_port_id")
        port = next(port for port in input_ports(layer) if port.get("id") == target[1])
        dims = _source_dims(net, target)
        rank = len(dims)
        first = np.zeros(rank, np.int64)
        first[axis] = start
        name = f"{layer.get('name')}_cut"
        ends = [model.add_constant(net, f"{name}_{word}", data) for word, data in
                (("from", first), ("to", np.zeros(rank, np.int64)), ("step", np.ones(rank, np.int64)))]  # fmt: skip
        cut = net.add_layer("StridedSlice", name)
        begin_mask = ",".join("0" if k == axis else "1" for k in range(rank))
        masks = {"begin_mask": begin_mask, "end_mask": ",".join("1" * rank), "new_axis_mask": "",
                 "shrink_axis_mask": "", "ellipsis_mask": ""}  # fmt: skip
        etree.SubElement(cut, "data", masks)
        source = net.source_by_input()[target]
        for number in range(4):
            new = add_port(cut, "input", str(number), precision="I64" if number else port.get("precision", "FP32"))
            for size in [str(rank)] if number else dims:
                etree.SubElement(new, "dim").text = size
        result = add_port(cut, "output", "4", precision=port.get("precision", "FP32"))
        dims[axis] = str(int(dims[axis]) - start) if dims[axis].isdecimal() else dims[axis]
        set_port_shape(result, [int(dim) if dim.isdecimal() else None for dim in dims])
        set_port_shape(port, [int(dim) if dim.isdecimal() else None for dim in dims])
        net.add_edge(source, (cut.get("id"), "0"))
        for number, constant in enumerate(ends, 1):
            net.add_edge((constant.get("id"), "0"), (cut.get("id"), str(number)))
        net.connect((cut.get("id"), "4"), target)
        entry.set("start", "0")


def _port_map(layer: Element) -> list[Element]:
    return [*port_map_entries(layer, "input"), *port_map_entries(layer, "output")]


def _layer_rewrite(
    kind: str,
    path: str,
    layer: Element,
    reason: str,
    edit: Callable[[EditableIr, IrGraph, Element], None],
    ref: _LayerRef,
) -> Rewrite:
    return Rewrite(kind, path, layer.get("name", ""), reason, partial(_edit_layer, edit, ref))


def _edit_layer(edit: Callable[[EditableIr, IrGraph, Element], None], ref: _LayerRef, model: Any) -> None:
    net = list(walk_graphs(model.net))[ref[0]]
    edit(model, net, net.layer(ref[1]))
