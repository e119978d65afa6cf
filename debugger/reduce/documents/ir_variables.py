"""The variables of an OpenVINO IR as it is cut: what ReadValue and Assign of one name share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree

from ....runtime.model import Data
from .ir_graph import Element, IrGraph, get_or_add_child, input_ports, renumber_ports, variable_of, walk_graphs

#: Lets a layer be a constant.
MakeConstant = Callable[[Element, Any], None]


def set_initial_state(fill: MakeConstant, main: IrGraph, state: Mapping[str, Data]) -> None:
    """Let variables begin with these values, which become constants."""
    for net in list(walk_graphs(main)):
        for layer in net.layers_of_type("ReadValue"):
            if variable_of(layer) in state:
                _set_initial_value(fill, net, layer, state[variable_of(layer)])


def _set_initial_value(fill: MakeConstant, net: IrGraph, layer: Element, value: Data) -> None:
    if not input_ports(layer):
        port = etree.SubElement(get_or_add_child(layer, "input"), "port", id="in")
        layer.remove(port.getparent())
        layer.insert(list(layer).index(layer.find("output")), port.getparent())
        renumber_ports(net, layer)
    name = f"{variable_of(layer)}_before"
    constant = net.add_layer("Const", name)
    etree.SubElement(get_or_add_child(constant, "output"), "port", id="0", names=_unused_name(net, name))
    fill(constant, value)
    net.connect((constant.get("id"), "0"), (layer.get("id"), input_ports(layer)[0].get("id")))


def _unused_name(net: IrGraph, name: str) -> str:
    taken = set(net.name_by_output().values())
    return next(one for one in (name, *(f"{name}_{k}" for k in range(2, len(taken) + 3))) if one not in taken)


def assigned_names(net: IrGraph) -> list[str]:
    """What is assigned to variables in a graph."""
    return [name for layer in net.layers_of_type("Assign") for name in net.input_names(layer)]


def remove_assigns(net: IrGraph) -> None:
    """Nothing is assigned to variables."""
    for one in list(walk_graphs(net)):
        for layer in one.layers_of_type("Assign"):
            one.remove_layer(layer)
