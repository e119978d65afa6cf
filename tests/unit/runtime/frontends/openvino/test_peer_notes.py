"""Notes on what no peer can confirm (docs/peers.md); tests/conformance/test_peer_notes.py has the rest."""

from __future__ import annotations

import pytest

from ir_builder import (
    IrNetBuilder,
    SaveNet,
    check_consistent,
    input_map_entry,
    loop_sections,
    only_loop,
    output_map_entry,
    running_sum,
)
from loopdbg.runtime.frontends.openvino.reader import read


@pytest.mark.parametrize(
    ("sliced", "noted"),
    [
        ('axis="0" start="1"', "from the front"),
        ('axis="0" start="-3"', None),
        ('axis="0" start="-2" end="0" stride="-1"', "from the back: it counts with start=-2"),
    ],
)
def test_note_on_slices(save: SaveNet, sliced: str, noted: str | None) -> None:
    notes = only_loop(read(save(running_sum(sliced, shape="?,2")))).notes
    assert len(notes) == (noted is not None)
    assert noted is None or noted in notes[0]


def test_note_on_negative_output_axis_keeps_the_axis(save: SaveNet) -> None:
    loop = only_loop(read(save(running_sum(joined='axis="-2"'))))
    assert loop.scan_outputs[0].axis == -2
    assert "it does not concatenate along the negative axis -2" in loop.notes[0]


def test_note_on_nested_tensor_iterators(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter("4", name="x")
    body = net.body_builder()
    p = body.parameter("1", name="p")
    inner = body.body_builder()
    q = inner.parameter("1", name="q")
    inner_output = output_map_entry(1, inner.result(inner.layer("Relu", [q])))
    inner_parts = loop_sections(inner, [input_map_entry(0, q, 'axis="0"'), inner_output])
    result = body.result(body.layer("TensorIterator", [p], extra=inner_parts))
    parts = loop_sections(body, [input_map_entry(0, p, 'axis="0"'), output_map_entry(1, result)])
    net.result(net.layer("TensorIterator", [x], extra=parts))
    graph = read(save(net))
    assert only_loop(graph).notes == ["OpenVINO's CPU plugin refuses a TensorIterator inside a TensorIterator."]
    assert only_loop(only_loop(graph).body).notes == []
    check_consistent(graph)
