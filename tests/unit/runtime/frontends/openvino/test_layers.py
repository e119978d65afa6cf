"""OpenVINO IR: inputs, outputs and their names, layers, edges, order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli_runner import run_cli, run_python_code
from error_fields import raises_error
from ir_builder import IrNetBuilder, SaveNet, check_consistent, tensor_type
from loopdbg.runtime.errors import InputError, ModelError
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import Operation, System, TensorType
from loopdbg.runtime.model import load


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", ()),
        ("1", (1,)),
        ("2,?", (2, None)),
        ("-1, 3", (None, 3)),
        ("1..5,..7,2..,4", (None, None, None, 4)),
        ("[2,3]", (2, 3)),
        ("...", None),
        ("[...]", None),
        ("0,4", (0, 4)),
    ],
)
def test_parameter_shapes(save: SaveNet, text: str, shape: tuple[int | None, ...] | None) -> None:
    net = IrNetBuilder()
    net.result(net.layer("Parameter", data=f'shape="{text}" element_type="f16"'))
    graph = read(save(net))
    assert graph.inputs[0].type == TensorType(np.dtype(np.float16), shape)
    assert graph.system is System.OPENVINO
    assert graph.outputs == graph.inputs


@pytest.mark.parametrize("text", ["2,", "x", "2;3", "-2", "1...5", ",", "9" * 19])
def test_a_shape_that_cannot_be_read(save: SaveNet, text: str) -> None:
    net = IrNetBuilder()
    net.layer("Parameter", data=f'shape="{text}" element_type="f32"', name="x")
    with raises_error(ModelError, node="x", op_type="Parameter", name="shape"):
        read(save(net))


def test_a_parameter_of_unknown_type(save: SaveNet) -> None:
    net = IrNetBuilder()
    net.result(net.layer("Parameter", data='shape="?" element_type="dynamic"'))
    assert tensor_type(read(save(net)).inputs[0]).dtype is None


def named_net() -> IrNetBuilder:
    net = IrNetBuilder()
    x = net.parameter("2", name="x layer", names=r"zeta,alpha,with\, comma")
    y = net.parameter("2", name="y layer")
    split = net.layer("Split", [x, net.constant(np.int64(0))], 2, name="halves", data='num_splits="2"')
    add = net.layer("Add", [x, y], name="sum", names="total", shape="2")
    net.result((split, 3))
    net.result(add, attributes=r' output_names="zz,a\,b"')
    net.result(add)
    net.result(y, name="y out")
    return net


@pytest.mark.parametrize(
    ("version", "inputs", "outputs"),
    [
        (11, ["alpha", "y layer"], ["halves.1", "a,b", "total", "y layer"]),
        # v10 adds the layer's name to a tensor's names, and knows no output_names.
        (10, ["alpha", "y layer"], ["halves.1", "sum", "Result_7", "y layer"]),
    ],
)
def test_names_are_openvino_s_any_name(save: SaveNet, version: int, inputs: list[str], outputs: list[str]) -> None:
    graph = read(save(named_net(), version))
    assert [value.name for value in graph.inputs] == inputs
    assert graph.output_names == outputs
    assert [value.name for value in graph.outputs] == ["halves.1", "sum", "sum", "y layer"]
    assert graph.outputs[1] is graph.outputs[2]


@pytest.mark.parametrize("version", [10, 11])
def test_names_are_those_that_openvino_gives(save: SaveNet, version: int) -> None:
    ov = pytest.importorskip("openvino")
    net = IrNetBuilder()
    x = net.parameter("2", name="x", names=r"zeta,alpha,with\, comma")
    y = net.parameter("2", name="y", names="y")
    split = net.layer("Split", [x, net.constant(np.int64(0))], 2, name="halves", data='num_splits="2"', names="h")
    net.layers[split] = net.layers[split].replace('names="h"', "", 1)
    net.result((split, 3))
    net.result(net.layer("Add", [x, y], name="sum", names="total", shape="2"), attributes=' output_names="z,b"')
    path = save(net, version)
    theirs = ov.Core().compile_model(path, "CPU")
    ours = read(path)
    assert [value.name for value in ours.inputs] == [port.any_name for port in theirs.inputs]
    assert ours.output_names == [port.any_name for port in theirs.outputs]


def test_an_input_goes_by_all_names_of_its_tensor_and_by_its_layer_s(
    save: SaveNet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = load(save(named_net()))
    x, y = np.float32([1, 2]), np.float32([3, 4])
    wanted = model.run({"alpha": x, "y layer": y})["total"]
    for name in ("zeta", "with, comma", "x layer"):
        assert np.array_equal(model.run({name: x, "y layer": y})["total"], wanted)
    np.savez(tmp_path / "x.npz", **{"zeta": x, "y layer": y})
    for item in (["--inputs", tmp_path / "x.npz"], ["--input", "zeta=[1,2]", "--input", "y layer=[3,4]"]):
        ran = run_cli(capsys, "run", model.path, *item)
        assert ran.status == 0 and "[4.0, 6.0]" in ran.out
    with raises_error(InputError, name="zeta") as caught:
        model.run({"alpha": x, "zeta": x, "y layer": y})
    assert caught.value.name == "zeta"


def test_two_inputs_of_one_name(save: SaveNet) -> None:
    net = IrNetBuilder()
    net.parameter(names="x")
    net.parameter(names="x")
    with raises_error(ModelError, node="Parameter_1", op_type="Parameter", name="x"):
        read(save(net))


def test_operations_keep_their_attributes_as_text(save: SaveNet) -> None:
    net = IrNetBuilder()
    split = net.layer(
        "VariadicSplit", [net.parameter()], 2, version="opset15", name="s", data='axis="-1" hint="x,y"', shape="1,?"
    )
    net.result((split, 2))
    [node] = read(save(net)).nodes
    assert isinstance(node, Operation)
    assert (node.name, node.op_type, node.domain, node.version) == ("s", "VariadicSplit", "opset15", 15)
    assert node.attributes == {"axis": "-1", "hint": "x,y"}
    assert [value.name for value in node.outputs if value] == ["s.0", "s.1"]
    assert [str(value.type) for value in node.outputs if value] == ["float32[1,?]"] * 2
    assert read(save(net)).opsets == {"opset15": 15}


def test_custom_operations_are_left_to_the_table_of_operators(save: SaveNet) -> None:
    net = IrNetBuilder()
    net.result(net.layer("MyOp", [net.parameter()], version="extension"))
    [node] = read(save(net)).nodes
    assert (node.domain, node.version) == ("extension", 0)


def test_state_operations_are_plain_operations(save: SaveNet) -> None:
    net = IrNetBuilder()
    state = net.layer("ReadValue", [net.parameter()], version="opset6", data='variable_id="v"')
    net.layer("Assign", [state], version="opset6", data='variable_id="v"')
    net.result(state)
    assert [node.op_type for node in read(save(net)).nodes] == ["ReadValue", "Assign"]


def test_order_is_topological_then_document_order(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter(name="x")
    late = net.layer("Add", [None, None], name="late")
    net.layer("Relu", [x], name="a")
    early = net.layer("Relu", [x], name="b")
    net.layer("Relu", [late], name="c")
    net.layer("Relu", [x], name="d")
    net.add_edge(early, 1, late, 0)
    net.add_edge(early, 1, late, 1)
    graph = read(save(net))
    assert [node.name for node in graph.nodes] == ["a", "b", "late", "c", "d"]
    assert graph.nodes[2].inputs == [graph.nodes[1].outputs[0]] * 2
    check_consistent(graph)


def test_ports_are_found_by_id(save: SaveNet) -> None:
    graph = read(
        save(
            """<net version="10"><layers>
            <layer id="30" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>
              <output><port id="5" precision="FP32"/></output></layer>
            <layer id="20" name="y" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>
              <output><port id="0" precision="FP32"/></output></layer>
            <layer id="10" name="minus" type="Subtract" version="opset1">
              <input><port id="9"/><port id="4"/></input><output><port id="2" precision="FP32"/></output></layer>
            <layer id="1" name="r" type="Result" version="opset1"><input><port id="3"/></input></layer>
            </layers><edges>
            <edge from-layer="30" from-port="5" to-layer="10" to-port="4"/>
            <edge from-layer="20" from-port="0" to-layer="10" to-port="9"/>
            <edge from-layer="10" from-port="2" to-layer="1" to-port="3"/>
            </edges></net>"""
        )
    )
    assert [value.name for value in graph.nodes[0].inputs if value] == ["y", "x"]
    assert [value.name for value in graph.inputs] == ["x", "y"]


def test_trailing_ports_without_an_edge_are_absent_inputs(save: SaveNet) -> None:
    net = IrNetBuilder()
    net.result(net.layer("Pad", [net.parameter(), net.parameter(), None]))
    assert len(read(save(net)).nodes[0].inputs) == 2


@pytest.mark.parametrize("read_places", [False, True])
def test_argmax_output_is_computed_only_if_read(save: SaveNet, read_places: bool) -> None:
    net = IrNetBuilder()
    data = 'kernel="2" strides="2" pads_begin="0" pads_end="0"'
    x = net.parameter(shape="1,1,4")
    pool = net.layer("MaxPool", [x], 2, version="opset8", data=data)
    net.result((pool, 1))
    if read_places:
        net.result((pool, 2))
    path = save(net)
    (node,) = read(path).nodes
    assert [value.name for value in node.outputs if value] == [f"MaxPool_1.{k}" for k in range(1 + read_places)]
    results = list(load(path).run({"Parameter_0": np.array([[[3, 5, 8, 1]]], np.float32)}).values())
    np.testing.assert_array_equal(results[0], [[[5, 8]]])
    if read_places:
        np.testing.assert_array_equal(results[1], [[[1, 2]]])


def test_ten_thousand_layers(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter()
    for _ in range(10_000):
        x = net.layer("Relu", [x])
    net.result(x)
    graph = read(save(net))
    assert len(graph.nodes) == 10_000


def test_reading_needs_neither_openvino_nor_onnx() -> None:
    code = (
        "import sys; import loopdbg.runtime.frontends.openvino.reader; "
        "print([name for name in ('openvino', 'onnx', 'ml_dtypes', 'textual') if name in sys.modules])"
    )
    assert run_python_code(code) == (0, "[]\n", "")
