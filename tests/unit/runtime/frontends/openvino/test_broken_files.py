"""What a file that is no IR, or a broken one, is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from ir_builder import IrNetBuilder, SaveNet, check_consistent, counting_loop, edge_element, if_net, running_sum
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.openvino.reader import read

LAYER = '<layer id="0" name="x" type="Parameter" version="opset1"><output><port id="0"/></output></layer>'
RELU = (
    '<layer id="1" name="a" type="ReLU" version="opset1"><input><port id="0"/></input>'
    '<output><port id="1"/></output></layer>'
)


def ir(layers: str = LAYER + RELU, edges: str = "", version: str = ' version="11"') -> str:
    return f"<net{version}>\n<layers>\n{layers}</layers>\n<edges>\n{edges}</edges></net>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: broken XML: Document is empty"),
        ("<net version='11'>\n<layers>\n</net>", "line 3: broken XML: Opening and ending tag mismatch: layers"),
        ("\x00\x01", "is no XML but binary data"),
        ("<model/>", r"line 1: not an OpenVINO IR: the root element is <model>, expected <net>"),
        ("<!DOCTYPE net [<!ENTITY a 'x'>]>\n<net version='11'/>", "line 2: a DOCTYPE has no place in OpenVINO IR"),
        ("<net version='11'>&a;</net>", "line 1: broken XML: Entity 'a' not defined"),
        (ir(version=' version="7"'), "line 1: IR version 7 is not read, only versions 10 and 11"),
        (ir(version=' version="12"'), "line 1: IR version 12 is not read, only versions 10 and 11"),
        (ir(version=""), "line 1: <net> lacks its attribute 'version'"),
        (ir(version=' version="ten"'), 'line 1: <net>: version="ten" is not an integer'),
        (ir(LAYER.replace("0", "9" * 20, 1)), f'line 3: a layer of the model: id="{"9" * 20}" does not fit 64 bits'),
        (ir(LAYER + "\n" + LAYER), "line 4: the model has two layers with id 0: Parameter 'x' and Parameter 'x'"),
        (ir(LAYER.replace('id="0"', "", 1)), "line 3: a layer of the model lacks its attribute 'id'"),
        (ir(LAYER.replace('type="Parameter"', "")), "line 3: layer 'x' of the model lacks its attribute 'type'"),
        (
            ir(LAYER.replace('version="opset1"', "")),
            r"line 3: layer 'x' of the model lacks its attribute 'version' \(such as version=\"opset5\"\)",
        ),
        (ir(LAYER.replace("<output>", '<output><port id="0"/>')), "line 3: layer 'x' has two output ports with id 0"),
        (
            ir(LAYER.replace("<output>", '<output><port id="1"/>')),
            "line 3: Parameter 'x' has 2 output ports, expected one",
        ),
        (
            ir(LAYER.replace('<port id="0"/>', '<port id="0"><dim>two</dim></port>')),
            "line 3: output port 0 of layer 'x': dimension \"two\" cannot be read",
        ),
        (ir(edges=edge_element("0 0 5 0")), "line 5: an edge of the model names to-layer 5, which is no layer of it"),
        (ir(edges=edge_element("4 0 1 0")), "line 5: an edge of the model names from-layer 4, which is no layer of it"),
        (
            ir(edges=edge_element("0 3 1 0")),
            r"line 5: an edge of the model names output port 3 of Parameter 'x' \(layer 0\), which has 0",
        ),
        (
            ir(edges=edge_element("0 0 1 1")),
            r"line 5: an edge of the model names input port 1 of ReLU 'a' \(layer 1\), which has 0",
        ),
        (
            ir(edges=edge_element("0 0 0 0")),
            r"an edge of the model names input port 0 of Parameter 'x' \(layer 0\), which has none",
        ),
        (
            ir(edges=edge_element("0 0 1 0") + "\n" + edge_element("1 1 1 0")),
            "line 6: two edges lead to input port 0 of ReLU 'a'",
        ),
        (ir(edges='<edge from-layer="0"/>'), "line 5: an edge of the model lacks its attribute 'from-port'"),
        (
            ir(edges=edge_element("1 1 1 0")),
            "line 3: layers wait for each other: ReLU 'a' -> ReLU 'a'; only the back edges",
        ),
        (
            ir(LAYER + RELU.replace('<port id="0"/>', '<port id="0"/><port id="2"/>'), edge_element("0 0 1 2")),
            "line 3: nothing is connected to input port 0 of ReLU 'a'",
        ),
        (ir(RELU.replace("ReLU", "Result")), "line 3: nothing is connected to Result 'a'"),
        (ir('<layer id="0" name="r" type="Result" version="opset1"/>'), "line 3: nothing is connected to Result 'r'"),
        (
            ir('<layer id="0" name="l" type="Loop" version="opset1"/>'),
            "line 3: Loop 'l': opset1 has no Loop; it exists from opset5 on",
        ),
        (
            ir('<layer id="0" name="i" type="If" version="opset7"/>'),
            "line 3: If 'i': opset7 has no If; it exists from opset8 on",
        ),
        (
            ir('<layer id="0" name="t" type="TensorIterator" version="opset1"/>'),
            "line 3: TensorIterator 't' has no <body>",
        ),
        (
            ir('<layer id="0" name="i" type="If" version="opset8"/>'),
            "line 3: If 'i': its input 0, the condition, is not connected",
        ),
    ],
)
def test_broken_files(save: SaveNet, text: str, message: str) -> None:
    with pytest.raises(ModelError, match=f"model.xml, {message}" if message.startswith("line") else message) as e:
        read(save(text))
    assert "\n" not in str(e.value)


def test_a_longer_cycle_is_shown_in_the_direction_of_the_data(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter(name="x")
    net.layer("Add", [x, (3, 1)], name="a")
    net.layer("Relu", [1], name="b")
    net.layer("Relu", [2], name="c")
    net.layer("Relu", [3], name="after")
    with pytest.raises(ModelError, match=r"(Add 'a' -> Relu 'b' -> Relu 'c' -> Add 'a')|('c' -> Add 'a' -> Relu 'b')"):
        read(save(net))


@pytest.mark.parametrize("path", ["missing.xml", "."])
def test_files_that_cannot_be_opened(tmp_path: Path, path: str) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read(tmp_path / path)


@pytest.mark.parametrize("make", [running_sum, counting_loop, if_net], ids=["TensorIterator", "Loop", "If"])
def test_whatever_is_wrong_the_error_is_one_line_for_a_person(save: SaveNet, make: Callable[[], IrNetBuilder]) -> None:
    """Every attribute left out, emptied, made an unknown number or another id; every element left out."""
    path = save(make())
    intact = path.read_bytes()
    refused = 0

    def attempt(root: Any) -> None:
        nonlocal refused
        path.write_bytes(etree.tostring(root))
        try:
            check_consistent(read(path))
        except ModelError as error:
            refused += 1
            assert "\n" not in str(error) and str(path) in str(error)

    size = len(list(etree.fromstring(intact).iter()))
    for k in range(1, size):
        root = etree.fromstring(intact)
        element = list(root.iter())[k]
        for name, value in element.attrib.items():
            for change in (None, "", "-7", "1", "2", "99", "x", "1,2", "9" * 40):
                if change is None:
                    del element.attrib[name]
                else:
                    element.attrib[name] = change
                attempt(root)
                element.attrib[name] = value
        element.getparent().remove(element)
        attempt(root)
    assert refused > 3 * size
