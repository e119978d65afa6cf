"""A difference that is before a loop was blamed on the loop's iteration 0, though its iterations are the same.

What differs here is Softmax before opset 13, which OpenVINO takes over one axis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from cli_runner import run_cli as command
from loopdbg.debugger.compare.live_peer.peer_comparison import compare_with_peer
from loopdbg.debugger.compare.report.findings import Comparison, Verdict
from loopdbg.debugger.compare.running.boundary_merge import ComparisonOptions
from loopdbg.debugger.peers.process import Peer
from text_models import proto

MODEL = """g (float[2,3,4] x, bool p) => (float[2,3,4] y) <int64 n = {3}, float half = {0.5}> {
  d = Mul (x, half)
  BEFORE
  few = Mul (soft, half)
  t = Tanh (few)
  LOOP
}"""
PRODUCT = "[product] soft = Softmax <axis = 1> (d)"
INSIDE_AN_IF = """[choose] soft = If (p) <
    then_branch = th () => (float[2,3,4] u) { e = Add (d, half) [product] s = Softmax <axis = 1> (e) u = Neg (s) },
    else_branch = el () => (float[2,3,4] w) { w = Neg (d) }
  >"""
LOOP = """[L] y = Loop (n, , START) <body = b (int64 i, bool c, float[2,3,4] s) => (bool c2, float[2,3,4] s2) {
    c2 = Identity (c)
    s2 = Mul (s, FACTOR)
  }>"""
X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(scope="module")
def openvino() -> Iterator[Peer]:
    with Peer("openvino") as peer:
        yield peer


def saved(folder: Path, before: str = PRODUCT, start: str = "t", factor: str = "half", loop: str = LOOP) -> Path:
    text = MODEL.replace("BEFORE", before).replace("LOOP", loop).replace("START", start).replace("FACTOR", factor)
    onnx.save(proto(text, 12), folder / "m.onnx")
    return folder / "m.onnx"


def run_end_to_end(path: Path, peer: Peer, p: bool = True) -> Comparison:
    """The free-running comparison."""
    result = compare_with_peer(loopdbg.load(path), {"x": X, "p": p}, peer, ComparisonOptions())
    assert result.comparisons[0].verdict in (Verdict.SAME, Verdict.NOT_COMPARED)
    return result.comparisons[1]


@pytest.mark.parametrize("before", [PRODUCT, INSIDE_AN_IF])
def test_an_initial_value(tmp_path: Path, openvino: Peer, before: str) -> None:
    (loop,) = run_end_to_end(saved(tmp_path, before), openvino).loops
    assert loop.first is not None and (loop.first.role, loop.first.name) == ("initial value", "t")
    assert loop.first.iteration is None
    assert loop.node is not None and loop.node.node == "product"


def test_the_branch_that_was_not_taken(tmp_path: Path, openvino: Peer) -> None:
    assert run_end_to_end(saved(tmp_path, INSIDE_AN_IF), openvino, p=False).same


def test_a_capture(tmp_path: Path, openvino: Peer) -> None:
    (loop,) = run_end_to_end(saved(tmp_path, start="x", factor="t"), openvino).loops
    assert loop.first is not None and loop.first.iteration == 0
    assert loop.node is not None and loop.node.node == "product"


def test_an_output_without_a_loop(tmp_path: Path, openvino: Peer) -> None:
    result = run_end_to_end(saved(tmp_path, loop="y = Neg (t)"), openvino)
    assert result.cause is not None and result.cause.node is not None and result.cause.node.node == "product"


def test_what_begins_in_the_loop(tmp_path: Path, openvino: Peer) -> None:
    inside = LOOP.replace("s2 = Mul (s, FACTOR)", "s2 = Softmax <axis = 1> (s)")
    path = saved(tmp_path, "soft = Identity (d)", loop=inside)
    result = compare_with_peer(loopdbg.load(path), {"x": X, "p": True}, openvino, ComparisonOptions(), lockstep=False)
    (loop,) = result.comparisons[0].loops
    assert loop.first is not None and (loop.first.role, loop.first.iteration) == ("carried", 0)
    assert (
        loop.cause is not None and loop.cause.remark == "what the loop is fed is the same: it comes from its iterations"
    )


def test_an_ir(tmp_path: Path, openvino: Peer) -> None:
    """OpenVINO sums over the channels alone."""
    import openvino as ov
    from openvino import opset13 as op

    x, s = op.parameter([1, 3, 4, 4], np.float32, name="x"), op.parameter([1, 3, 4, 4], np.float32)
    product = op.lrn(x, op.constant([1, 2, 3], np.int64), alpha=1.0, beta=0.75, bias=1.0, size=3)
    product.set_friendly_name("product")
    go, last = op.result(op.constant(True)), op.result(op.multiply(s, op.constant(np.float32(0.5))))
    loop = op.loop(op.constant(3), op.constant(True))
    loop.set_function(ov.Model([go, last], [s], "body"))
    loop.set_special_body_ports([-1, 0])
    loop.set_merged_input(s, op.tanh(product).output(0), last.output(0))
    model = ov.Model([op.result(loop.get_iter_value(last.output(0), -1))], [x], "m")
    ov.save_model(model, tmp_path / "m.xml", compress_to_fp16=False)
    m = loopdbg.load(tmp_path / "m.xml")
    inputs = {m.inputs[0].name: np.linspace(-2, 3, 48, dtype=np.float32).reshape(1, 3, 4, 4)}
    result = compare_with_peer(m, inputs, openvino, ComparisonOptions(), lockstep=False)
    (pair,) = result.comparisons[0].loops
    assert pair.first is not None and (pair.first.role, pair.first.iteration) == ("initial value", None)
    assert pair.node is not None and pair.node.node == "product"


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "given.npz", x=X, p=True)
    ran = command(capsys, "diff", saved(tmp_path), "--inputs", tmp_path / "given.npz", "--against", "openvino")
    assert ran.status == 6
    assert "first difference: loop 'main ▸ L', before iteration 0, initial value 't'" in ran.out
    assert "first node that differs: Softmax 'product'\n" in ran.out
    path = saved(tmp_path, loop="y = Neg (t)")
    ran = command(capsys, "diff", path, "--inputs", tmp_path / "given.npz", "--against", "openvino", "--json")
    outputs = json.loads(ran.out)["comparisons"][-1]["outputs"]
    assert outputs["node"]["node"] == "product" and outputs["source"] is None
