"""A graph in an OpenVINO IR: layers, ports and edges of one ``<net>`` or ``<body>``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from lxml import etree

Element = Any  # lxml.etree._Element; lxml has no type information of its own
#: A port of a layer: layer id and port id, as in the file.
Port = tuple[str, str]
#: Element names of graphs inside layers.
BODY_TAGS = ("body", "then_body", "else_body")
LOOP_TYPES = ("Loop", "TensorIterator")
CONSTANT_TYPES = ("Const", "Constant")


class IrGraph:
    """One graph. Each output port has one tensor name, which is the name of the value."""

    def __init__(self, element: Element) -> None:
        self.element = element

    @property
    def layers(self) -> list[Element]:
        """All layers in order."""
        layers: list[Element] = self.element.findall("layers/layer")
        return layers

    def layer(self, id: str) -> Element:
        """Return a layer by its id.

        Raises:
            KeyError: no layer has that id.
        """
        for layer in self.layers:
            if layer.get("id") == id:
                return layer
        raise KeyError(id)

    def layers_of_type(self, *kinds: str) -> list[Element]:
        """Return the layers of some types."""
        return [layer for layer in self.layers if layer.get("type") in kinds]

    def edges(self) -> list[Element]:
        """Return all edges."""
        edges: list[Element] = self.element.findall("edges/edge")
        return edges

    def source_by_input(self) -> dict[Port, Port]:
        """Return the output port of each connected input port."""
        return {
            (edge.get("to-layer"), edge.get("to-port")): (edge.get("from-layer"), edge.get("from-port"))
            for edge in self.edges()
        }

    def name_by_output(self) -> dict[Port, str]:
        """Return the names of the values at output ports."""
        return {(op.get("id"), port.get("id")): port.get("names") for op in self.layers for port in output_ports(op)}

    def output_port_of_value(self, name: str) -> Port:
        """Return the output port of a value.

        Raises:
            KeyError: no layer computes it.
        """
        for port, value_name in self.name_by_output().items():
            if value_name == name:
                return port
        raise KeyError(name)

    def input_names(self, layer: Element) -> list[str]:
        """Return the names of a layer's inputs."""
        sources, names = self.source_by_input(), self.name_by_output()
        ports = [(layer.get("id"), port.get("id")) for port in input_ports(layer)]
        return [names[sources[port]] for port in ports if port in sources]

    def source_name(self, layer: Element, port: str) -> str:
        """Return the name of the value at an input port.

        Raises:
            KeyError: the port is not connected.
        """
        return self.name_by_output()[self.source_by_input()[layer.get("id"), port]]

    # -- edits

    def add_layer(self, type: str, name: str, version: str = "opset1") -> Element:
        """Add a layer with a new id."""
        ids = [int(other.get("id")) for other in self.layers]
        layer = etree.SubElement(
            self.element.find("layers"),
            "layer",
            id=str(max(ids, default=-1) + 1),
            name=name,
            type=type,
            version=version,
        )
        return layer

    def connect(self, source: Port, target: Port) -> None:
        """Connect two ports; replace an existing edge to the target."""
        self.disconnect(target)
        self.add_edge(source, target)

    def add_edge(self, source: Port | tuple[int, int], target: Port | tuple[int, int]) -> None:
        """Add an edge to a port that has none."""
        names = ("from-layer", "from-port", "to-layer", "to-port")
        ends = {name: str(end) for name, end in zip(names, (*source, *target), strict=True)}
        etree.SubElement(get_or_add_child(self.element, "edges"), "edge", ends)

    def disconnect(self, target: Port) -> None:
        """Remove the edge to a port."""
        for edge in self.edges():
            if (edge.get("to-layer"), edge.get("to-port")) == target:
                edge.getparent().remove(edge)

    def redirect_readers(self, source: Port, other: Port) -> None:
        """Redirect the readers of one output port to another."""
        for edge in self.edges():
            if (edge.get("from-layer"), edge.get("from-port")) == source:
                edge.set("from-layer", other[0])
                edge.set("from-port", other[1])

    def remove_layer(self, layer: Element) -> None:
        """Remove a layer and its edges."""
        id = layer.get("id")
        layer.getparent().remove(layer)
        for edge in self.edges():
            if id in (edge.get("from-layer"), edge.get("to-layer")):
                edge.getparent().remove(edge)

    def remove_dead(self) -> None:
        """Remove layers that no Result and no variable that is read depends on; Parameters of a body are kept, since
        the outer layer refers to them."""
        sources = self.source_by_input()
        feeding: dict[str, set[str]] = {}
        for (target, _), (source, _) in sources.items():
            feeding.setdefault(target, set()).add(source)
        kept_type = "Parameter" if self.element.tag != "net" else ""
        live: set[str] = set()
        pending = [id_.get("id") for id_ in self.layers_of_type("Result", kept_type)]
        while pending:
            live.update(pending)
            pending = [source for id_ in pending for source in feeding.get(id_, ()) if source not in live]
            pending = pending or [id_ for id_ in self._assigns_of_live_reads(live) if id_ not in live]
        for layer in self.layers:
            if layer.get("id") not in live:
                self.remove_layer(layer)
            else:
                for inner in inner_graphs(layer):
                    inner[1].remove_dead()

    def _assigns_of_live_reads(self, live: Collection[str]) -> list[str]:
        """The Assigns of the variables that the layers ``live`` read."""
        variables = {variable_of(layer) for layer in self.layers_of_type("ReadValue") if layer.get("id") in live}
        return [layer.get("id") for layer in self.layers_of_type("Assign") if variable_of(layer) in variables]


