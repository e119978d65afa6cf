"""Loops of an IR's main graph made shorter, begun later, or taken apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from lxml import etree

from ....runtime.model import Data
from .ir_graph import (
    CONSTANT_TYPES,
    Element,
    IrGraph,
    Port,
    back_edges,
    get_or_add_child,
    input_ports,
    output_ports,
    port_map_entries,
    renumber_ports,
)

#: Lets a layer be a constant.
MakeConstant = Callable[[Element, Any], None]
#: dtypes in the words of data and of ports.
_TYPE_NAMES = {
    "float32": ("f32", "FP32"),
    "float64": ("f64", "FP64"),
    "float16": ("f16", "FP16"),
    "bool": ("boolean", "BOOL"),
}
_TYPE_NAMES |= {"bfloat16": ("bf16", "BF16"), "object": ("string", "STRING")}
_TYPE_NAMES |= {
    f"{word}int{bits}": (f"{word or 'i'}{bits}", f"{(word or 'i').upper()}{bits}")
    for word in ("", "u")
    for bits in (8, 16, 32, 64)
}


def element_type(dtype: Any) -> str:
    """A dtype as attributes call it."""
    return _TYPE_NAMES[np.dtype(dtype).name][0]


def port_precision(dtype: Any) -> str:
    """A dtype as ports call it."""
    return _TYPE_NAMES[np.dtype(dtype).name][1]


def add_parameter(net: IrGraph, name: str, value: Data) -> Port:
    """A new input of a graph for a value; returns its port."""
    array = np.asarray(value)
    layer = net.add_layer("Parameter", name)
    shape = ",".join(map(str, array.shape))
    etree.SubElement(layer, "data", shape=shape, element_type=element_type(array.dtype))
    etree.SubElement(
        get_or_add_child(layer, "output"), "port", id="0", precision=port_precision(array.dtype), names=name
    )
    return layer.get("id"), "0"


def initial_names(net: IrGraph, layer: Element) -> list[str]:
    """What is carried into the first iteration, by back edge."""
    return [
        net.source_name(layer, _invariant_input(layer, edge.get("to-layer")).get("external_port_id"))
        for edge in back_edges(layer)
    ]


def final_names(net: IrGraph, layer: Element) -> list[str]:
    """What is carried out of the last iteration; an output is made for what has none."""
    names = net.name_by_output()
    found = []
    for edge in back_edges(layer):
        result = edge.get("from-layer")
        entry = next((one for one in port_map_entries(layer, "output") if _gives_last(one, result)), None)
        port = _add_output(layer, result) if entry is None else entry.get("external_port_id")
        element = next(one for one in output_ports(layer) if one.get("id") == port)
        if not element.get("names"):
            element.set("names", _unused_name(f"{layer.get('name')}_{port}", set(names.values())))
        names = net.name_by_output()
        found.append(names[layer.get("id"), port])
    return found


def limit_iterations(
    fill: MakeConstant, net: IrGraph, layer: Element, count: int, values: Mapping[str, Data], main: bool
) -> dict[str, Data] | None:
    """Let a loop run no more iterations than that."""
    if layer.get("type") == "Loop":
        known = values.get(net.source_name(layer, "0"))
        if known is not None and 0 <= int(np.asarray(known).reshape(-1)[0]) <= count:
            return None
        _set_trip_count(fill, net, layer, known, count)
        return {}
    return _restrict_slices(net, layer, slice(0, count), values) if main else None


def start_at_iteration(
    fill: MakeConstant, net: IrGraph, layer: Element, at: int, state: Sequence[Data], values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Let a loop start with iteration ``at`` and these carried values; iteration numbers count from 0 all the same."""
    made = _restrict_slices(net, layer, slice(at, None), values)
    if made is None:
        return None
    if layer.get("type") == "Loop":
        known = values.get(net.source_name(layer, "0"))
        if known is not None and int(np.asarray(known).reshape(-1)[0]) >= at:
            _set_trip_count(fill, net, layer, known, int(np.asarray(known).reshape(-1)[0]) - at)
    for edge, data in zip(back_edges(layer), state, strict=True):
        entry = _invariant_input(layer, edge.get("to-layer"))
        made |= _make_model_input(net, layer, entry.get("external_port_id"), data)
    return made


def replace_by_iteration(
    root: Element, layer: Element, at: int, state: Sequence[Data], values: Mapping[str, Data]
) -> dict[str, Data] | None:
    """Be one iteration of the body of a loop, and nothing else."""
    outer = IrGraph(root)
    fed = _iteration_parameters(outer, layer, at, state, values)
    body = IrGraph(layer.find("body"))
    if fed is None or any(one.get("id") not in fed for one in body.layers_of_type("Parameter")):
        return None
    made: dict[str, Data] = {}
    for one in body.layers_of_type("Parameter"):
        port = output_ports(one)[0]
        data, constant = fed[one.get("id")]
        if constant is not None:
            pooled = constant.get("pooled")
            one.set("type", "Const")
            one.set("pooled", pooled)
            one.remove(one.find("data"))
            one.insert(0, _copy_element(constant.find("data")))
            continue
        made[port.get("names")] = data
        shape = ",".join(map(str, np.shape(data)))
        one.find("data").set("shape", shape)
        one.find("data").set("element_type", element_type(np.asarray(data).dtype))
    _normalize_results(body)
    for tag in ("layers", "edges"):
        old = root.find(tag)
        if old is not None:
            root.remove(old)
    for tag in ("layers", "edges"):
        new = body.element.find(tag)
        if new is not None:
            root.append(new)
    return made


