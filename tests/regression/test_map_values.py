"""A model with one output of type map (scikit-learn classifiers end in ZipMap) was refused as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import loopdbg
from cli_runner import run_cli as command
from error_fields import raises_error
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.errors import UnsupportedError
from loopdbg.runtime.graph.graph_json import graph_from_json, graph_to_json
from text_models import load_proto

SCAN = """<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 1]>
g (float[2] s0, float[n,2] x) => (float[2] s, float[n,2] a) {
  s, a = Scan <num_scan_inputs = 1, body = body (float[2] si, float[2] xi) => (float[2] so, float[2] ao) {
    so = Add (si, xi)
    ao = Identity (so)
  }> (s0, x)
}"""
FEEDS = {"s0": np.float32([1, 2]), "x": np.float32([[1, 0], [2, 1], [3, 5]])}
FLOAT = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
MAPS = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.INT64, FLOAT))
ZIP = helper.make_node("ZipMap", ["a"], ["prob"], "zip", domain="ai.onnx.ml", classlabels_int64s=[0, 1])


def with_scan(change: Callable[[onnx.GraphProto], object]) -> onnx.ModelProto:
    model = onnx.parser.parse_model(SCAN)
    change(model.graph)
    return model


def classifier(graph: onnx.GraphProto) -> None:
    """The map output comes first, so that the places of the others differ from those in the file."""
    graph.node.append(ZIP)
    graph.output.insert(0, helper.make_value_info("prob", MAPS))


def only_a_map(graph: onnx.GraphProto) -> None:
    classifier(graph)
    del graph.output[1:]


def dependents(graph: onnx.GraphProto) -> None:
    classifier(graph)
    graph.node.extend([helper.make_node("SequenceLength", ["prob"], ["count"]), helper.make_node("Abs", ["s"], ["t"])])
    graph.output.append(helper.make_tensor_value_info("count", TensorProto.INT64, []))
    graph.output.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [2]))


def map_input(graph: onnx.GraphProto) -> None:
    kind = helper.make_map_type_proto(TensorProto.STRING, FLOAT)
    graph.input.append(helper.make_value_info("words", kind))
    graph.node.append(helper.make_node("DictVectorizer", ["words"], ["v"], "vec", domain="ai.onnx.ml"))
    graph.output.append(helper.make_tensor_value_info("v", TensorProto.FLOAT, None))


def undeclared(graph: onnx.GraphProto) -> None:
    """Nothing says that 'prob' is a map but the operator."""
    graph.node.append(ZIP)


@pytest.mark.parametrize(
    ("change", "what", "reason", "missing", "outputs"),
    [
        (classifier, "ZipMap 'zip'", "the type of 'prob' is seq(map(int64,float32))", ("prob",), ["s", "a"]),
        (only_a_map, "ZipMap 'zip'", "the type of 'prob' is seq(map(int64,float32))", ("prob",), []),
        (dependents, "ZipMap 'zip'", "seq(map(int64,float32))", ("prob", "count"), ["s", "a", "t"]),
        (map_input, "the input 'words'", "its type is map(string,float32)", ("v",), ["s", "a"]),
        (undeclared, "ZipMap 'zip'", "it gives a sequence of maps", (), ["s", "a"]),
    ],
)
def test_the_rest_of_the_model_runs(
    change: Callable[[onnx.GraphProto], None], what: str, reason: str, missing: tuple[str, ...], outputs: list[str]
) -> None:
    model = load_proto(with_scan(change))
    (excluded,) = model.graph.excluded
    assert excluded.subject.startswith(what) and reason in excluded.reason and excluded.outputs == missing
    run = model.execute(FEEDS)
    assert list(run.outputs) == outputs == [port.name for port in model.outputs]
    assert run.loops[0].iterations == 3 and run.notes[0] == str(excluded)
    if outputs:
        np.testing.assert_array_equal(run.outputs["s"], FEEDS["s0"] + FEEDS["x"].sum(0))
    assert graph_from_json(graph_to_json(model.graph)).excluded == model.graph.excluded


def test_a_model_without_maps_excludes_nothing() -> None:
    model = load_proto(with_scan(lambda graph: None))
    assert not model.graph.excluded and not model.graph.notes


def branches(graph: onnx.GraphProto) -> None:
    """One If gives maps, another one computes a map that nothing reads."""
    del graph.node[:]
    tensor = helper.make_tensor_value_info("t", TensorProto.FLOAT, None)
    keep = helper.make_node("Identity", ["x"], ["t"])
    dead = helper.make_node("ZipMap", ["x"], ["m"], "dead", domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    first = helper.make_graph([keep, dead], "b", [], [tensor])
    maps = helper.make_graph([dead], "b", [], [helper.make_value_info("m", MAPS)])
    graph.node.append(helper.make_node("If", ["p"], ["a"], "tensors", then_branch=first, else_branch=first))
    graph.node.append(helper.make_node("If", ["p"], ["s"], "maps", then_branch=maps, else_branch=maps))
    graph.input.append(helper.make_tensor_value_info("p", TensorProto.BOOL, []))
    graph.output[0].type.CopyFrom(MAPS)


def test_nodes_inside_branches() -> None:
    model = load_proto(with_scan(branches))
    assert [node.name for node in model.graph.nodes] == ["tensors"]
    assert [port.name for port in model.outputs] == ["a"]
    assert model.graph.missing_outputs == ["s"]
    assert model.run({**FEEDS, "p": np.array(True)})["a"].tolist() == FEEDS["x"].tolist()


def test_a_model_of_nothing_but_maps_is_refused() -> None:
    def change(graph: onnx.GraphProto) -> None:
        only_a_map(graph)
        del graph.node[0]
        graph.input.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["n", 2]))

    with raises_error(UnsupportedError, name="ZipMap 'zip' (ai.onnx.ml opset 1)"):
        load_proto(with_scan(change))


@pytest.mark.parametrize("change", [classifier, only_a_map])
def test_the_other_outputs_are_compared(change: Callable[[onnx.GraphProto], None]) -> None:
    model = load_proto(with_scan(change))
    with Peer("onnxruntime") as peer:
        result = compare_with_peer(model, FEEDS, peer, ComparisonOptions())
    lockstep, free = result.comparisons
    assert lockstep.same and not free.outputs and not free.failures
    assert free.compared_outputs == len(model.outputs)
    assert free.uncompared == ["prob"] and free.verdict is loopdbg.Verdict.PARTLY


def test_the_command_line_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(with_scan(classifier), path)
    ran = command(capsys, "run", path, "--seed", "1", "--dim", "n=3")
    assert ran.status == 0 and "'prob' is not computed" in ran.err
    assert "prob   not computed" in ran.out
    completed = command(capsys, "info", path)
    assert "ZipMap 'zip' (ai.onnx.ml opset 1) at main" in completed.out.split("unsupported")[1]


def test_a_scripted_session_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(with_scan(classifier), path)
    ran = command(capsys, "run", path, "--seed", "1", "--dim", "n=3", "-ex", "step", "-ex", "continue")
    assert ran.status == 0 and "'prob' is not computed" in ran.err and "prob   not computed" in ran.out
