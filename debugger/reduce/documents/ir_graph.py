"""A graph of an OpenVINO IR as it is cut: layers, ports and edges of one ``<net>`` or ``<body>``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from lxml import etree

Element = Any  # lxml.etree._Element; lxml has no type information of its own
#: A port of a layer: layer id and port id, as they stand in the file.
Port = tuple[str, str]
#: The words of graphs inside layers.
BODY_TAGS = ("body", "then_body", "else_body")
LOOP_TYPES = ("Loop", "TensorIterator")
CONSTANT_TYPES = ("Const", "Constant")


class IrGraph:
    """One graph. Each output port has one tensor name, which is what a value is called here."""

    def __init__(self, element: Element) -> None:
        self.element = element

    @property
    def layers(self) -> list[Element]:
        """All layers in order."""
        return list(self.element.find("layers"))

    def layer(self, id: str) -> Element:
        """A layer by its id.

        Raises:
            KeyError: there is none.
        """
        for one in self.layers:
            if one.get("id") == id:
                return one
        raise KeyError(id)

    def layers_of_type(self, *kinds: str) -> list[Element]:
        """The layers of some types."""
        return [one for one in self.layers if one.get("type") in kinds]

    def edges(self) -> list[Element]:
        """All edges."""
        found = self.element.find("edges")
        return [] if found is None else list(found)

    def source_by_input(self) -> dict[Port, Port]:
        """For each connected input port the output port that it reads."""
        return {
            (one.get("to-layer"), one.get("to-port")): (one.get("from-layer"), one.get("from-port"))
            for one in self.edges()
        }

    def name_by_output(self) -> dict[Port, str]:
        """What the values at output ports are called."""
        return {(one.get("id"), port.get("id")): port.get("names") for one in self.layers for port in output_ports(one)}

    def output_named(self, name: str) -> Port:
        """Where a value is made.

        Raises:
            KeyError: nowhere.
        """
        for port, known in self.name_by_output().items():
            if known == name:
                return port
        raise KeyError(name)

    def input_names(self, layer: Element) -> list[str]:
        """What a layer reads."""
        sources, names = self.source_by_input(), self.name_by_output()
        ports = [(layer.get("id"), port.get("id")) for port in input_ports(layer)]
        return [names[sources[port]] for port in ports if port in sources]

    def source_name(self, layer: Element, port: str) -> str:
        """What an input port reads.

        Raises:
            KeyError: nothing is connected.
        """
        return self.name_by_output()[self.source_by_input()[layer.get("id"), port]]

    # -- changes

    def add_layer(self, type: str, name: str, version: str = "opset1") -> Element:
        """A layer with a fresh id."""
        ids = [int(one.get("id")) for one in self.layers]
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
        """An edge; one that leads to the same port is replaced."""
        self.disconnect(target)
        edges = self.element.find("edges")
        if edges is None:
            edges = etree.SubElement(self.element, "edges")
        ends = dict(zip(("from-layer", "from-port", "to-layer", "to-port"), (*source, *target), strict=True))
        etree.SubElement(edges, "edge", **ends)

    def disconnect(self, target: Port) -> None:
        """No edge leads to a port."""
        for one in self.edges():
            if (one.get("to-layer"), one.get("to-port")) == target:
                one.getparent().remove(one)

    def redirect_readers(self, source: Port, other: Port) -> None:
        """What reads one value reads another."""
        for one in self.edges():
            if (one.get("from-layer"), one.get("from-port")) == source:
                one.set("from-layer", other[0])
                one.set("from-port", other[1])

    def remove_layer(self, layer: Element) -> None:
        """Leave out a layer and its edges."""
        id = layer.get("id")
        layer.getparent().remove(layer)
        for one in self.edges():
            if id in (one.get("from-layer"), one.get("to-layer")):
                one.getparent().remove(one)

    def remove_dead(self) -> None:
        """Leave out the layers that no Result needs, nor a variable that is read; Parameters of a body stay, since the
        layer around it has them."""
        sources = self.source_by_input()
        feeding: dict[str, set[str]] = {}
        for (target, _), (source, _) in sources.items():
            feeding.setdefault(target, set()).add(source)
        keep = "Parameter" if self.element.tag != "net" else ""
        live: set[str] = set()
        todo = [one.get("id") for one in self.layers_of_type("Result", keep)]
        while todo:
            live.update(todo)
            todo = [source for one in todo for source in feeding.get(one, ()) if source not in live]
            todo = todo or [one for one in self._assigns_of_live_reads(live) if one not in live]
        for layer in self.layers:
            if layer.get("id") not in live:
                self.remove_layer(layer)
            else:
                for inner in inner_graphs(layer):
                    inner[1].remove_dead()

    def _assigns_of_live_reads(self, live: Collection[str]) -> list[str]:
        """The Assigns of the variables that the layers ``live`` read."""
        read = {variable_of(one) for one in self.layers_of_type("ReadValue") if one.get("id") in live}
        return [one.get("id") for one in self.layers_of_type("Assign") if variable_of(one) in read]


def variable_of(layer: Element) -> str:
    """The variable that a ReadValue or an Assign is about."""
    return str(layer.find("data").get("variable_id"))


def inner_graphs(layer: Element) -> Iterator[tuple[str, IrGraph]]:
    """The graphs inside a layer, with their words."""
    for word in BODY_TAGS:
        found = layer.find(word)
        if found is not None:
            yield word, IrGraph(found)


def walk_graphs(net: IrGraph) -> Iterator[IrGraph]:
    """A graph and all inside it, the outer ones first."""
    yield net
    for layer in net.layers:
        for _, inner in inner_graphs(layer):
            yield from walk_graphs(inner)


def input_ports(layer: Element) -> list[Element]:
    """The input ports of a layer."""
    found = layer.find("input")
    return [] if found is None else list(found)


def output_ports(layer: Element) -> list[Element]:
    """The output ports of a layer."""
    found = layer.find("output")
    return [] if found is None else list(found)


def get_or_add_child(layer: Element, tag: str) -> Element:
    """A part of a layer, made where there is none."""
    found = layer.find(tag)
    return etree.SubElement(layer, tag) if found is None else found


def port_map_entries(layer: Element, tag: str) -> list[Element]:
    """The entries of a port map: ``input`` or ``output``."""
    found = layer.find("port_map")
    return [] if found is None else [one for one in found if one.tag == tag]


def back_edges(layer: Element) -> list[Element]:
    """The back edges of a loop."""
    found = layer.find("back_edges")
    return [] if found is None else list(found)


def renumber_ports(net: IrGraph, layer: Element) -> None:
    """Number the ports of a layer from 0 on, inputs first: OpenVINO takes the id of a port for its index."""
    id = layer.get("id")
    old = [[port.get("id") for port in ports] for ports in (input_ports(layer), output_ports(layer))]
    new = [{one: str(k) for k, one in enumerate(old[0])}, {one: str(len(old[0]) + k) for k, one in enumerate(old[1])}]
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
            known = entry.get("external_port_id")
            entry.set("external_port_id", numbers.get(known, known))
