"""``diff --against openvino`` on IR files: bodies cut out, and what differs is what is predicted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import loopdbg
from ir_builder import (
    IrNetBuilder,
    SaveNet,
    carried_net,
    counting_loop,
    input_map_entry,
    loop_sections,
    output_map_entry,
    running_sum,
)
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer

ROWS = np.float32([[1, 1], [2, 2], [3, 3], [4, 4]])
START = np.float32([[0, 0]])


@pytest.fixture(scope="module")
def openvino() -> Iterator[Peer]:
    pytest.importorskip("openvino")
    with Peer("openvino") as peer:
        yield peer


def against(
    openvino: Peer, save: SaveNet, net: IrNetBuilder, *inputs: Any, version: int = 11
) -> tuple[Comparison, Comparison]:
    model = loopdbg.load(save(net, version))
    feeds = dict(zip((port.name for port in model.inputs), inputs, strict=True))
    lockstep, free = compare_with_peer(model, feeds, openvino, ComparisonOptions()).comparisons
    return lockstep, free


PREDICTED: dict[str, tuple[str, Callable[[], IrNetBuilder], tuple[Any, ...]]] = {
    "swapped values": ("B8", lambda: carried_net([1, 0]), (np.float32([1]), np.float32([2]))),
    "a slice that starts later": ("B22", lambda: running_sum('axis="0" start="1"', joined=""), (ROWS, START)),
    "a slice from the middle, backwards": (
        "B22",
        lambda: running_sum('axis="0" start="-2" end="0" stride="-1"', joined=""),
        (ROWS, START),
    ),
}


@pytest.mark.parametrize("case", PREDICTED)
def test_what_differs_is_what_is_predicted(openvino: Peer, save: SaveNet, case: str) -> None:
    if case == "swapped values" and "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("OpenVINO's answer depends on where its memory comes from")
    rule, net, inputs = PREDICTED[case]
    lockstep, free = against(openvino, save, net(), *inputs)
    assert lockstep.same and lockstep.loops[0].iterations == 3
    assert free.outputs and {reason.rule for reason in free.reasons} == {rule}
    assert free.loops[0].trips is None


SAME: dict[str, tuple[Callable[[], IrNetBuilder], tuple[Any, ...], int]] = {
    "a TensorIterator": (running_sum, (ROWS, START), 4),
    "backwards": (
        lambda: running_sum('axis="0" start="-1" end="0" stride="-1"', 'axis="0" start="-1" end="0" stride="-1"'),
        (ROWS, START),
        4,
    ),
    "a Loop": (counting_loop, (np.float32([1]), np.float32([2])), 3),
    "a scalar iteration number in 32 bits": (
        lambda: counting_loop(iteration_type=("", "i32")),
        (np.float32([1]), np.float32([2])),
        3,
    ),
    "no Parameter for the iteration number": (
        lambda: counting_loop(iteration=""),
        (np.float32([1]), np.float32([2])),
        3,
    ),
    "values passed through": (lambda: carried_net(["+", 1]), (np.float32([1]), np.float32([2])), 3),
}


#: By the names of version 10 an output is an input, and OpenVINO refuses that.
ONLY_11 = "values passed through"


@pytest.mark.parametrize(
    ("case", "version"), [(case, n) for case in SAME for n in (10, 11) if (case, n) != (ONLY_11, 10)]
)
def test_the_same(openvino: Peer, save: SaveNet, case: str, version: int) -> None:
    net, inputs, iterations = SAME[case]
    lockstep, free = against(openvino, save, net(), *inputs, version=version)
    assert lockstep.same and free.same, (lockstep, free)
    assert lockstep.loops[0].iterations == free.loops[0].iterations == iterations
    assert free.loops[0].right_trips == iterations and free.compared_outputs


def test_float64_and_wide_integers(openvino: Peer, save: SaveNet) -> None:
    lockstep, free = against(openvino, save, carried_net(["+"], element="f64"), np.float64([1 / 3]))
    assert lockstep.same and free.same and lockstep.loops[0].growth.largest > 1e-9
    assert any("B29" in note for note in lockstep.notes) and any("B29" in note for note in free.notes)
    lockstep, free = against(openvino, save, carried_net(["+"], element="i64"), np.int64([2**31 - 15]))
    assert lockstep.same and lockstep.loops[0].iterations == 2
    assert free.empty and "does not fit 32 bits" in free.notes[0]


def nested_in_an_if() -> IrNetBuilder:
    """A Loop in the then branch; the else branch hands its input on."""
    net = IrNetBuilder()
    c, x = net.parameter("", "boolean", name="c"), net.parameter("1", name="x")
    then, other = net.body_builder(), net.body_builder()
    tx = then.parameter("1", name="tx")
    trips, true = then.constant(np.int64(3)), then.constant(np.array(True))
    body = then.body_builder()
    total = body.parameter("1", name="total")
    grown = body.result(body.layer("Add", [total, body.constant(np.float32([2]))], name="grown", shape="1"))
    keep = body.result(body.constant(np.array([True])))
    entries = [
        input_map_entry(2, total),
        output_map_entry(3, grown),
        output_map_entry(-1, keep, 'purpose="execution_condition"'),
    ]
    edge = f'<edge from-layer="{grown}" to-layer="{total}"/>'
    loop = then.layer(
        "Loop", [trips, true, tx], name="inner", version="opset5", shape="1", extra=loop_sections(body, entries, edge)
    )
    tr = then.result(loop)
    ey = other.parameter("1", name="ey")
    er = other.result(other.layer("Relu", [ey], name="relu", shape="1"))
    extra = (
        f"<then_port_map>{input_map_entry(1, tx)}{output_map_entry(2, tr)}</then_port_map>"
        f"<else_port_map>{input_map_entry(1, ey)}{output_map_entry(2, er)}</else_port_map>"
        f"<then_body>{then.text()}</then_body><else_body>{other.text()}</else_body>"
    )
    net.result(net.layer("If", [c, x], name="if", version="opset8", extra=extra, shape="1"))
    return net


def test_a_loop_in_an_if(openvino: Peer, save: SaveNet) -> None:
    lockstep, free = against(openvino, save, nested_in_an_if(), np.array(True), np.float32([1]))
    assert lockstep.same and free.same, (lockstep, free)
    assert lockstep.loops[0].left == "main ▸ if (then) ▸ inner" and lockstep.loops[0].iterations == 3
    lockstep, free = against(openvino, save, nested_in_an_if(), np.array(False), np.float32([1]))
    assert not lockstep.loops and free.same


def test_the_first_node_that_differs(openvino: Peer, save: SaveNet) -> None:
    """OpenVINO's HSigmoid of NaN is a number (docs/peers.md)."""
    net = IrNetBuilder()
    x = net.parameter("3", name="x")
    body = net.body_builder()
    p = body.parameter("1", name="p")
    root = body.layer("Sqrt", [p], name="root", shape="1")
    soft = body.layer("HSigmoid", [root], name="soft", version="opset5", shape="1")
    last = body.layer("Add", [soft, body.constant(np.float32([1]))], name="last", shape="1")
    parts = loop_sections(body, [input_map_entry(0, p, 'axis="0"'), output_map_entry(1, body.result(last), 'axis="0"')])
    net.result(net.layer("TensorIterator", [x], name="ti", extra=parts, shape="3"))
    lockstep, free = against(openvino, save, net, np.float32([4, -1, 9]))
    (result,) = lockstep.loops
    assert result.first is not None and result.first.role == "scan" and result.first.iteration == 1
    assert result.node is not None and (result.node.op_type, result.node.node) == ("HSigmoid", "soft")
    assert np.isnan(dict(result.node.inputs)["root"]).all()
    assert free.outputs
