"""A random loop's own values as a reference: each value is matched by its numbers under any name; a changed number or a
changed node is named with its iteration, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import loopdbg
from diff_checks import report_text
from hypothesis_settings import example_settings
from loopdbg.debugger.compare.reference_match.value_locations import ValueLocation
from loopdbg.debugger.compare.report.findings import Verdict
from loopdbg.debugger.compare.running.value_comparison import Tolerance, compare
from loopdbg.debugger.reference.reference import Reference, Track
from loopdbg.runtime.graph import Loop, walk
from reference_files import compare_with_reference, perturb_track, record_reference, write_anonymous_reference
from strategies.rename_values import all_graphs
from strategies.small_tensors import BINARY, programs
from strategies.text_program import TextProgram
from text_models import load_proto, model, proto

QUICK = example_settings(40, suppress_health_check=list(HealthCheck))


def inputs_of(program: TextProgram) -> dict[str, Any]:
    """Inputs that make values distinguishable, in a loop that runs."""
    random = np.random.default_rng(5)
    inputs = {name: random.standard_normal(value.shape).astype(np.float32) for name, value in program.inputs.items()}
    return inputs | {"M": np.int64(4), "cond": np.True_, "bound": np.float32(1e30)}


def scrambled(tracks: Sequence[Track], draw: Any) -> Reference:
    """The tracks in a file, in random order and with meaningless names."""
    order = draw(st.permutations(range(len(tracks))))
    with TemporaryDirectory() as folder:
        return write_anonymous_reference(
            Path(folder) / "ref.npz", {f"{'abcdefgh'[k % 8]}{'xyz' * (k // 8)}q": tracks[k] for k in order}
        )


@QUICK
@given(programs(), st.data())
def test_own_values_under_other_names_are_equal(program: TextProgram, data: st.DataObject) -> None:
    item, feeds = model(program.text), inputs_of(program)
    tracks = [track for _, track in record_reference(item, feeds)]
    reference = scrambled(tracks, data.draw)
    result = compare_with_reference(item, feeds, reference)
    assert result.verdict is Verdict.SAME, (program.text, report_text(result))
    counts = sum(loop.compared_values for loop in result.loops)
    assert counts >= sum(len(track.values) for track in tracks if () not in track.values), (
        program.text,
        report_text(result),
    )


@QUICK
@given(programs(), st.data())
def test_value_with_a_changed_number_is_named(program: TextProgram, data: st.DataObject) -> None:
    item, feeds = model(program.text), inputs_of(program)
    pairs = [(spot, track) for spot, track in record_reference(item, feeds)]
    inside = [k for k, (spot, track) in enumerate(pairs) if is_identifiable(track) and spot.path]
    assume(inside)
    k = data.draw(st.sampled_from(inside))
    spot, track = pairs[k]
    key = data.draw(st.sampled_from(sorted(track.values)))
    index = data.draw(st.integers(0, np.size(track.values[key]) - 1))
    reference = scrambled([perturb_track(t, key, index) if t is track else t for _, t in pairs], data.draw)
    result = compare_with_reference(item, feeds, reference)
    assert result.verdict is Verdict.DIFFER, (program.text, spot, key, report_text(result))
    first = result.first
    assert first is not None and first.first is not None
    # Values that are equal everywhere cannot be distinguished by their numbers.
    place = first.first.entry, first.first.iteration
    assert place == (key[:-1], key[-1]), (program.text, spot, key, report_text(result))
    assert first.left in {entry.path for entry in alike(spot, pairs)}, (program.text, spot, key, report_text(result))
    assert first.cause is not None, (program.text, spot, report_text(result))
    # The comparison does not enter a loop: its inner values are equal.
    blamed = first.cause.candidate_nodes if first.cause.node is None else (first.cause.node.node,)
    assert len(blamed) == 1 and blamed[0] in names_of(alike(spot, pairs)), (
        program.text,
        spot,
        key,
        report_text(result),
    )
    assert sum(loop.differing_iterations for loop in result.loops) == 1, (program.text, spot, key, report_text(result))


@QUICK
@given(programs(), st.data())
def test_changed_node_is_named_alone(program: TextProgram, data: st.DataObject) -> None:
    right, wrong = proto(program.text), proto(program.text)
    places = [node for graph in all_graphs(wrong.graph) for node in graph.node if node.op_type in BINARY]
    assume(places)
    node = data.draw(st.sampled_from(places))
    node.op_type = data.draw(st.sampled_from([op for op in BINARY if op != node.op_type]))
    feeds, item = inputs_of(program), load_proto(wrong)
    known = record_reference(load_proto(right), feeds)
    # A value equal to another one of the other side cannot be distinguished from it by its numbers.
    own = record_reference(item, feeds)
    for pairs, others in ((own, known), (known, own)):
        meant = [pair for pair in pairs if pair[1].name == node.output[0]]
        assume(all(len(alike(pair[0], [pair, *others])) == 1 for pair in meant))
    tracks = {track.name: track for _, track in known}
    with TemporaryDirectory() as folder:
        result = compare_with_reference(item, feeds, write_anonymous_reference(Path(folder) / "ref.npz", tracks))
    cause = result.cause if result.first is None else result.first.cause
    if result.verdict is not Verdict.DIFFER or cause is None or cause.source is not None:
        return
    blamed = cause.candidate_nodes if cause.node is None else (cause.node.node,)
    assert {*blamed} & made_by(item, node.output[0]), (program.text, node.output[0], node.op_type, report_text(result))


def made_by(item: loopdbg.Model, name: str) -> set[str]:
    """The node that computes a value, and its enclosing loops."""
    results = set()
    for node in walk(item.graph):
        inside = walk(node.body) if isinstance(node, Loop) else ()
        if any(value is not None and value.name == name for each in (node, *inside) for value in each.outputs):
            results.add(node.name)
    return results


def is_identifiable(track: Track) -> bool:
    """Whether its numbers suffice to recognize a value when one of them is changed."""
    counts = [np.size(data) for data in track.values.values()]
    numbers = np.concatenate([np.ravel(data) for data in track.values.values()])
    return len(counts) > 2 and numbers.dtype.kind == "f" and len(np.unique(numbers)) > 4


def names_of(spots: Sequence[ValueLocation]) -> set[str]:
    """The names of the nodes that compute values."""
    return {spot.node.name for spot in spots if spot.node is not None}


def alike(spot: ValueLocation, pairs: Sequence[tuple[ValueLocation, Track]]) -> list[ValueLocation]:
    """The values with the same numbers everywhere except for rounding: ``p + w - p`` equals ``w`` in a comparison."""
    mine = next(track for other, track in pairs if other is spot)
    return [
        other
        for other, track in pairs
        if track.values.keys() == mine.values.keys()
        and all(
            not compare(track.values[key], mine.values[key], Tolerance(), loose_shape=True).kind for key in mine.values
        )
    ]
