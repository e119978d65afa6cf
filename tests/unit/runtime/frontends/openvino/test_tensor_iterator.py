"""OpenVINO IR: TensorIterator-1."""

from __future__ import annotations

import numpy as np
import pytest

from error_fields import raises_error
from ir_builder import (
    IrNetBuilder,
    SaveNet,
    TextReplacement,
    back_edges,
    check_consistent,
    input_map_entry,
    loop_sections,
    only_loop,
    output_map_entry,
    running_sum,
    specification_example,
)
from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.frontends.openvino.reader import read
from loopdbg.runtime.graph import SlicedInput, System


def test_tensor_iterator(save: SaveNet) -> None:
    graph = read(save(running_sum()))
    loop = only_loop(graph)
    x, start = graph.inputs
    part, total = loop.body.inputs
    [new] = [node.outputs[0] for node in loop.body.nodes]
    assert loop.system is System.OPENVINO
    assert (loop.op_type, loop.version, loop.inputs) == ("TensorIterator", 1, [x, start])
    assert loop.counted_by_slices and loop.fixed_trips is None
    assert loop.trip_count is loop.initial_condition is loop.condition is loop.iteration is None
    [sliced] = loop.sliced_inputs
    assert (sliced.outer, sliced.inner, sliced.axis, sliced.drop_axis) == (x, part, 0, False)
    assert (sliced.start, sliced.end, sliced.stride, sliced.part_size) == (0, -1, 1, 1)
    [edge_] = loop.back_edges
    assert (edge_.initial, edge_.param, edge_.result) == (start, total, new)
    [scan] = loop.scan_outputs
    assert (scan.result, scan.outer) == (new, loop.outputs[0])
    assert (scan.axis, scan.stack, scan.reverse) == (0, False, False)
    [last] = loop.last_values
    assert (last.result, last.outer) == (new, loop.outputs[1])
    assert graph.output_names == ["ti.0", "ti.1"]
    assert [str(value.type) for value in loop.body.inputs] == ["float32[1,2]"] * 2
    assert loop.notes == []
    check_consistent(graph)


def test_slicing_attributes(save: SaveNet) -> None:
    backwards = 'axis="1" start="-1" end="0" stride="-2" part_size="2"'
    loop = only_loop(read(save(running_sum(backwards, 'axis="1" start="-1" end="0" stride="-1"'))))
    [sliced] = loop.sliced_inputs
    assert (sliced.axis, sliced.start, sliced.end, sliced.stride, sliced.part_size) == (1, -1, 0, -2, 2)
    assert loop.scan_outputs[0].reverse
    # Only the sign of the stride counts (docs/semantics.md 6.3).
    assert not only_loop(read(save(running_sum(joined='axis="0" start="-1" end="0"')))).scan_outputs[0].reverse


def test_missing_back_edges(save: SaveNet) -> None:
    path = save(running_sum(edges=lambda *_: ""))
    path.write_text(path.read_text(encoding="utf-8").replace("<back_edges></back_edges>", ""))
    loop = only_loop(read(path))
    assert loop.back_edges == []
    assert loop.invariants[0].outer.name == "start"