def unread_results(net: IrGraph, layer: Element) -> list[int]:
    """Which Results of the body of a loop, in order, nobody reads: outside, as the condition, or in the next iteration
    for one of these."""
    body = IrGraph(layer.find("body"))
    results = [one.get("id") for one in body.layers_of_type("Result")]
    used = {(one.get("from-layer"), one.get("from-port")) for one in net.edges()}
    live = {
        one.get("internal_layer_id")
        for one in port_map_entries(layer, "output")
        if one.get("purpose") == "execution_condition" or (layer.get("id"), one.get("external_port_id")) in used
    }
    edges = {edge.get("to-layer"): edge.get("from-layer") for edge in back_edges(layer)}
    todo = list(live)
    while todo:
        for param in _parameters_read(body, todo.pop()):
            result = edges.get(param)
            if result is not None and result not in live:
                live.add(result)
                todo.append(result)
    return [k for k, id in enumerate(results) if id not in live]


def drop_results(net: IrGraph, layer: Element, which: Sequence[int]) -> None:
    """Leave out Results of the body of a loop, and what nothing needs then, on both sides of its ports."""
    body = IrGraph(layer.find("body"))
    results = body.layers_of_type("Result")
    gone = {results[k].get("id") for k in which}
    for k in which:
        body.remove_layer(results[k])
    for one in (*port_map_entries(layer, "output"), *back_edges(layer)):
        if (one.get("internal_layer_id") or one.get("from-layer")) in gone:
            one.getparent().remove(one)
    _drop_unmapped_ports(net, layer)
    body.remove_dead()
    needed = {one.get("from-layer") for one in body.edges()}
    for one in body.layers_of_type("Parameter"):
        if one.get("id") not in needed:
            for other in (*port_map_entries(layer, "input"), *back_edges(layer)):
                if (other.get("internal_layer_id") or other.get("to-layer")) == one.get("id"):
                    other.getparent().remove(other)
            body.remove_layer(one)
    _drop_unmapped_ports(net, layer)
    renumber_ports(net, layer)


# -- pieces


def _drop_unmapped_ports(net: IrGraph, layer: Element) -> None:
    """Leave out the ports that no entry of the port map is about; a Loop keeps its first two."""
    kept = {one.get("external_port_id") for tag in ("input", "output") for one in port_map_entries(layer, tag)}
    if layer.get("type") == "Loop":
        kept |= {"0", "1"}
    for port in (*input_ports(layer), *output_ports(layer)):
        if port.get("id") not in kept:
            net.disconnect((layer.get("id"), port.get("id")))
            port.getparent().remove(port)


def _parameters_read(body: IrGraph, result: str) -> set[str]:
    """The Parameters that a Result depends on."""
    feeding: dict[str, set[str]] = {}
    for (target, _), (source, _) in body.source_by_input().items():
        feeding.setdefault(target, set()).add(source)
    seen, todo = {result}, [result]
    while todo:
        for source in feeding.get(todo.pop(), ()):
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return seen & {one.get("id") for one in body.layers_of_type("Parameter")}


def _invariant_input(layer: Element, param: str) -> Element:
    for one in port_map_entries(layer, "input"):
        if one.get("internal_layer_id") == param and one.get("axis") is None:
            return one
    raise KeyError(param)


def _gives_last(entry: Element, result: str) -> bool:
    external = entry.get("external_port_id")
    return entry.get("internal_layer_id") == result and entry.get("axis") is None and not external.startswith("-")


def _add_output(layer: Element, result: str) -> str:
    ports = [*input_ports(layer), *output_ports(layer)]
    port = str(max((int(one.get("id")) for one in ports), default=-1) + 1)
    etree.SubElement(get_or_add_child(layer, "output"), "port", id=port, precision="UNSPECIFIED")
    etree.SubElement(layer.find("port_map"), "output", external_port_id=port, internal_layer_id=result)
    return port


def _unused_name(name: str, taken: set[str]) -> str:
    count = 1
    found = name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    return found


def _set_trip_count(fill: MakeConstant, net: IrGraph, layer: Element, known: Data | None, count: int) -> None:
    """Give a Loop a constant trip count, of the shape and type that it had."""
    like = np.asarray(0 if known is None else known)
    name = _unused_name(f"{layer.get('name')}_trips", set(net.name_by_output().values()))
    made = net.add_layer("Const", name)
    etree.SubElement(get_or_add_child(made, "output"), "port", id="0", names=name)
    fill(made, np.full(like.shape, count, like.dtype if known is not None else np.int64))
    net.connect((made.get("id"), "0"), (layer.get("id"), "0"))