def variable_of(layer: Element) -> str:
    """The variable of a ReadValue or an Assign."""
    return str(layer.find("data").get("variable_id"))


def inner_graphs(layer: Element) -> Iterator[tuple[str, IrGraph]]:
    """The graphs inside a layer, with their element names."""
    for word in BODY_TAGS:
        element = layer.find(word)
        if element is not None:
            yield word, IrGraph(element)


def walk_graphs(net: IrGraph) -> Iterator[IrGraph]:
    """A graph and all graphs inside it, outer graphs first."""
    yield net
    for layer in net.layers:
        for _, inner in inner_graphs(layer):
            yield from walk_graphs(inner)


def input_ports(layer: Element) -> list[Element]:
    """The input ports of a layer."""
    ports: list[Element] = layer.findall("input/port")
    return ports


def output_ports(layer: Element) -> list[Element]:
    """The output ports of a layer."""
    ports: list[Element] = layer.findall("output/port")
    return ports


def get_or_add_child(element: Element, tag: str) -> Element:
    """Return a child of an element; add it if it is missing."""
    child = element.find(tag)
    return etree.SubElement(element, tag) if child is None else child


def add_port(layer: Element, side: str, id: str, **attributes: str) -> Element:
    """Add a port to a layer: an ``input`` or an ``output``."""
    return etree.SubElement(get_or_add_child(layer, side), "port", id=id, **attributes)


def set_port_shape(port: Element, shape: Iterable[int | None]) -> None:
    """Set the shape of a port; None: an unknown dimension."""
    for dim in port.findall("dim"):
        port.remove(dim)
    for size in shape:
        etree.SubElement(port, "dim").text = "-1" if size is None else str(size)


def port_precision(element_type: str) -> str:
    """The name of an element type in a port's ``precision``."""
    names = {"f32": "FP32", "f64": "FP64", "f16": "FP16", "boolean": "BOOL"}
    return names.get(element_type, element_type.upper())


def port_map_entries(layer: Element, tag: str) -> list[Element]:
    """The entries of a port map: ``input`` or ``output``."""
    entries: list[Element] = layer.findall(f"port_map/{tag}")
    return entries


def back_edges(layer: Element) -> list[Element]:
    """The back edges of a loop."""
    edges: list[Element] = layer.findall("back_edges/edge")
    return edges


def renumber_ports(net: IrGraph, layer: Element) -> None:
    """Number the ports of a layer from 0 on, inputs first: OpenVINO uses the id of a port as its index."""
    id = layer.get("id")
    old = [[port.get("id") for port in ports] for ports in (input_ports(layer), output_ports(layer))]
    new = [{id_: str(k) for k, id_ in enumerate(old[0])}, {id_: str(len(old[0]) + k) for k, id_ in enumerate(old[1])}]
    for ports, numbers in zip((input_ports(layer), output_ports(layer)), new, strict=True):
        for port in ports:
            port.set("id", numbers[port.get("id")])
    for edge in net.edges():
        if edge.get("to-layer") == id:
            edge.set("to-port", new[0][edge.get("to-port")])
        if edge.get("from-layer") == id:
            edge.set("from-port", new[1][edge.get("from-port")])
    for numbers, tag in zip(new, ("input", "output"), strict=True):
        for entry in port_map_entries(layer, tag):
            old_id = entry.get("external_port_id")
            entry.set("external_port_id", numbers.get(old_id, old_id))
