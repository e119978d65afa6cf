"""Where OpenVINO's CPU plugin does something else with a loop (docs/peers.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import openvino_peer
from ir_builder import (
    IrNetBuilder,
    SaveNet,
    carried_net,
    check_consistent,
    input_map_entry,
    loop_sections,
    only_loop,
    output_map_entry,
    running_sum,
)
from loopdbg.runtime.frontends.openvino.reader import read


@pytest.mark.parametrize(
    ("sliced", "shape", "noted"),
    [
        ('axis="0" start="1"', "4,2", "from the front: it counts with start=1"),
        ('axis="0" start="1"', "?,2", "from the front"),
        ('axis="0" start="-3"', "4,2", "from the front"),
        ('axis="0" start="-5"', "4,2", None),
        ('axis="0" start="-3"', "?,2", None),
        ('axis="0" end="3"', "4,2", None),
        ('axis="0" start="-1" end="0" stride="-1"', "4,2", None),
        ('axis="0" start="4" end="0" stride="-1"', "4,2", None),
        ('axis="0" start="3" end="0" stride="-1"', "4,2", "from the back: it counts with start=3"),
        ('axis="0" start="-2" end="0" stride="-1"', "?,2", "from the back: it counts with start=-2"),
        ('axis="-2"', "4,2", "OpenVINO refuses the negative axis of the sliced input 'part'"),
    ],
)
def test_note_on_slices(save: SaveNet, sliced: str, shape: str, noted: str | None) -> None:
    notes = only_loop(read(save(running_sum(sliced, shape=shape)))).notes
    assert len(notes) == (noted is not None)
    assert noted is None or noted in notes[0]


def test_note_on_a_negative_output_axis(save: SaveNet) -> None:
    loop = only_loop(read(save(running_sum(joined='axis="-2"'))))
    assert loop.scan_outputs[0].axis == -2
    [note] = loop.notes
    assert "returns something else as 'ti.0': it does not concatenate along the negative axis -2" in note


@pytest.mark.parametrize(
    ("sources", "order", "noted"),
    [
        ([1, 0], (0, 1), ["p0", "p1"]),
        ([1, 0], (1, 0), ["p1", "p0"]),
        (["+", 0, 1], (0, 1, 2), ["p0", "p1"]),  # nothing reads p2
        (["+", 0, 1], (2, 1, 0), []),
        ([1, 2, "+"], (0, 1, 2), []),
        ([0, 0], (0, 1), []),
    ],
)
def test_note_on_values_passed_through(
    save: SaveNet, sources: list[int | str], order: tuple[int, ...], noted: list[str]
) -> None:
    """B8. What the plugin really gives is held by ``test_notes_hold_in_openvino``."""
    notes = only_loop(read(save(carried_net(sources, order)))).notes
    pairs = list(zip(noted[::2], noted[1::2], strict=True))
    assert len(notes) == len(pairs)
    for note, (source, target) in zip(notes, pairs, strict=True):
        assert f"would carry the next iteration's '{source}' into '{target}'" in note


@pytest.mark.parametrize(("element", "text"), [("i64", None), ("f64", "(float64) as float32"), ("f32", None)])
def test_note_on_wide_carried_values(save: SaveNet, element: str, text: str | None) -> None:
    notes = only_loop(read(save(carried_net(["+", 1], element=element)))).notes
    assert len(notes) == (text is not None)
    assert text is None or f"computes 'p0' {text}" in notes[0]


def test_note_on_nested_tensor_iterators(save: SaveNet) -> None:
    net = IrNetBuilder()
    x = net.parameter("4", name="x")
    body = net.body_builder()
    p = body.parameter("1", name="p")
    inner = body.body_builder()
    q = inner.parameter("1", name="q")
    inner_parts = loop_sections(
        inner, [input_map_entry(0, q, 'axis="0"'), output_map_entry(1, inner.result(inner.layer("Relu", [q])))]
    )
    r = body.result(body.layer("TensorIterator", [p], extra=inner_parts))
    net.result(
        net.layer(
            "TensorIterator",
            [x],
            extra=loop_sections(body, [input_map_entry(0, p, 'axis="0"'), output_map_entry(1, r)]),
        )
    )
    graph = read(save(net))
    assert only_loop(graph).notes == ["OpenVINO's CPU plugin refuses a TensorIterator inside a TensorIterator."]
    assert only_loop(only_loop(graph).body).notes == []
    check_consistent(graph)


@pytest.mark.parametrize(
    ("net", "inputs", "gives", "by_the_spec"),
    [
        (lambda: carried_net([1, 0]), [[1], [2]], [[2], [2]], [[2], [1]]),
        (lambda: carried_net(["+", 0, 1]), [[1], [2], [3]], [[31], [21], [21]], [[31], [21], [11]]),
        (lambda: carried_net(["+", 0, 1], (2, 1, 0)), [[1], [2], [3]], [[31], [21], [11]], None),
        (
            lambda: running_sum('axis="0" start="1"', joined="", shape="4,2"),
            [[[1, 1], [2, 2], [3, 3], [4, 4]], [[0, 0]]],
            [[[6, 6]]],
            [[[9, 9]]],
        ),
        (
            lambda: running_sum('axis="0" start="-2" end="0" stride="-1"', joined="", shape="4,2"),
            [[[1, 1], [2, 2], [3, 3], [4, 4]], [[0, 0]]],
            [[[9, 9]]],
            [[[6, 6]]],
        ),
    ],
)
def test_notes_hold_in_openvino(
    save: SaveNet, net: Callable[[], IrNetBuilder], inputs: list[Any], gives: list[Any], by_the_spec: list[Any] | None
) -> None:
    """If this fails, OpenVINO has changed: look at the note and at docs/peers.md."""
    path = save(net())
    results = [value.tolist() for value in openvino_peer.run(path, [np.array(x, "f4") for x in inputs])]
    assert results[: len(gives)] == gives
    assert bool(only_loop(read(path)).notes) == (by_the_spec is not None)