def _make_model_input(net: IrGraph, layer: Element, port: str, data: Data) -> dict[str, Data]:
    """An input of a loop becomes one of the model, under the name that it has if nothing else reads that."""
    source = net.source_by_input()[layer.get("id"), port]
    made = net.layer(source[0])
    readers = sum((one.get("from-layer"), one.get("from-port")) == source for one in net.edges())
    name: str = net.name_by_output()[source]
    if made.get("type") == "Parameter" and readers == 1:
        made.find("data").set("shape", ",".join(map(str, np.shape(data))))
        return {name: data}
    name = _unused_name(f"{name}_given", set(net.name_by_output().values()))
    net.connect(add_parameter(net, name, data), (layer.get("id"), port))
    return {name: data}


def _sliced_inputs(layer: Element) -> list[tuple[Element, int, int]]:
    """The sliced inputs with their axes and strides."""
    found = [one for one in port_map_entries(layer, "input") if one.get("axis") is not None]
    return [(one, int(one.get("axis")), int(one.get("stride", 1))) for one in found]


def _covers_whole_axis(entry: Element, stride: int) -> bool:
    """From one end to the other, part by part."""
    ends = int(entry.get("start", 0)), int(entry.get("end", -1))
    return abs(stride) == int(entry.get("part_size", 1)) and ends == ((0, -1) if stride > 0 else (-1, 0))


def _restrict_slices(net: IrGraph, layer: Element, rows: slice, values: Mapping[str, Data]) -> dict[str, Data] | None:
    """Give a loop these iterations of what it slices."""
    made: dict[str, Data] = {}
    for entry, axis, stride in _sliced_inputs(layer):
        port = entry.get("external_port_id")
        name = net.source_name(layer, port)
        if name not in values or not _covers_whole_axis(entry, stride):
            return None
        array = np.asarray(values[name])
        parts = array.shape[axis] // abs(stride)
        wanted = range(parts)[rows]
        if len(wanted) == parts:
            return None
        first = min(wanted) if stride > 0 else parts - 1 - max(wanted)
        piece = np.take(array, range(first * abs(stride), (first + len(wanted)) * abs(stride)), axis)
        made |= _make_model_input(net, layer, port, piece)
    return made


def _iteration_parameters(
    net: IrGraph, layer: Element, at: int, state: Sequence[Data], values: Mapping[str, Data]
) -> dict[str, tuple[Data, Element | None]] | None:
    """What the Parameters of a body get in an iteration, by id; of a constant also its layer."""
    found: dict[str, tuple[Data, Element | None]] = {}
    for entry in port_map_entries(layer, "input"):
        param, port = entry.get("internal_layer_id"), entry.get("external_port_id")
        if entry.get("purpose") == "current_iteration":
            like = next(one for one in IrGraph(layer.find("body")).layers if one.get("id") == param).find("data")
            shape = [1] if like.get("shape", "") else []
            found[param] = np.full(shape, at, np.int32 if like.get("element_type") == "i32" else np.int64), None
            continue
        source = net.source_by_input()[layer.get("id"), port]
        name = net.name_by_output()[source]
        made = net.layer(source[0])
        if made.get("type") in CONSTANT_TYPES and entry.get("axis") is None:
            found[param] = np.zeros(0), made
        elif name not in values:
            return None
        elif entry.get("axis") is None:
            found[param] = values[name], None
        else:
            part_ = _slice_part(entry, np.asarray(values[name]), at)
            if part_ is None:
                return None
            found[param] = part_, None
    for edge, data in zip(back_edges(layer), state, strict=True):
        found[edge.get("to-layer")] = data, None
    return found


def _slice_part(entry: Element, array: Any, at: int) -> Data | None:
    axis, stride = int(entry.get("axis")), int(entry.get("stride", 1))
    parts = array.shape[axis] // abs(stride)
    if not _covers_whole_axis(entry, stride) or at >= parts:
        return None
    first = (at if stride > 0 else parts - 1 - at) * abs(stride)
    return np.take(array, range(first, first + abs(stride)), axis)


def _copy_element(element: Element) -> Element:
    return etree.fromstring(etree.tostring(element))


def _normalize_results(body: IrGraph) -> None:
    """Each output of a body that a layer makes, once, under its own name."""
    names, sources, seen = body.name_by_output(), body.source_by_input(), set()
    for one in body.layers_of_type("Result"):
        source = sources.get((one.get("id"), input_ports(one)[0].get("id")))
        kind = "" if source is None else body.layer(source[0]).get("type")
        if source is None or source in seen or kind in ("Parameter", *CONSTANT_TYPES):
            body.remove_layer(one)
            continue
        seen.add(source)
        one.set("output_names", names[source])
