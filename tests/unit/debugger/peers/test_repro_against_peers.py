"""Findings against live runtimes, reduced: the remaining model, and the output of its scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from faults_amid_other_code import FAULTS, ReproFault
from loopdbg.debugger.compare.running.value_comparison import Tolerance
from loopdbg.debugger.peers.process import Peer
from loopdbg.debugger.reduce import initial_candidate
from loopdbg.debugger.reduce.repro.repro import Repro, make_repro
from loopdbg.debugger.reduce.repro.repro_report import FindingSource
from text_models import SAMPLES, proto, sample

#: One of each kind: a value, a refusal, a shape, an operator, an IR. The others are run by
#: ``python tests/support/faults_amid_other_code.py``.
FAULT_NAMES = ("iteration_number", "omitted_output", "no_condition", "softmax", "relu_of_nan")
PEER_TIMEOUT_SECONDS = 300


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    with Peer("onnxruntime", PEER_TIMEOUT_SECONDS) as onnxruntime, Peer("openvino", PEER_TIMEOUT_SECONDS) as openvino:
        yield {"onnxruntime": onnxruntime, "openvino": openvino}


def write_repro(fault: ReproFault, folder: Path, peer: Peer) -> Repro:
    path = Path(fault.write(folder)[0])
    with np.load(path.with_suffix(".inputs.npz")) as file:
        finding = initial_candidate.find_peer_disagreement(loopdbg.load(path), dict(file), peer, Tolerance())
    return make_repro(finding, FindingSource([path.name], peer.name, peer.version, peer.configuration), folder / "pack")


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.name in FAULT_NAMES], ids=lambda fault: fault.name
)
def test_only_the_fault_remains(tmp_path: Path, peers: dict[str, Peer], fault: ReproFault) -> None:
    result = write_repro(fault, tmp_path, peers[fault.runtime])
    assert result.confirmed and result.reduced.end_reason == "smallest"
    assert result.reduced.candidate.node_count <= fault.max_remaining_nodes < result.finding.original_node_count
    # Without its data the model is about 1 KB.
    assert result.output.nbytes < 1024
    (script,) = (run for run in result.output.script_runs if run.script == f"run_{fault.runtime}.py")
    assert script.status == 1 or script.status < 0, script
    page = (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")
    assert f"{fault.runtime} {peers[fault.runtime].version}" in page.splitlines()[0]
    assert str(tmp_path) not in page and "## Expected" in page


def test_agreeing_runtimes_are_no_finding(peers: dict[str, Peer]) -> None:
    with pytest.raises(initial_candidate.NothingFoundError, match="onnxruntime gives the same within the tolerance"):
        initial_candidate.find_peer_disagreement(*sample("newton_sqrt.onnx"), peers["onnxruntime"], Tolerance())


def test_difference_only_inside_a_loop_is_found(tmp_path: Path, peers: dict[str, Peer]) -> None:
    """The outputs are equal: a carried value differs, and is dropped before the end."""
    text = """
g (float[2,3] a, float zero) => (float[2,3] y) <int64 n = {4}> {
  y, other = Loop (n, , a, zero) <body = body (int64 i, bool c, float[2,3] h, float o)
      => (bool keep, float[2,3] h_new, float largest) {
    keep = Identity (c)
    nothing = Sub (h, h)
    unknown = Div (nothing, nothing)
    some = Concat <axis = 0> (h, unknown)
    largest = ReduceMax <keepdims = 0> (some)
    h_new = Neg (h)
  }>
}"""
    onnx.save(proto(text), tmp_path / "m.onnx")
    inputs = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "zero": np.float32(0)}
    finding = initial_candidate.find_peer_disagreement(
        loopdbg.load(tmp_path / "m.onnx"), inputs, peers["onnxruntime"], Tolerance()
    )
    result = make_repro(finding, FindingSource(["m.onnx"], "onnxruntime"), tmp_path / "pack")
    assert [step.op_type for step in result.reduced.candidate.documents[0].nodes()] == [
        "ReduceMax"
    ] and result.confirmed


def test_crash_is_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec("onnxruntime")  # which the faulty peer imports: skipped where it has no wheel
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3] / "peers"), prepend=os.pathsep)
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "crash")
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "0")
    with Peer("onnxruntime", PEER_TIMEOUT_SECONDS, module="faulty_peer") as bad:
        finding = initial_candidate.find_peer_disagreement(*sample("newton_sqrt.onnx"), bad, Tolerance())
        assert (finding.observation.kind, finding.observation.text) == ("crashed", "SIGSEGV")
        result = make_repro(finding, FindingSource(["newton_sqrt.onnx"], "onnxruntime", "0"), tmp_path / "pack", most=2)
    assert result.confirmed and result.reduced.tests == 2
    assert result.title == "onnxruntime 0 crashes"
    assert SAMPLES.name not in (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")