def test_a_parameter_with_a_slice_and_a_back_edge_takes_part_0_first(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter("4", name="x")
    body = net.body_builder()
    p = body.parameter("1", name="p")
    r = body.result(body.layer("Relu", [p]))
    parts = loop_sections(
        body, [input_map_entry(0, p, 'axis="0"'), output_map_entry(1, r, 'axis="0"')], back_edges((r, p))
    )
    net.result(net.layer("TensorIterator", [x], extra=parts))
    graph = read(save(net))
    loop = only_loop(graph)
    initial = loop.back_edges[0].initial
    assert isinstance(initial, SlicedInput)
    assert (initial.outer, initial.inner) == (graph.inputs[0], loop.body.inputs[0])
    assert loop.sliced_inputs == [] and loop.counted_by_slices
    assert "would ignore the back edge into 'p'" in loop.notes[0]
    check_consistent(graph)


@pytest.mark.parametrize(
    ("joined", "trips"),
    [
        (["start='0' end='3'"], 3),
        (["start='3' end='0' stride='-1'"], 3),
        (["start='0' end='6' part_size='2'"], 3),
        ([""], 1),
        ([], 1),
        # The first by output port, not by place in the port map.
        (["start='0' end='5'", "start='0' end='2'"], 2),
    ],
)
def test_a_tensor_iterator_without_slices_runs_as_its_first_concatenation_says(
    save: SaveNet, joined: list[str], trips: int
) -> None:
    net = IrNetBuilder()
    x = net.parameter(name="x")
    body = net.body_builder()
    p = body.parameter(name="p")
    r = body.result(body.layer("Relu", [p]))
    entries = [output_map_entry(len(joined) - k, r, f'axis="0" {text}') for k, text in enumerate(joined)] or [
        output_map_entry(1, r)
    ]
    parts = loop_sections(body, [input_map_entry(0, p), *entries], back_edges((r, p)))
    net.layer("TensorIterator", [x], max(len(joined), 1), extra=parts)
    loop = only_loop(read(save(net)))
    assert not loop.counted_by_slices
    assert loop.fixed_trips == trips


def test_entries_name_ports_by_id_not_by_rank(save: SaveNet) -> None:
    """Input ports 7 (x) and 3 (start), output ports 50 and 10."""
    net = running_sum()
    changes = [('<port id="0"/><port id="1"/>', '<port id="7"/><port id="3"/>')]
    for kind, old, new in (("input", 0, 7), ("input", 1, 3), ("output", 2, 50), ("output", 3, 10)):
        changes.append((f'<{kind} external_port_id="{old}"', f'<{kind} external_port_id="{new}"'))
        direction, words = ("to", 'to-layer="2"') if kind == "input" else ("from", 'from-layer="2"')
        net.edges = [
            e.replace(f'{direction}-port="{old}"', f'{direction}-port="{new}"') if words in e else e for e in net.edges
        ]
    changes += [
        ('<port id="2" precision', '<port id="50" precision'),
        ('<port id="3" precision', '<port id="10" precision'),
    ]
    for change in changes:
        net.layers[2] = net.layers[2].replace(*change, 1)
    graph = read(save(net))
    node = only_loop(graph)
    assert node.sliced_inputs[0].outer.name == "x"
    assert node.back_edges[0].initial is graph.inputs[1]
    assert node.scan_outputs[0].outer is node.outputs[0]
    assert graph.outputs == node.outputs
    check_consistent(graph)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('<input external_port_id="0"', '<input external_port_id="8"'),
            r'port_map input external_port_id="8" internal_layer_id="0": it has no input port 8; its input ports are '
            "0, 1",
        ),
        (
            ('<input external_port_id="0"', '<input external_port_id="2"'),
            "it has no input port 2; its input ports are 0, 1",
        ),
        (
            ('<output external_port_id="2"', '<output external_port_id="0"'),
            "it has no output port 0; its output ports are 2, 3",
        ),
        (
            ('<output external_port_id="2"', '<output external_port_id="3"'),
            r'port_map output external_port_id="3" internal_layer_id="3": a second entry for this output port',
        ),
        (
            ('<output external_port_id="2"', '<output external_port_id="-1"'),
            "no port_map output fills its output port 2",
        ),
        (
            ('<input external_port_id="0" internal_layer_id="0"', '<input external_port_id="0" internal_layer_id="9"'),
            "layer 9 is no layer of the body; the body's Parameters have the ids 0, 1",
        ),
        (
            ('<input external_port_id="0" internal_layer_id="0"', '<input external_port_id="0" internal_layer_id="2"'),
            "layer 2 is Add 'new', not a Parameter; the body's Parameters have the ids 0, 1",
        ),
        (
            (
                '<output external_port_id="2" internal_layer_id="3"',
                '<output external_port_id="2" internal_layer_id="0"',
            ),
            "layer 0 is Parameter 'part', not a Result; the body's Results have the ids 3",
        ),
        (
            ('<edge from-layer="3" to-layer="1"/>', '<edge from-layer="7" to-layer="1"/>'),
            'back edge from-layer="7" to-layer="1": layer 7 is no layer of the body; '
            "the body's Results have the ids 3",
        ),
        (
            ('<edge from-layer="3" to-layer="1"/>', '<edge from-layer="3" to-layer="2"/>'),
            'back edge from-layer="3" to-layer="2": layer 2 is Add \'new\', not a Parameter',
        ),
        (
            ('<edge from-layer="3" to-layer="1"/>', '<edge from-layer="3" to-layer="1"/>' * 2),
            r"a second back edge into body Parameter 'total' \(layer 1\)",
        ),
        (
            ('<input external_port_id="1" internal_layer_id="1" />', ""),
            r"body Parameter 'total' \(layer 1\) has no value for iteration 0; a back edge needs a port_map input",
        ),
        (
            ('<input external_port_id="0" internal_layer_id="0" axis="0"/>', ""),
            r"no port_map input feeds body Parameter 'part' \(layer 0\)",
        ),
        (
            ('<input external_port_id="1" internal_layer_id="1" />', input_map_entry(1, 1) + input_map_entry(0, 1)),
            r"two port_map inputs feed body Parameter 'total' \(layer 1\)",
        ),
        (('axis="0"/>', 'axis="0" stride="0"/>'), 'stride="0" never ends'),
        (('axis="0"/>', 'axis="0" part_size="0"/>'), 'part_size="0" must be at least 1'),
        (('axis="0"/>', 'axis="first"/>'), 'axis="first" is not an integer'),
        (('internal_layer_id="0"', ""), "a port_map entry of TensorIterator 'ti' lacks its attribute"),
        (
            (
                'from-layer="0" from-port="0" to-layer="2" to-port="0"/>\n',
                'from-layer="8" from-port="0" to-layer="2" to-port="0"/>\n',
            ),
            "an edge of the body of TensorIterator 'ti' names from-layer 8, which is no layer of it",
        ),
        (
            # Layer 4 is a Result of the graph around the body.
            (
                'from-layer="0" from-port="0" to-layer="2" to-port="0"/>\n',
                'from-layer="4" from-port="0" to-layer="2" to-port="0"/>\n',
            ),
            "names from-layer 4, which is no layer of it; no edge may join a body and the graph around it",
        ),
    ],
)
def test_broken_port_maps(save: SaveNet, change: TextReplacement, message: str) -> None:
    path = save(running_sum())
    text = path.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    with pytest.raises(ModelError, match=message) as error:
        read(path)
    assert "TensorIterator 'ti'" in str(error.value)


