"""OpenVINO IR: Loop-5."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from error_fields import raises_error
from ir_builder import (
    TRUE,
    IrNetBuilder,
    SaveNet,
    back_edges,
    check_consistent,
    counting_loop,
    input_map_entry,
    loop_sections,
    only_loop,
    output_map_entry,
)
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import TensorType, Value


@pytest.mark.parametrize("iteration", ['purpose="current_iteration"', "", None])
@pytest.mark.parametrize("version", ["opset5", "opset16"])
def test_loop(save: SaveNet, iteration: str | None, version: str) -> None:
    """With i marked, with an entry of port -1 that has no purpose, and named by no entry (docs/semantics.md 5.1)."""
    graph = read(save(counting_loop(iteration=iteration, version=version)))
    loop = only_loop(graph)
    start, step = graph.inputs
    i, total, inner_step = loop.body.inputs
    assert [value.name for value in graph.constants] == ["trips", "true"]
    assert [loop.trip_count, loop.initial_condition] == graph.constants
    assert loop.minus_one_is_no_limit and not loop.counted_by_slices and loop.fixed_trips is None
    assert loop.iteration is i and loop.condition is loop.body.constants[0]
    assert (loop.back_edges[0].initial, loop.back_edges[0].param) == (start, total)
    assert [(inv.outer, inv.inner) for inv in loop.invariants] == [(step, inner_step)]
    assert loop.last_values[0].outer is loop.outputs[0]
    assert loop.scan_outputs[0].outer is loop.outputs[1]
    assert [value.name for value in loop.body.outputs] == ["new", "keep"]
    assert loop.condition_input is loop.ignored_condition is None
    check_consistent(graph)


def test_first_two_inputs_are_positional_and_may_feed_body(save: SaveNet) -> None:
    net = IrNetBuilder()
    true, trips = net.constant(TRUE, name="true"), net.constant(np.int64(3), name="trips")
    body = net.body_builder()
    condition, limit = body.parameter("", "boolean", name="condition"), body.parameter("", "i64", name="limit")
    result, count = body.result(condition), body.result(limit)
    parts = loop_sections(
        body,
        [
            input_map_entry(1, condition),
            input_map_entry(0, limit),
            output_map_entry(2, result, 'purpose="execution_condition"'),
            output_map_entry(3, count),
        ],
        back_edges((result, condition)),
    )
    net.result((net.layer("Loop", [trips, true], 2, version="opset5", extra=parts), 3))
    graph = read(save(net))
    loop = only_loop(graph)
    assert loop.trip_count is not None and loop.initial_condition is not None
    assert (loop.trip_count.name, loop.initial_condition.name) == ("trips", "true")
    # The condition passed straight through, as in loop_2d_add.xml; it is an output besides.
    assert loop.condition is loop.body.inputs[0] is loop.last_values[0].result
    assert loop.invariants[0].outer is loop.trip_count
    check_consistent(graph)


@pytest.mark.parametrize(("shape", "element"), [("", "i64"), ("1", "i32")])
def test_a_current_iteration_with_a_back_edge_is_carried_from_0(save: SaveNet, shape: str, element: str) -> None:
    """B30."""
    graph = read(save(counting_loop(iteration_type=(shape, element), carried_iteration=True)))
    loop = only_loop(graph)
    assert loop.iteration is None
    carried = next(e for e in loop.back_edges if e.param is loop.body.inputs[0])
    assert isinstance(carried.initial, Value) and carried.initial.constant is not None
    assert carried.initial in graph.constants
    assert (carried.initial.constant == 0).all()
    zero = carried.initial.constant
    assert carried.initial.type == loop.body.inputs[0].type == TensorType(zero.dtype, zero.shape)
    check_consistent(graph)


def test_a_current_iteration_that_is_also_fed_is_the_iteration(save: SaveNet) -> None:
    """B30: OpenVINO gives it 0, 1, 2, ... whatever else is connected."""
    for entry in (input_map_entry(2, 0), input_map_entry(2, 0, 'purpose="current_iteration"')):
        loop = only_loop(read(save(counting_loop([entry]))))
        assert loop.iteration is loop.body.inputs[0]
        assert len(loop.invariants) == 1


def test_one_external_port_reaches_every_parameter_that_names_it(save: SaveNet) -> None:
    net = counting_loop()
    net.layers[4] = net.layers[4].replace('<input external_port_id="3"', '<input external_port_id="2"', 1)
    graph = read(save(net))
    loop = only_loop(graph)
    assert loop.back_edges[0].initial is loop.invariants[0].outer is graph.inputs[0]
    assert loop.notes == [
        "OpenVINO would give input port 2 to body Parameter 'total' alone and leave 'step' without a value."
    ]


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (
            lambda: counting_loop(condition=""),
            "Loop 'loop': its body yields no execution condition; a port_map output with "
            'purpose="execution_condition" is required',
        ),
        (
            lambda: counting_loop([output_map_entry(-1, 4, 'purpose="execution_condition"')]),
            "two body Results are marked as the execution condition, layers 4, 6",
        ),
        (
            lambda: counting_loop([input_map_entry(-1, 1, 'purpose="current_iteration"')]),
            r"one body Parameter at most is the current iteration, but 'i' \(layer 0\) and 'total' \(layer 1\)",
        ),
        (
            lambda: counting_loop(iteration=None, iteration_type=("2", "i64")),
            r"body Parameter 'i' \(layer 0\) is int64\[2\] and no port_map input feeds it",
        ),
        (
            lambda: counting_loop(iteration=None, iteration_type=("", "f32")),
            r"body Parameter 'i' \(layer 0\) is float32\[\] and no port_map input feeds it; the current iteration "
            "is one integer",
        ),
        (
            lambda: counting_loop(iteration=None, more_edges=[(4, 0)]),
            r"body Parameter 'i' \(layer 0\) has no value for iteration 0",
        ),
        (
            lambda: counting_loop(loop_inputs=lambda inputs: [None, *inputs[1:]]),
            "Loop 'loop': its input 0, the trip count, is required and not connected",
        ),
        (
            lambda: counting_loop(loop_inputs=lambda inputs: [inputs[0], None, *inputs[2:]]),
            "Loop 'loop': its input 1, the execution condition, is required and not connected",
        ),
        (
            lambda: counting_loop([output_map_entry(-1, 3, 'purpose="execution_condition"')], condition=""),
            "layer 3 is Add 'new', not a Result; the body's Results have the ids 4, 6",
        ),
    ],
)
def test_broken_loops(save: SaveNet, net: Callable[[], IrNetBuilder], message: str) -> None:
    with pytest.raises(ModelError, match=message) as error:
        read(save(net()))
    assert "model.xml, line " in str(error.value)


def test_two_parameters_that_nothing_feeds(save: SaveNet) -> None:
    net = counting_loop(iteration=None)
    net.layers[4] = net.layers[4].replace(input_map_entry(3, 2), "")
    with raises_error(
        ModelError, node="loop", op_type="Loop", name="current_iteration", got="'i' (layer 0) and 'step' (layer 2)"
    ):
        read(save(net))
