"""An OpenVINO IR under reduction: layers, attributes and names are preserved."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ....runtime import dtypes
from ....runtime.atomic_file import scratch_folder, write_bytes
from ....runtime.errors import ModelError, UnsupportedError, one_line
from ....runtime.model import Data, Model, load
from ....runtime.modelfile.ir_graph import (
    CONSTANT_TYPES,
    LOOP_TYPES,
    Element,
    IrGraph,
    Port,
    add_port,
    back_edges,
    inner_graphs,
    input_ports,
    output_ports,
    port_map_entries,
    port_precision,
    renumber_ports,
    variable_of,
    walk_graphs,
)
from ....runtime.text import escape_lines, fresh_name
from .document import Document, DocumentNode, GraphPath, NewInputs, Values

#: Attribute with a constant's index in the pool; not part of the format.
_POOL_INDEX = "pooled"
#: Metadata that no reader needs.
_METADATA_TAGS = ("rt_info", "meta_data", "quantization_parameters", "statistics")

#: The element types of dtypes that constants are written in.
_ELEMENT_TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
_ELEMENT_TYPES |= {"bool": "boolean", "object": "string"}
_ELEMENT_TYPES |= {f"{word}int{bits}": f"{word or 'i'}{bits}" for word in ("", "u") for bits in (8, 16, 32, 64)}


class IrDocument(Document):
    """An IR in memory with its weights. Every value has one name, that of its tensor."""

    LOOP_OPERATORS = LOOP_TYPES

    def __init__(self, root: Element, pool: list[bytes], is_over_requests: bool = False) -> None:
        self.root = root
        self.is_over_requests = is_over_requests
        #: The bytes of constants; copies share the list, which is append-only.
        self.pool = pool

    @classmethod
    def read(cls, path: Path, weights: Path | None = None) -> IrDocument:
        """Read the model in a file.

        Raises:
            ModelError: it cannot be read.
        """
        try:
            root = etree.parse(str(path), etree.XMLParser(remove_comments=True, remove_blank_text=True)).getroot()
            weights_path = path.with_suffix(".bin") if weights is None else weights
            blob = weights_path.read_bytes() if weights_path.exists() else b""
        except (OSError, etree.XMLSyntaxError) as error:
            raise ModelError(f"{path}: cannot be cut: {one_line(error)}") from None
        document = cls(root, [])
        document._pool_constants(blob)
        model = load(path, weights)
        _assign_value_names(document.graph, [port.name for port in model.inputs], [port.name for port in model.outputs])
        root.set("version", "11")
        return document

    def copy(self) -> IrDocument:
        return IrDocument(copy.deepcopy(self.root), self.pool, self.is_over_requests)

    @property
    def graph(self) -> IrGraph:
        return IrGraph(self.root)

    @property
    def inputs(self) -> list[str]:
        return [output_ports(layer)[0].get("names") for layer in self.graph.layers_of_type("Parameter")]

    @property
    def outputs(self) -> list[str]:
        return [layer.get("output_names") for layer in self.graph.layers_of_type("Result")]

    def build_model(self) -> Model:
        with scratch_folder() as folder:
            model = load(self.save(folder, "cut"))
        return model.over_requests() if self.is_over_requests else model

    def save(self, folder: Path, stem: str) -> Path:
        root, blob = copy.deepcopy(self.root), bytearray()
        for layer in _constant_layers(IrGraph(root)):
            data = self.pool[int(layer.attrib.pop(_POOL_INDEX))]
            # Store equal bytes once, with the alignment of the type.
            offset = blob.find(data)
            while offset % 8 and offset >= 0:
                offset = blob.find(data, offset + 1)
            if offset < 0:
                blob += bytes(-len(blob) % 8)
                offset = len(blob)
                blob += data
            layer.find("data").set("offset", str(offset))
            layer.find("data").set("size", str(len(data)))
        path = folder / f"{stem}.xml"
        for layer in root.iter("layer", "edges"):
            layer.tail = "\n"  # one layer per line: small but readable
        write_bytes(path, b'<?xml version="1.0"?>\n' + etree.tostring(root))
        write_bytes(path.with_suffix(".bin"), blob)
        return path

    def text(self) -> str:
        return escape_lines(_layer_text_lines(self, self.graph, ""))

    def content_key(self) -> bytes:
        pooled = [self.pool[int(layer.get(_POOL_INDEX))] for layer in _constant_layers(self.graph)]
        return b"\0".join([bytes(etree.tostring(self.root)), *pooled])

    # -- the main graph

    def replace_by_inputs(self, values: Values) -> None:
        net = self.graph
        ports = {name: port for port, name in net.name_by_output().items() if name in values}
        for name, port in ports.items():
            layer = net.layer(port[0])
            if layer.get("type") in ("Parameter", *CONSTANT_TYPES):
                continue
            next(output for output in output_ports(layer) if output.get("id") == port[1]).attrib.pop("names")
            new = add_parameter(net, name, values[name][0] if self.is_over_requests else values[name])
            net.redirect_readers(port, new)
        for result in net.layers_of_type("Result"):
            if result.get("output_names") in ports:
                net.remove_layer(result)

    def set_outputs(self, values: Mapping[str, Data | None]) -> None:
        net = self.graph
        for result in net.layers_of_type("Result"):
            net.remove_layer(result)
        for name in values:
            result = net.add_layer("Result", f"{name}/sink")
            result.set("output_names", name.replace(",", "\\,"))
            add_port(result, "input", "0")
            net.connect(net.output_port_of_value(name), (result.get("id"), "0"))

    def remove_dead(self) -> None:
        self.graph.remove_dead()

    # -- loops

    def initial_value_names(self, key: str) -> list[str]:
        net, layer = self.graph, self.find_node(self.graph, key)
        return [
            net.source_name(layer, _invariant_input_entry(layer, edge.get("to-layer")).get("external_port_id"))
            for edge in back_edges(layer)
        ]

    def final_value_names(self, key: str) -> list[str]:
        net, layer = self.graph, self.find_node(self.graph, key)
        names = net.name_by_output()
        names_found = []
        for edge in back_edges(layer):
            result = edge.get("from-layer")
            entry = next(
                (item for item in port_map_entries(layer, "output") if _is_last_value_entry(item, result)), None
            )
            port = _add_output_port(layer, result) if entry is None else entry.get("external_port_id")
            element = next(item for item in output_ports(layer) if item.get("id") == port)
            if not element.get("names"):
                element.set("names", fresh_name(f"{layer.get('name')}_{port}", set(names.values())))
            names = net.name_by_output()
            names_found.append(names[layer.get("id"), port])
        return names_found

    def limit_iterations(self, key: str, path: GraphPath, count: int, values: Values) -> NewInputs:
        net = self.graph_at(path)
        layer = self.find_node(net, key)
        if layer.get("type") == "Loop":
            trip_count = values.get(net.source_name(layer, "0"))
            if trip_count is not None and 0 <= int(np.asarray(trip_count).reshape(-1)[0]) <= count:
                return None
            self._set_trip_count(net, layer, trip_count, count)
            return {}
        return _restrict_slices(net, layer, slice(0, count), values) if not path else None

    def start_at_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        net, layer = self.graph, self.find_node(self.graph, key)
        inputs = _restrict_slices(net, layer, slice(index, None), values)
        if inputs is None:
            return None
        if layer.get("type") == "Loop":
            trip_count = values.get(net.source_name(layer, "0"))
            if trip_count is not None and int(np.asarray(trip_count).reshape(-1)[0]) >= index:
                self._set_trip_count(net, layer, trip_count, int(np.asarray(trip_count).reshape(-1)[0]) - index)
        for edge, data in zip(back_edges(layer), state, strict=True):
            entry = _invariant_input_entry(layer, edge.get("to-layer"))
            inputs |= _make_model_input(net, layer, entry.get("external_port_id"), data)
        return inputs

    def replace_by_iteration(self, key: str, index: int, state: Sequence[Data], values: Values) -> NewInputs:
        root, layer = self.root, self.find_node(self.graph, key)
        outer = IrGraph(root)
        parameters = _iteration_parameter_values(outer, layer, index, state, values)
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
        _make_results_unique(body)
        for tag in ("layers", "edges"):
            old = root.find(tag)
            if old is not None:
                root.remove(old)
        for tag in ("layers", "edges"):
            new = body.element.find(tag)
            if new is not None:
                root.append(new)
        return inputs

    # -- inner graphs

    def replace_by_constant(self, node: DocumentNode, value: Data) -> bool:
        layer = self.node_of(node)
        ports = output_ports(layer)
        if len(ports) != 1 or not isinstance(value, np.ndarray) or layer.get("type") in CONSTANT_TYPES:
            return False
        net = self.graph_at(node.graph_path)
        for port in layer.findall("input/port"):
            net.disconnect((layer.get("id"), port.get("id")))
        self.make_constant(layer, value)
        return True

    def bypass_node(self, node: DocumentNode, source: str) -> bool:
        net, layer = self.graph_at(node.graph_path), self.node_of(node)
        ports = output_ports(layer)
        if len(ports) != 1 or source not in node.inputs:
            return False
        net.redirect_readers((layer.get("id"), ports[0].get("id")), net.output_port_of_value(source))
        net.remove_layer(layer)
        return True

    def remove_carried(self, node: DocumentNode, index: int) -> bool:
        edge = back_edges(self.node_of(node))[index]
        edge.getparent().remove(edge)
        return True

    def drop_results(self, node: DocumentNode, indices: Sequence[int]) -> bool:
        net, layer = self.graph_at(node.graph_path), self.node_of(node)
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
        return True

    # -- data

    def constants(self) -> dict[str, Data]:
        return {name: array for name, (_, array) in self._constants_by_name().items()}

    def set_constants(self, values: Values) -> None:
        constants = self._constants_by_name()
        for name, data in values.items():
            if name in constants:
                self.make_constant(constants[name][0], np.asarray(data))

    def declare_inputs(self, inputs: Mapping[str, Data]) -> None:
        for layer in self.graph.layers_of_type("Parameter"):
            name = output_ports(layer)[0].get("names")
            if name in inputs:
                shape = np.shape(inputs[name])[self.is_over_requests :]
                layer.find("data").set("shape", ",".join(map(str, shape)))
        for net in list(walk_graphs(self.graph))[1:]:
            for layer in net.layers_of_type("Parameter"):
                data = layer.find("data")
                rank = len([size for size in data.get("shape", "").split(",") if size])
                data.set("shape", ",".join(["?"] * rank))
        self._remove_output_shapes()

    def cleanup_edits(self) -> list[Callable[[], None]]:
        return [
            self._remove_metadata,
            self._remove_output_shapes,
            self._remove_empty_elements,
            self._remove_assigns,
        ]

    def _remove_metadata(self) -> None:
        """Remove metadata."""
        for tag in _METADATA_TAGS:
            for element in list(self.root.iter(tag)):
                element.getparent().remove(element)

    def _remove_output_shapes(self) -> None:
        """Remove the shapes of layer outputs, which can be inferred."""
        for port in self.root.iter("port"):
            for dim in list(port):
                port.remove(dim)

    def _remove_empty_elements(self) -> None:
        """Remove empty elements."""
        for element in list(self.root.iter("data", "input", "output", "back_edges")):
            if not len(element) and not element.attrib:
                element.getparent().remove(element)

    # -- variables

    def set_initial_state(self, state: Mapping[str, Data]) -> None:
        """Set the initial values of variables to constants."""
        for net in list(walk_graphs(self.graph)):
            for layer in net.layers_of_type("ReadValue"):
                variable = variable_of(layer)
                if variable not in state:
                    continue
                if not input_ports(layer):
                    port = add_port(layer, "input", "in")
                    layer.remove(port.getparent())
                    layer.insert(list(layer).index(layer.find("output")), port.getparent())
                    renumber_ports(net, layer)
                target = layer.get("id"), input_ports(layer)[0].get("id")
                self._connect_constant(net, target, f"{variable}_before", state[variable])

    def assigned_names(self) -> list[str]:
        """The names of values that the main graph assigns to variables."""
        net = self.graph
        return [name for layer in net.layers_of_type("Assign") for name in net.input_names(layer)]

    def _remove_assigns(self) -> None:
        """Remove all Assigns."""
        for net in list(walk_graphs(self.graph)):
            for layer in net.layers_of_type("Assign"):
                net.remove_layer(layer)

    def _set_trip_count(self, net: IrGraph, layer: Element, old: Data | None, count: int) -> None:
        """Give a Loop a constant trip count of the same shape and type."""
        old_array = np.asarray(0 if old is None else old)
        name = fresh_name(f"{layer.get('name')}_trips", set(net.name_by_output().values()))
        value = np.full(old_array.shape, count, old_array.dtype if old is not None else np.int64)
        self._connect_constant(net, (layer.get("id"), "0"), name, value)

    def _connect_constant(self, net: IrGraph, target: Port, name: str, value: Data) -> None:
        """Add a constant to a graph and connect it to a port."""
        layer = net.add_layer("Const", name)
        add_port(layer, "output", "0", names=fresh_name(name, set(net.name_by_output().values())))
        self.make_constant(layer, value)
        net.connect((layer.get("id"), "0"), target)

    def make_constant(self, layer: Element, value: Any) -> None:
        """Turn a layer into a constant."""
        array = np.ascontiguousarray(value)
        layer.set("type", "Const")
        layer.set("version", "opset1")
        for tag in ("input", "data", "rt_info"):
            for element in layer.findall(tag):
                layer.remove(element)
        shape = ",".join(map(str, np.shape(value)))
        kind = element_type(array.dtype)
        data = etree.Element("data", element_type=kind, shape=shape)
        layer.insert(0, data)
        self.pool.append(array.tobytes())
        layer.set(_POOL_INDEX, str(len(self.pool) - 1))
        for port in output_ports(layer):
            port.set("precision", port_precision(kind))

    def _pool_constants(self, blob: bytes) -> None:
        """Move the bytes of all constants to the pool."""
        for layer in _constant_layers(self.graph):
            data = layer.find("data")
            start, size = int(data.get("offset", 0)), int(data.get("size", 0))
            layer.set(_POOL_INDEX, str(len(self.pool)))
            self.pool.append(blob[start : start + size])

    def _constants_by_name(self) -> dict[str, tuple[Element, Data]]:
        """Constants of supported types, by name; a number is appended to a name that two graphs share."""
        constants: dict[str, tuple[Element, Data]] = {}
        for k, net in enumerate(walk_graphs(self.graph)):
            for layer in net.layers_of_type(*CONSTANT_TYPES):
                name = output_ports(layer)[0].get("names")
                array = _constant_array(layer, self.pool[int(layer.get(_POOL_INDEX))])
                if array is not None:
                    constants[name if name not in constants else f"{name} {k}"] = layer, array
        return constants

    # -- graphs and nodes

    def operators(self, graph: IrGraph) -> Iterable[Element]:
        return [layer for layer in graph.layers if layer.get("type") not in ("Parameter", "Result", *CONSTANT_TYPES)]

    def inner_graphs(self, node: Element) -> Iterable[tuple[str, IrGraph]]:
        return inner_graphs(node)

    def find_node(self, graph: IrGraph, key: str) -> Element:
        return graph.layer(graph.output_port_of_value(key)[0])

    def describe_node(self, graph: IrGraph, node: Element, path: GraphPath) -> DocumentNode:
        outputs = tuple(port.get("names") for port in output_ports(node) if port.get("names"))
        key = outputs[0] if outputs else node.get("name")
        return DocumentNode(key, node.get("name"), node.get("type"), tuple(graph.input_names(node)), outputs, path)

    def carried_value_count(self, node: Element) -> int:
        return len(back_edges(node))

    def unread_result_indices(self, graph: IrGraph, node: Element) -> list[int]:
        body = IrGraph(node.find("body"))
        results = [element.get("id") for element in body.layers_of_type("Result")]
        used = {(element.get("from-layer"), element.get("from-port")) for element in graph.edges()}
        live = {
            element.get("internal_layer_id")
            for element in port_map_entries(node, "output")
            if element.get("purpose") == "execution_condition"
            or (node.get("id"), element.get("external_port_id")) in used
        }
        edges = {edge.get("to-layer"): edge.get("from-layer") for edge in back_edges(node)}
        pending = list(live)
        while pending:
            for param in _parameters_read_by_result(body, pending.pop()):
                result = edges.get(param)
                if result is not None and result not in live:
                    live.add(result)
                    pending.append(result)
        return [k for k, id in enumerate(results) if id not in live]


def _constant_array(layer: Element, data: bytes) -> Data | None:
    """The numbers of a constant; None for packed types."""
    data_element = layer.find("data")
    try:
        dtype = dtypes.dtype_from_openvino(data_element.get("element_type", ""))
        shape = [int(dim) for dim in data_element.get("shape", "").split(",") if dim]
        return np.frombuffer(data, dtype)[: int(np.prod(shape))].reshape(shape)
    except (UnsupportedError, ValueError, TypeError):
        return None


def _assign_value_names(net: IrGraph, input_names: Sequence[str], results: Sequence[str]) -> None:
    """Give each value one name: that of the model's input or output, of its tensor, or of its layer."""
    used: set[str] = set()
    params, names = net.layers_of_type("Parameter"), iter(input_names)
    for layer in params:
        port = output_ports(layer)[0]
        port.set("names", _unused_name(next(names, port.get("names") or layer.get("name")), used))
    sources = net.source_by_input()
    ends = {sources[end.get("id"), end.find("input")[0].get("id")]: end for end in net.layers_of_type("Result")}
    output_names = dict(zip(ends, results, strict=False)) if len(ends) == len(results) else {}
    for layer in net.layers:
        for port in () if layer in params else output_ports(layer):
            default = (port.get("names") or layer.get("name") or layer.get("type")).split(",")[0]
            port.set("names", _unused_name(output_names.get((layer.get("id"), port.get("id")), default), used))
        for _, inner in inner_graphs(layer):
            _assign_value_names(inner, (), ())
    for source, layer in ends.items():
        layer.set("output_names", net.name_by_output()[source])
    for layer in net.layers_of_type("Result"):
        if net.element.tag == "net" and layer not in ends.values():
            net.remove_layer(layer)  # a value is an output only once


