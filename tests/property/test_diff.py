"""Random loops equal ONNX Runtime bit for bit, align after all values are renamed, and after one node or constant is
changed diff names exactly that one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import loopdbg
from hypothesis_settings import example_settings
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.peers.onnx_writer import model_with_trajectories
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.frontends.onnx import reader as frontend
from strategies.draws import HypothesisChoices
from strategies.rename_values import all_graphs, rename_values
from strategies.small_tensors import BINARY, programs
from strategies.text_program import TextProgram
from text_models import proto

EXACT = ComparisonOptions(Tolerance(0, 0))


@pytest.fixture(scope="module")
def onnxruntime() -> Iterator[Peer]:
    with Peer("onnxruntime") as peer:
        yield peer


@example_settings(40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(program=programs())
def test_random_loops_equal_onnxruntime(onnxruntime: Peer, program: TextProgram) -> None:
    model = loopdbg.Model(frontend.from_proto(proto(program.text), "random"))
    result = compare_with_peer(model, program.inputs, onnxruntime, EXACT)
    assert result.same, (program.text, result)


@example_settings(40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(program=programs())
def test_random_loops_survive_a_file_round_trip(program: TextProgram) -> None:
    model = loopdbg.Model(frontend.from_proto(proto(program.text), "random"))
    written = onnx.ModelProto.FromString(model_with_trajectories(model.graph, {}).proto.SerializeToString())
    again = loopdbg.Model(frontend.from_proto(written, "again"))
    result = compare_sides(ModelSide(model, program.inputs), ModelSide(again, program.inputs), EXACT)
    assert result.same and result.loops, (program.text, result)
    assert {loop.match_method for loop in result.loops} == {"path"}


# ------------------------------------------------------------------ differences are found under any names

QUICK = example_settings(40, suppress_health_check=list(HealthCheck))


def compared(program: TextProgram, left: onnx.ModelProto, right: onnx.ModelProto) -> Comparison:
    models = [loopdbg.Model(frontend.from_proto(source, "random")) for source in (left, right)]
    random = np.random.default_rng(5)
    # Numbers that distinguish one operator from another, in a loop that runs.
    inputs = {name: random.standard_normal(value.shape).astype(np.float32) for name, value in program.inputs.items()}
    inputs |= {"M": np.int64(3), "cond": np.True_}
    return compare_sides(ModelSide(models[0], inputs), ModelSide(models[1], inputs), EXACT)


@QUICK
@given(programs(), st.data())
def test_renaming_makes_no_difference(program: TextProgram, data: st.DataObject) -> None:
    source = proto(program.text)
    result = compared(program, source, rename_values(source, HypothesisChoices(data.draw)))
    assert result.same and not result.static_differences, (program.text, result)
    assert not [loop for loop in result.loops if loop.only_left or loop.only_right]


@QUICK
@given(programs(), st.data())
def test_changed_node_is_blamed(program: TextProgram, data: st.DataObject) -> None:
    left, right = proto(program.text), proto(program.text)
    places = [(g, k) for g in all_graphs(right.graph) for k, node in enumerate(g.node) if node.op_type in BINARY]
    assume(places)
    g, k = data.draw(st.sampled_from(places))
    was = g.node[k].op_type
    alone = sum(set(node.input) == set(g.node[k].input) and node.op_type in BINARY for node in g.node) == 1
    g.node[k].op_type = data.draw(st.sampled_from([op for op in BINARY if op != was]))
    name, now = g.node[k].output[0], g.node[k].op_type
    result = compared(program, left, rename_values(right, HypothesisChoices(data.draw)))
    first = result.first
    if first is None:
        return
    assert first.cause is not None
    node = first.cause.node
    # Among nodes with the same operator and inputs the changed one is unknown: a reader may read another one.
    readers = {item.output[0] for item in g.node if name in item.input and not alone}
    if node is not None and node.name not in readers:
        assert (node.name, node.op_type, node.other_op_type) == (name, was, now), (program.text, result)
    assert node is not None or not alone, (program.text, name, now, result)


@QUICK
@given(programs(), st.data())
def test_changed_constant_is_named(program: TextProgram, data: st.DataObject) -> None:
    left, right = proto(program.text), proto(program.text)
    places = [node for g in all_graphs(right.graph) for node in g.node if node.op_type == "Constant"]
    assume(places)
    node = data.draw(st.sampled_from(places))
    node.attribute[0].t.CopyFrom(onnx.numpy_helper.from_array(np.float32(0.75)))
    result = compared(program, left, rename_values(right, HypothesisChoices(data.draw)))
    assert [
        (difference.kind, difference.name, difference.left, difference.right)
        for difference in result.static_differences
    ] == [("constant", node.output[0], np.float32(0.5), np.float32(0.75))], (program.text, result)
    first = result.first
    if first is not None:
        assert first.cause is not None and first.cause.source is not None
        assert (first.cause.source.role, first.cause.source.name) == ("constant", node.output[0]), (
            program.text,
            result,
        )
