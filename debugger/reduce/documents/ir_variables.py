"""Variables of an OpenVINO IR under reduction: the common state of ReadValue and Assign with one name."""

from __future__ import annotations

from collections.abc import Mapping

from ....runtime.model import Data
from ....runtime.modelfile.ir_graph import (
    Element,
    IrGraph,
    add_port,
    input_ports,
    renumber_ports,
    variable_of,
    walk_graphs,
)
from ....runtime.text import fresh_name
from .ir_loop_edits import MakeConstant


def set_initial_state(fill: MakeConstant, main: IrGraph, state: Mapping[str, Data]) -> None:
    """Set the initial values of variables to constants."""
    for net in list(walk_graphs(main)):
        for layer in net.layers_of_type("ReadValue"):
            if variable_of(layer) in state:
                _set_initial_value(fill, net, layer, state[variable_of(layer)])


def _set_initial_value(fill: MakeConstant, net: IrGraph, layer: Element, value: Data) -> None:
    if not input_ports(layer):
        port = add_port(layer, "input", "in")
        layer.remove(port.getparent())
        layer.insert(list(layer).index(layer.find("output")), port.getparent())
        renumber_ports(net, layer)
    name = f"{variable_of(layer)}_before"
    constant = net.add_layer("Const", name)
    add_port(constant, "output", "0", names=fresh_name(name, set(net.name_by_output().values())))
    fill(constant, value)
    net.connect((constant.get("id"), "0"), (layer.get("id"), input_ports(layer)[0].get("id")))


def assigned_names(net: IrGraph) -> list[str]:
    """The names of values that a graph assigns to variables."""
    return [name for layer in net.layers_of_type("Assign") for name in net.input_names(layer)]


def remove_assigns(net: IrGraph) -> None:
    """Remove all Assigns."""
    for graph in list(walk_graphs(net)):
        for layer in graph.layers_of_type("Assign"):
            graph.remove_layer(layer)