def _unused_name(name: str, used: set[str]) -> str:
    return fresh_name(name.replace(",", "_"), used)


def _constant_layers(net: IrGraph) -> list[Element]:
    return [layer for graph in walk_graphs(net) for layer in graph.layers_of_type(*CONSTANT_TYPES)]


def _layer_text_lines(document: IrDocument, net: IrGraph, indent: str) -> list[str]:
    """The layers of a graph, one per line."""
    lines = []
    for layer in net.layers:
        data = layer.find("data")
        words = {} if data is None else dict(data.attrib)
        outputs = ", ".join(port.get("names") or "_" for port in output_ports(layer)) or layer.get(
            "output_names", "result"
        )
        inputs = ", ".join(net.input_names(layer))
        text = ", ".join(f"{name}={value}" for name, value in words.items() if name not in ("offset", "size"))
        line = f"{indent}{outputs} = {layer.get('type')}({inputs}) {text}".rstrip()
        if layer.get("type") in CONSTANT_TYPES:
            array = _constant_array(layer, document.pool[int(layer.get(_POOL_INDEX))])
            line += "" if array is None else f" {np.array2string(np.asarray(array), threshold=10)}"
        lines.append(line)
        for word, inner in inner_graphs(layer):
            for entry in (*layer.findall("port_map/*"), *back_edges(layer)):
                lines.append(f"{indent}  {entry.tag} {' '.join(f'{k}={v}' for k, v in entry.attrib.items())}")
            lines += [f"{indent}  {word}:", *_layer_text_lines(document, inner, f"{indent}    ")]
    return lines


