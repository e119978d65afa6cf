"""OpenVINO IR: If-8, and graphs inside graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from error_fields import raises_error
from ir_builder import (
    TRUE,
    IrNetBuilder,
    SaveNet,
    TextReplacement,
    back_edges,
    check_consistent,
    if_net,
    input_map_entry,
    loop_sections,
    output_map_entry,
)
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import If, Loop, walk


@pytest.mark.parametrize("port", [3, 0])
def test_if(save: SaveNet, port: int) -> None:
    """Output port 3 by its id, and as If-8's own example has it: counted from 0."""
    graph = read(save(if_net(port)))
    [node] = graph.nodes
    c, x, y = graph.inputs
    assert isinstance(node, If)
    assert node.inputs == [c]
    assert node.then_branch.inputs == node.else_branch.inputs == []
    assert node.then_branch.nodes[0].inputs == [x, *node.then_branch.constants]
    assert node.else_branch.nodes[0].inputs == [y]
    assert node.then_branch.outputs == node.then_branch.nodes[0].outputs
    assert graph.outputs == node.outputs
    check_consistent(graph)


def test_a_branch_that_passes_an_outer_value_through_and_has_several_outputs(save: SaveNet) -> None:
    net = IrNetBuilder()
    c, x, y = net.parameter("", "boolean"), net.parameter(name="x"), net.parameter(name="y")
    branch = net.body_builder()
    p, q = branch.parameter(name="p"), branch.parameter(name="q")
    rp, rq = branch.result(p), branch.result(q)
    maps = input_map_entry(1, p) + input_map_entry(2, q) + output_map_entry(4, rp) + output_map_entry(3, rq)
    body = branch.text()
    extra = (
        f"<then_port_map>{maps}</then_port_map><else_port_map>{maps}</else_port_map>"
        f"<then_body>{body}</then_body><else_body>{body}</else_body>"
    )
    net.result((net.layer("If", [c, x, y], 2, version="opset8", extra=extra), 3))
    graph = read(save(net))
    [node] = graph.nodes
    assert isinstance(node, If)
    assert [value.name for value in node.then_branch.outputs] == ["y", "x"]
    check_consistent(graph)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((input_map_entry(1, 0), ""), r"If 'if': no then_port_map input feeds Parameter 'tx' \(layer 0\)"),
        (
            (input_map_entry(1, 0), input_map_entry(9, 0)),
            "If 'if': port_map input .*: it has no input port 9; its input ports are 0, 1, 2",
        ),
        (
            (input_map_entry(1, 0), input_map_entry(1, 7)),
            "layer 7 is no layer of the body; the body's Parameters have the ids 0",
        ),
        ((input_map_entry(1, 0), input_map_entry(1, 0) * 2), "a second input for this then Parameter"),
        (
            (input_map_entry(1, 0), input_map_entry(1, 0) + input_map_entry(2, 2)),
            "layer 2 is Add 'plus', not a Parameter",
        ),
        ((output_map_entry(3, 3), ""), "If 'if': no then_port_map output fills its output port 3"),
        ((output_map_entry(3, 3), output_map_entry(5, 3)), "it has no output port 5; its output ports are 3"),
        ((output_map_entry(3, 3), output_map_entry(3, 3) * 2), "a second entry for this output port"),
        ((output_map_entry(3, 3), output_map_entry(3, 2)), "layer 2 is Add 'plus', not a Result"),
        (("<else_body>", "<body>"), "broken XML"),
    ],
)
def test_broken_ifs(save: SaveNet, change: TextReplacement, message: str) -> None:
    net = if_net()
    text = net.layers[3]
    assert change[0] in text
    net.layers[3] = text.replace(*change, 1)
    with pytest.raises(ModelError, match=message):
        read(save(net))


def test_an_if_without_a_branch(save: SaveNet) -> None:
    net = if_net()
    net.layers[3] = net.layers[3].replace("else_body>", "no_body>")
    with raises_error(ModelError, node="if", op_type="If", name="else_body"):
        read(save(net))


