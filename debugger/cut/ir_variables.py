"""The variables of an OpenVINO IR as it is cut: what ReadValue and Assign of one name share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lxml import etree

from ...runtime.model import Data
from .ir_net import Element, Net, inputs, nets, part, renumber, variable_of

#: Lets a layer be a constant.
Fill = Callable[[Element, Any], None]


def begin_with(fill: Fill, main: Net, state: Mapping[str, Data]) -> None:
    """Let variables begin with these values, which become constants."""
    for net in list(nets(main)):
        for layer in net.of_kind("ReadValue"):
            if variable_of(layer) in state:
                _begin(fill, net, layer, state[variable_of(layer)])


def _begin(fill: Fill, net: Net, layer: Element, value: Data) -> None:
    if not inputs(layer):
        port = etree.SubElement(part(layer, "input"), "port", id="in")
        layer.remove(port.getparent())
        layer.insert(list(layer).index(layer.find("output")), port.getparent())
        renumber(net, layer)
    name = f"{variable_of(layer)}_before"
    constant = net.add("Const", name)
    etree.SubElement(part(constant, "output"), "port", id="0", names=_free(net, name))
    fill(constant, value)
    net.connect((constant.get("id"), "0"), (layer.get("id"), inputs(layer)[0].get("id")))


def _free(net: Net, name: str) -> str:
    taken = set(net.names().values())
    return next(one for one in (name, *(f"{name}_{k}" for k in range(2, len(taken) + 3))) if one not in taken)


def assigned(net: Net) -> list[str]:
    """What is assigned to variables in a graph."""
    return [name for layer in net.of_kind("Assign") for name in net.inputs_of(layer)]


def forget(net: Net) -> None:
    """Nothing is assigned to variables."""
    for one in list(nets(net)):
        for layer in one.of_kind("Assign"):
            one.remove(layer)