def test_an_entry_for_a_port_without_an_edge(save: SaveNet) -> None:
    net = running_sum()
    net.edges = [text for text in net.edges if 'to-layer="2" to-port="1"' not in text]
    with raises_error(ModelError, node="ti", op_type="TensorIterator", name="input port 1"):
        read(save(net))


def test_the_written_spec_s_example(save: SaveNet) -> None:
    shapes = (np.array([1, 512]), np.array([1, 1, 256]))
    weights = np.arange(1024 * 768 + 1024, dtype="<f4")
    blob = shapes[0].astype("<i8").tobytes() + weights.tobytes() + shapes[1].astype("<i8").tobytes()
    graph = read(save(specification_example(), blob=blob))
    loop = only_loop(graph)
    assert [str(value.type) for value in graph.inputs] == ["float32[1,25,512]", "float32[1,256]", "float32[1,256]"]
    assert [value.name for value in graph.inputs] == ["Parameter_0", "Parameter_1", "Parameter_2"]
    assert [str(value.type) for value in loop.body.inputs] == ["float32[1,1,512]", "float32[1,256]", "float32[1,256]"]
    assert [str(value.type) for value in loop.body.constants] == [
        "int64[2]",
        "float32[1024,768]",
        "float32[1024]",
        "int64[3]",
    ]
    assert loop.body.constants[1].constant is not None
    assert loop.body.constants[1].constant[0, 5] == 5
    assert (loop.sliced_inputs[0].axis, loop.counted_by_slices) == (1, True)
    cell = next(node for node in loop.body.nodes if node.op_type == "LSTMCell")
    assert len(cell.inputs) == 5
    carried = {(edge.param.name, edge.result.name) for edge in loop.back_edges}
    assert carried == {("Parameter_3", "LSTMCell_7.0"), ("Parameter_4", "LSTMCell_7.1")}
    assert (loop.scan_outputs[0].axis, loop.scan_outputs[0].reverse) == (1, False)
    check_consistent(graph)