def test_edges_of_a_branch_stay_inside(save: SaveNet) -> None:
    net = if_net()
    net.parameter(name="outside")
    net.layers[3] = net.layers[3].replace(
        '<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>',
        '<edge from-layer="5" from-port="0" to-layer="2" to-port="0"/>',
        1,
    )
    with raises_error(ModelError, node="if", op_type="If", name="from-layer", got="5"):
        read(save(net))


def test_nesting(save: SaveNet) -> None:
    """A Loop that holds a Loop that holds an If, and a TensorIterator: every inner value comes from the right one."""

    def into_loop(net: IrNetBuilder, inputs: Sequence[int], fill: Callable[[IrNetBuilder, int], int]) -> int:
        head = [net.constant(np.int64(2)), net.constant(TRUE)]
        body = net.body_builder()
        p = body.parameter(name="p")
        r, keep = body.result(fill(body, p)), body.result(body.constant(TRUE))
        entries = [
            input_map_entry(2, p),
            output_map_entry(3, r),
            output_map_entry(-1, keep, 'purpose="execution_condition"'),
        ]
        parts = loop_sections(body, entries, back_edges((r, p)))
        return net.layer("Loop", [*head, *inputs], version="opset5", extra=parts)

    def an_if(net: IrNetBuilder, p: int) -> int:
        branch = net.body_builder()
        q = branch.parameter(name="q")
        r = branch.result(branch.layer("Relu", [q], name="deep"))
        maps, body = input_map_entry(1, q) + output_map_entry(2, r), branch.text()
        extra = (
            f"<then_port_map>{maps}</then_port_map><else_port_map>{maps}</else_port_map>"
            f"<then_body>{body}</then_body><else_body>{body}</else_body>"
        )
        return net.layer("If", [net.constant(TRUE), p], version="opset8", extra=extra)

    def an_iterator(net: IrNetBuilder, p: int) -> int:
        body = net.body_builder()
        q = body.parameter(name="q")
        parts = loop_sections(
            body, [input_map_entry(0, q, 'axis="0"'), output_map_entry(1, body.result(body.layer("Relu", [q])))]
        )
        return net.layer("TensorIterator", [p], extra=parts)

    net = IrNetBuilder()
    x = net.parameter(name="x")
    nested = into_loop(net, [x], lambda body, p: into_loop(body, [an_iterator(body, p)], an_if))
    net.result(nested)
    graph = read(save(net))
    assert [type(node).__name__ + ":" + node.op_type for node in walk(graph)] == [
        "Loop:Loop",
        "Loop:TensorIterator",
        "Operation:Relu",
        "Loop:Loop",
        "If:If",
        "Operation:Relu",
        "Operation:Relu",
    ]
    inner = [node for node in walk(graph) if isinstance(node, Loop)][2]
    branch_node = next(node for node in inner.body.nodes if isinstance(node, If))
    assert branch_node.then_branch.nodes[0].inputs == inner.body.inputs
    check_consistent(graph)


def test_thirty_nested_loops(save: SaveNet) -> None:
    def fill(net: IrNetBuilder, p: int, depth: int) -> int:
        if not depth:
            return net.layer("Relu", [p])
        head = [net.constant(np.int64(1)), net.constant(TRUE)]
        body = net.body_builder()
        q = body.parameter()
        r, keep = body.result(fill(body, q, depth - 1)), body.result(body.constant(TRUE))
        parts = loop_sections(
            body,
            [
                input_map_entry(2, q),
                output_map_entry(3, r),
                output_map_entry(-1, keep, 'purpose="execution_condition"'),
            ],
        )
        return net.layer("Loop", [*head, p], version="opset5", extra=parts)

    net = IrNetBuilder()
    net.result(fill(net, net.parameter(), 30))
    assert sum(isinstance(node, Loop) for node in walk(read(save(net)))) == 30
