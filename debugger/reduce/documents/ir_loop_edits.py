"""Edits of loops of an IR's main graph: fewer iterations, a later start, or one iteration of the body."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lxml import etree

from ....runtime.model import Data
from ....runtime.modelfile.ir_graph import (
    CONSTANT_TYPES,
    Element,
    IrGraph,
    Port,
    add_port,
    back_edges,
    input_ports,
    output_ports,
    port_map_entries,
    port_precision,
    renumber_ports,
)
from ....runtime.text import fresh_name
from .document import NewInputs, Values

#: Turns a layer into a constant.
MakeConstant = Callable[[Element, Any], None]
#: The element types of dtypes that constants are written in.
_ELEMENT_TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
_ELEMENT_TYPES |= {"bool": "boolean", "object": "string"}
_ELEMENT_TYPES |= {f"{word}int{bits}": f"{word or 'i'}{bits}" for word in ("", "u") for bits in (8, 16, 32, 64)}


def element_type(dtype: Any) -> str:
    """The name of a dtype in data elements.

    Raises:
        KeyError: no constant of it is written.
    """
    return _ELEMENT_TYPES[np.dtype(dtype).name]


def add_parameter(net: IrGraph, name: str, value: Data) -> Port:
    """Add an input for a value to a graph; return its port."""
    array = np.asarray(value)
    layer = net.add_layer("Parameter", name)
    kind = element_type(array.dtype)
    etree.SubElement(layer, "data", shape=",".join(map(str, array.shape)), element_type=kind)
    add_port(layer, "output", "0", precision=port_precision(kind), names=name)
    return layer.get("id"), "0"


def connect_constant(fill: MakeConstant, net: IrGraph, target: Port, name: str, value: Data) -> None:
    """Add a constant to a graph and connect it to a port."""
    layer = net.add_layer("Const", name)
    add_port(layer, "output", "0", names=fresh_name(name, set(net.name_by_output().values())))
    fill(layer, value)
    net.connect((layer.get("id"), "0"), target)


def initial_names(net: IrGraph, layer: Element) -> list[str]:
    """The names of initial carried values, by back edge."""
    return [
        net.source_name(layer, _invariant_input(layer, edge.get("to-layer")).get("external_port_id"))
        for edge in back_edges(layer)
    ]


def final_names(net: IrGraph, layer: Element) -> list[str]:
    """The names of final carried values; missing outputs are added."""
    names = net.name_by_output()
    names_found = []
    for edge in back_edges(layer):
        result = edge.get("from-layer")
        entry = next((item for item in port_map_entries(layer, "output") if _gives_last(item, result)), None)
        port = _add_output(layer, result) if entry is None else entry.get("external_port_id")
        element = next(item for item in output_ports(layer) if item.get("id") == port)
        if not element.get("names"):
            element.set("names", fresh_name(f"{layer.get('name')}_{port}", set(names.values())))
        names = net.name_by_output()
        names_found.append(names[layer.get("id"), port])
    return names_found


def limit_iterations(
    fill: MakeConstant, net: IrGraph, layer: Element, count: int, values: Values, main: bool
) -> NewInputs:
    """Limit the iterations of a loop."""
    if layer.get("type") == "Loop":
        trip_count = values.get(net.source_name(layer, "0"))
        if trip_count is not None and 0 <= int(np.asarray(trip_count).reshape(-1)[0]) <= count:
            return None
        _set_trip_count(fill, net, layer, trip_count, count)
        return {}
    return _restrict_slices(net, layer, slice(0, count), values) if main else None


def start_at_iteration(
    fill: MakeConstant, net: IrGraph, layer: Element, index: int, state: Sequence[Data], values: Values
) -> NewInputs:
    """Let a loop start with iteration ``index`` and these carried values; iteration numbers still count from 0."""
    inputs = _restrict_slices(net, layer, slice(index, None), values)
    if inputs is None:
        return None
    if layer.get("type") == "Loop":
        trip_count = values.get(net.source_name(layer, "0"))
        if trip_count is not None and int(np.asarray(trip_count).reshape(-1)[0]) >= index:
            _set_trip_count(fill, net, layer, trip_count, int(np.asarray(trip_count).reshape(-1)[0]) - index)
    for edge, data in zip(back_edges(layer), state, strict=True):
        entry = _invariant_input(layer, edge.get("to-layer"))
        inputs |= _make_model_input(net, layer, entry.get("external_port_id"), data)
    return inputs


def replace_by_iteration(root: Element, layer: Element, index: int, state: Sequence[Data], values: Values) -> NewInputs:
    """Replace the model by one iteration of the body of a loop."""
    outer = IrGraph(root)
    parameters = _iteration_parameters(outer, layer, index, state, values)
    body = IrGraph(layer.find("body"))
    if parameters is None or any(param.get("id") not in parameters for param in body.layers_of_type("Parameter")):
        return None
    inputs: dict[str, Data] = {}
    for param in body.layers_of_type("Parameter"):
        port = output_ports(param)[0]
        data, constant = parameters[param.get("id")]
        if constant is not None:
            pooled = constant.get("pooled")
            param.set("type", "Const")
            param.set("pooled", pooled)
            param.remove(param.find("data"))
            param.insert(0, copy.deepcopy(constant.find("data")))
            continue
        inputs[port.get("names")] = data
        shape = ",".join(map(str, np.shape(data)))
        param.find("data").set("shape", shape)
        param.find("data").set("element_type", element_type(np.asarray(data).dtype))
    _normalize_results(body)
    for tag in ("layers", "edges"):
        old = root.find(tag)
        if old is not None:
            root.remove(old)
    for tag in ("layers", "edges"):
        new = body.element.find(tag)
        if new is not None:
            root.append(new)
    return inputs


def unread_results(net: IrGraph, layer: Element) -> list[int]:
    """The indices of Results of a loop body that have no reader: outside, as the condition, or in the next iteration of
    a live result."""
    body = IrGraph(layer.find("body"))
    results = [element.get("id") for element in body.layers_of_type("Result")]
    used = {(element.get("from-layer"), element.get("from-port")) for element in net.edges()}
    live = {
        element.get("internal_layer_id")
        for element in port_map_entries(layer, "output")
        if element.get("purpose") == "execution_condition" or (layer.get("id"), element.get("external_port_id")) in used
    }
    edges = {edge.get("to-layer"): edge.get("from-layer") for edge in back_edges(layer)}
    pending = list(live)
    while pending:
        for param in _parameters_read(body, pending.pop()):
            result = edges.get(param)
            if result is not None and result not in live:
                live.add(result)
                pending.append(result)
    return [k for k, id in enumerate(results) if id not in live]


def drop_results(net: IrGraph, layer: Element, indices: Sequence[int]) -> None:
    """Remove Results of a loop body and parts that become dead, with the ports on both sides."""
    body = IrGraph(layer.find("body"))
    results = body.layers_of_type("Result")
    dropped = {results[k].get("id") for k in indices}
    for k in indices:
        body.remove_layer(results[k])
    for element in (*port_map_entries(layer, "output"), *back_edges(layer)):
        if (element.get("internal_layer_id") or element.get("from-layer")) in dropped:
            element.getparent().remove(element)
    _drop_unmapped_ports(net, layer)
    body.remove_dead()
    used = {element.get("from-layer") for element in body.edges()}
    for element in body.layers_of_type("Parameter"):
        if element.get("id") not in used:
            for entry in (*port_map_entries(layer, "input"), *back_edges(layer)):
                if (entry.get("internal_layer_id") or entry.get("to-layer")) == element.get("id"):
                    entry.getparent().remove(entry)
            body.remove_layer(element)
    _drop_unmapped_ports(net, layer)
    renumber_ports(net, layer)


# -- helpers


def _drop_unmapped_ports(net: IrGraph, layer: Element) -> None:
    """Remove ports without a port map entry; a Loop keeps its first two."""
    mapped = {entry.get("external_port_id") for tag in ("input", "output") for entry in port_map_entries(layer, tag)}
    if layer.get("type") == "Loop":
        mapped |= {"0", "1"}
    for port in (*input_ports(layer), *output_ports(layer)):
        if port.get("id") not in mapped:
            net.disconnect((layer.get("id"), port.get("id")))
            port.getparent().remove(port)


def _parameters_read(body: IrGraph, result: str) -> set[str]:
    """The Parameters that a Result depends on."""
    feeding: dict[str, set[str]] = {}
    for (target, _), (source, _) in body.source_by_input().items():
        feeding.setdefault(target, set()).add(source)
    visited, pending = {result}, [result]
    while pending:
        for source in feeding.get(pending.pop(), ()):
            if source not in visited:
                visited.add(source)
                pending.append(source)
    return visited & {param.get("id") for param in body.layers_of_type("Parameter")}


def _invariant_input(layer: Element, param: str) -> Element:
    for entry in port_map_entries(layer, "input"):
        if entry.get("internal_layer_id") == param and entry.get("axis") is None:
            return entry
    raise KeyError(param)


def _gives_last(entry: Element, result: str) -> bool:
    external = entry.get("external_port_id")
    return entry.get("internal_layer_id") == result and entry.get("axis") is None and not external.startswith("-")


def _add_output(layer: Element, result: str) -> str:
    ports = [*input_ports(layer), *output_ports(layer)]
    port = str(max((int(port_.get("id")) for port_ in ports), default=-1) + 1)
    add_port(layer, "output", port, precision="UNSPECIFIED")
    etree.SubElement(layer.find("port_map"), "output", external_port_id=port, internal_layer_id=result)
    return port


def _set_trip_count(fill: MakeConstant, net: IrGraph, layer: Element, old: Data | None, count: int) -> None:
    """Give a Loop a constant trip count of the same shape and type."""
    old_array = np.asarray(0 if old is None else old)
    name = fresh_name(f"{layer.get('name')}_trips", set(net.name_by_output().values()))
    value = np.full(old_array.shape, count, old_array.dtype if old is not None else np.int64)
    connect_constant(fill, net, (layer.get("id"), "0"), name, value)


def _make_model_input(net: IrGraph, layer: Element, port: str, data: Data) -> dict[str, Data]:
    """Turn an input of a loop into one of the model, with the same name if it has no other reader."""
    source = net.source_by_input()[layer.get("id"), port]
    producer = net.layer(source[0])
    readers = sum((edge.get("from-layer"), edge.get("from-port")) == source for edge in net.edges())
    name: str = net.name_by_output()[source]
    if producer.get("type") == "Parameter" and readers == 1:
        producer.find("data").set("shape", ",".join(map(str, np.shape(data))))
        return {name: data}
    name = fresh_name(f"{name}_given", set(net.name_by_output().values()))
    net.connect(add_parameter(net, name, data), (layer.get("id"), port))
    return {name: data}


def _sliced_inputs(layer: Element) -> list[tuple[Element, int, int]]:
    """The sliced inputs with their axes and strides."""
    entries = [entry for entry in port_map_entries(layer, "input") if entry.get("axis") is not None]
    return [(entry, int(entry.get("axis")), int(entry.get("stride", 1))) for entry in entries]


def _covers_whole_axis(entry: Element, stride: int) -> bool:
    """Whether the slices cover the axis from one end to the other."""
    ends = int(entry.get("start", 0)), int(entry.get("end", -1))
    return abs(stride) == int(entry.get("part_size", 1)) and ends == ((0, -1) if stride > 0 else (-1, 0))


def _restrict_slices(net: IrGraph, layer: Element, rows: slice, values: Values) -> NewInputs:
    """Restrict the sliced inputs of a loop to these iterations."""
    inputs: dict[str, Data] = {}
    for entry, axis, stride in _sliced_inputs(layer):
        port = entry.get("external_port_id")
        name = net.source_name(layer, port)
        if name not in values or not _covers_whole_axis(entry, stride):
            return None
        array = np.asarray(values[name])
        parts = array.shape[axis] // abs(stride)
        indices = range(parts)[rows]
        if len(indices) == parts:
            return None
        start = min(indices) if stride > 0 else parts - 1 - max(indices)
        part = np.take(array, range(start * abs(stride), (start + len(indices)) * abs(stride)), axis)
        inputs |= _make_model_input(net, layer, port, part)
    return inputs


def _iteration_parameters(
    net: IrGraph, layer: Element, k: int, state: Sequence[Data], values: Values
) -> dict[str, tuple[Data, Element | None]] | None:
    """The values of a body's Parameters in an iteration, by id; for a constant also its layer."""
    result: dict[str, tuple[Data, Element | None]] = {}
    for entry in port_map_entries(layer, "input"):
        param, port = entry.get("internal_layer_id"), entry.get("external_port_id")
        if entry.get("purpose") == "current_iteration":
            spec = next(op for op in IrGraph(layer.find("body")).layers if op.get("id") == param).find("data")
            shape = [1] if spec.get("shape", "") else []
            result[param] = np.full(shape, k, np.int32 if spec.get("element_type") == "i32" else np.int64), None
            continue
        source = net.source_by_input()[layer.get("id"), port]
        name = net.name_by_output()[source]
        producer = net.layer(source[0])
        if producer.get("type") in CONSTANT_TYPES and entry.get("axis") is None:
            result[param] = np.zeros(0), producer
        elif name not in values:
            return None
        elif entry.get("axis") is None:
            result[param] = values[name], None
        else:
            part = _slice_part(entry, np.asarray(values[name]), k)
            if part is None:
                return None
            result[param] = part, None
    for edge, data in zip(back_edges(layer), state, strict=True):
        result[edge.get("to-layer")] = data, None
    return result


def _slice_part(entry: Element, array: Any, index: int) -> Data | None:
    axis, stride = int(entry.get("axis")), int(entry.get("stride", 1))
    parts = array.shape[axis] // abs(stride)
    if not _covers_whole_axis(entry, stride) or index >= parts:
        return None
    start = (index if stride > 0 else parts - 1 - index) * abs(stride)
    return np.take(array, range(start, start + abs(stride)), axis)


def _normalize_results(body: IrGraph) -> None:
    """Make each computed output of a body unique, with its own name."""
    names, sources, visited = body.name_by_output(), body.source_by_input(), set()
    for result in body.layers_of_type("Result"):
        source = sources.get((result.get("id"), input_ports(result)[0].get("id")))
        kind = "" if source is None else body.layer(source[0]).get("type")
        if source is None or source in visited or kind in ("Parameter", *CONSTANT_TYPES):
            body.remove_layer(result)
            continue
        visited.add(source)
        result.set("output_names", names[source])