# -- loops


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


def _drop_unmapped_ports(net: IrGraph, layer: Element) -> None:
    """Remove ports without a port map entry; a Loop keeps its first two."""
    mapped = {entry.get("external_port_id") for tag in ("input", "output") for entry in port_map_entries(layer, tag)}
    if layer.get("type") == "Loop":
        mapped |= {"0", "1"}
    for port in (*input_ports(layer), *output_ports(layer)):
        if port.get("id") not in mapped:
            net.disconnect((layer.get("id"), port.get("id")))
            port.getparent().remove(port)


def _parameters_read_by_result(body: IrGraph, result: str) -> set[str]:
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


def _invariant_input_entry(layer: Element, param: str) -> Element:
    for entry in port_map_entries(layer, "input"):
        if entry.get("internal_layer_id") == param and entry.get("axis") is None:
            return entry
    raise KeyError(param)


def _is_last_value_entry(entry: Element, result: str) -> bool:
    external = entry.get("external_port_id")
    return entry.get("internal_layer_id") == result and entry.get("axis") is None and not external.startswith("-")


def _add_output_port(layer: Element, result: str) -> str:
    ports = [*input_ports(layer), *output_ports(layer)]
    port = str(max((int(port_.get("id")) for port_ in ports), default=-1) + 1)
    add_port(layer, "output", port, precision="UNSPECIFIED")
    etree.SubElement(layer.find("port_map"), "output", external_port_id=port, internal_layer_id=result)
    return port


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


def _sliced_input_entries(layer: Element) -> list[tuple[Element, int, int]]:
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
    for entry, axis, stride in _sliced_input_entries(layer):
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


def _iteration_parameter_values(
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


def _make_results_unique(body: IrGraph) -> None:
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
