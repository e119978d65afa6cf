"""Two models that differ in the main graph: without loops, or before and behind loops that are the same."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.debugger.compare.api import Diff
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.report.findings import Comparison
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions, compare_sides
from loopdbg.debugger.compare.running.sides import ModelSide
from loopdbg.debugger.peers.process import Peer
from text_models import model, proto

X = np.linspace(-1, 2, 4, dtype=np.float32)
PLAIN = """g (float[4] x) => (float[4] y, float[4] z) {
  [square] a = Mul (x, x) [squash] b = Tanh (a) [add] c = Add (b, x) [end] y = Sin (c) [turn] d = Neg (c)
  [last] z = Sigmoid (d) }"""
LOOP = """g (float[4] x, int64 n) => (float[4] y) {
  [begin] p = Sin (x) [parallel] q = Cos (x)
  [L] s = Loop (n, , p) <body = b (int64 i, bool c, float[4] h) => (bool c2, float[4] k) {
    c2 = Identity (c) [step] k = Tanh (h) }>
  [behind] r = Sigmoid (s) [join] y = Add (r, q) }"""
BRANCH = """g (float[4] x, bool p) => (float[4] y) {
  r = If (p) <
    then_branch = t () => (float[4] u) { [inner] e = Exp (x) u = Neg (e) },
    else_branch = f () => (float[4] w) { w = Neg (x) } >
  y = Tanh (r) }"""


def compared(text: str, old: str, new: str, **more: Any) -> Comparison:
    """A model and what it is with a part of its text changed."""
    assert old in text
    sides = [ModelSide(model(item), {"x": X, **more}) for item in (text, text.replace(old, new))]
    return compare_sides(*sides, ComparisonOptions())


def blamed(comparison: Comparison) -> str:
    assert comparison.first is None and comparison.cause is not None and comparison.cause.node is not None
    return comparison.cause.node.node


def test_without_loops_the_node_is_named() -> None:
    result = compared(PLAIN, "Tanh (a)", "Sigmoid (a)")
    assert blamed(result) == "squash"
    node = result.cause.node
    assert (node.op_type, node.other_op_type) == ("Tanh", "Sigmoid")
    assert [name for name, _ in node.inputs] == ["a"]
    assert np.array_equal(node.inputs[0][1], X * X)
    assert np.allclose(node.difference.left, np.tanh(X * X))


def test_what_it_reads_instead() -> None:
    result = compared(PLAIN, "Add (b, x)", "Add (b, a)")
    assert blamed(result) == "add"
    assert result.cause.remark == "it reads 'x' here, 'a' there"


def test_of_two_faults_the_one_that_runs_first() -> None:
    # The first output has only the second fault.
    result = compared(
        "g (float[4] x) => (float[4] y, float[4] z) { [first] a = Neg (x) z = Tanh (a) [second] y = Sin (x) }",
        "[first] a = Neg (x) z = Tanh (a) [second] y = Sin (x)",
        "[first] a = Abs (x) z = Tanh (a) [second] y = Cos (x)",
    )
    assert [output.name for output in result.outputs] == ["y", "z"]
    assert blamed(result) == "first"
    assert result.first_output is result.outputs[1]
    first = Diff(result).first
    assert first is not None and (first.value, first.node) == ("z", "first")


def test_the_same_models_have_no_cause() -> None:
    result = compared(PLAIN, "Sin", "Sin")
    assert result.same and result.cause is None


@pytest.mark.parametrize(
    ("old", "new", "node"),
    [
        ("Cos (x)", "Tanh (x)", "parallel"),
        ("Sigmoid (s)", "Softplus (s)", "behind"),
        ("Sigmoid (s)", "Sigmoid (p)", "behind"),
    ],
)
def test_with_equal_loops(old: str, new: str, node: str) -> None:
    result = compared(LOOP, old, new, n=np.int64(3))
    assert result.loops[0].same
    assert blamed(result) == node


def test_where_a_loop_differs_that_tells_it() -> None:
    result = compared(LOOP, "p = Sin (x)", "p = Neg (x)", n=np.int64(3))
    assert result.cause is None
    assert result.first is not None and result.first.node is not None and result.first.node.node == "begin"


def test_where_a_loop_runs_longer_no_node_is_to_blame() -> None:
    text = LOOP.replace("(n, , p)", "(m, , p)").replace("[begin]", "m = Abs (n) [begin]")
    result = compared(text, "m = Abs (n)", "m = Add (n, n)", n=np.int64(3))
    assert result.loops[0].trips is not None
    assert result.outputs and result.cause is None


def test_what_a_model_that_fails_was_given_before() -> None:
    text = """g (float[4] x, int64 n) => (float[4] y) <int64[1] size = {4}> {
      start = ConstantOfShape (size)
      y = Loop (n, , start) <body = b (int64 i, bool c, float[a] h) => (bool c2, float[a] k) {
        c2 = Identity (c) k = Add (h, x) }> }"""
    result = compared(text, "{4}", "{3}", n=np.int64(2))
    assert result.error is not None and "Add" in str(result.error)
    assert result.first is not None and result.first.first is not None and result.first.first.delta.kind == "shape"
    source = None if result.first.cause is None else result.first.cause.source
    assert source is not None and (source.role, source.name) == ("constant", "size")


@pytest.mark.parametrize(("taken", "node"), [(True, "inner"), (False, None)])
def test_in_the_branch_that_was_taken(taken: bool, node: str | None) -> None:
    result = compared(BRANCH, "Exp (x)", "Sin (x)", p=np.bool_(taken))
    assert result.same if node is None else blamed(result) == node


def test_two_systems(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino", reason="needs openvino, which converts the model")
    onnx.save(proto(PLAIN), tmp_path / "m.onnx")
    onnx.save(proto(PLAIN.replace("Tanh (a)", "Sigmoid (a)")), tmp_path / "n.onnx")
    openvino.save_model(openvino.convert_model(tmp_path / "n.onnx"), tmp_path / "n.xml", compress_to_fp16=False)
    result = loopdbg.diff(tmp_path / "m.onnx", tmp_path / "n.xml", {"x": X})
    assert result.first is not None and (result.first.node, result.first.op_type) == ("squash", "Tanh")


def test_a_recording_has_the_ends_of_the_main_graph(tmp_path: Path) -> None:
    session = loopdbg.debug(model(PLAIN), {"x": X})
    session.record(tmp_path / "run.loopdb")
    session.finish()
    session.close()
    at_its_end = loopdbg.diff(model(PLAIN.replace("Sigmoid (d)", "Tanh (d)")), tmp_path / "run.loopdb")
    assert at_its_end.first is not None and (at_its_end.first.value, at_its_end.first.node) == ("z", "last")
    inside = loopdbg.diff(model(PLAIN.replace("Mul (x, x)", "Exp (x)")), tmp_path / "run.loopdb")
    assert inside.first is not None and inside.first.node == ""
    assert "Sin 'end' computes it; 'c', which it is fed, is not known on both sides" in str(inside)


LINE = "model.py:12  x = torch.tanh(x)"


def test_the_report_begins_with_the_node_and_its_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = proto(PLAIN)
    trace = 'File "model.py", line 12, in forward\n    x = torch.tanh(x)\n'
    first.graph.node[1].metadata_props.append(
        onnx.StringStringEntryProto(key="pkg.torch.onnx.stack_trace", value=trace)
    )
    onnx.save(first, tmp_path / "a.onnx")
    first.graph.node[1].op_type = "Sigmoid"
    onnx.save(first, tmp_path / "b.onnx")
    ran = command(capsys, "diff", tmp_path / "a.onnx", tmp_path / "b.onnx")
    lines = [line.strip() for line in ran.out.splitlines()]
    begin = lines.index("first difference: main graph, output 'y'")
    assert lines[begin + 1].startswith("first node that differs: Tanh 'squash', in its place in b.onnx Sigmoid")
    assert lines[begin + 2] == LINE
    assert begin < next(k for k, line in enumerate(lines) if line.startswith("output 'y'"))
    report = json.loads(command(capsys, "diff", tmp_path / "a.onnx", tmp_path / "b.onnx", "--json").out)
    assert (report["first"]["role"], report["first"]["left_name"]) == ("output", "y")
    assert report["comparisons"][0]["outputs"]["node"]["code"]["text"] == LINE


NETWORK = """
import tensorrt as trt

def build(network):
    x = network.add_input("x", trt.float32, (4,))
    first = network.add_activation(x, trt.ActivationType.TANH)
    first.name = "first"
    second = network.add_unary(first.get_output(0), trt.UnaryOperation.NEG)
    second.get_output(0).name = "y"
    network.mark_output(second.get_output(0))
"""


def test_tensorrt_network_against_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec("onnxruntime")  # which the faulty peer imports: skipped where it has no wheel
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3] / "peers"), prepend=os.pathsep)
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "wrong")  # all that it computes is twice as large
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "0")
    (tmp_path / "network.py").write_text(NETWORK)
    network = loopdbg.load(tmp_path / "network.py")
    with Peer("onnxruntime", 300, module="faulty_peer") as peer:
        result = compare_with_peer(network, {"x": X}, peer, ComparisonOptions(), lockstep=False).comparisons[0]
    assert blamed(result) == "first"
    assert np.allclose(result.cause.node.difference.right, 2 * np.tanh(X))
    assert result.cause.node.origin.line == 6
