"""Findings against live runtimes, made small: the part that is left, and what its scripts say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import loopdbg
from faults import FAULTS, Fault
from loopdbg.debugger.cut import find
from loopdbg.debugger.cut.report import About
from loopdbg.debugger.cut.repro import Repro, make
from loopdbg.debugger.diff.values import Tolerance
from loopdbg.debugger.peers.process import Peer
from models import SAMPLES, proto, sample

#: Of each kind one: a value, a refusal, a shape, an operator, an IR. The others are run by ``python tests/faults.py``.
CHOSEN = ("iteration_number", "omitted_output", "no_condition", "softmax", "relu_of_nan")
PATIENCE = 300


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    with Peer("onnxruntime", PATIENCE) as onnxruntime, Peer("openvino", PATIENCE) as openvino:
        yield {"onnxruntime": onnxruntime, "openvino": openvino}


def made(fault: Fault, folder: Path, peer: Peer) -> Repro:
    path = Path(fault.write(folder)[0])
    with np.load(path.with_suffix(".inputs.npz")) as file:
        finding = find.against(loopdbg.load(path), dict(file), peer, Tolerance())
    return make(finding, About([path.name], peer.name, peer.version, peer.configuration), folder / "pack")


@pytest.mark.parametrize("fault", [one for one in FAULTS if one.name in CHOSEN], ids=lambda fault: fault.name)
def test_a_fault_is_left_alone(tmp_path: Path, peers: dict[str, Peer], fault: Fault) -> None:
    found = made(fault, tmp_path, peers[fault.runtime])
    assert found.confirmed and found.reduced.ended == "smallest"
    assert found.reduced.candidate.count <= fault.most < found.finding.nodes
    # Without its data the model is about 1 KB.
    assert found.pack.nbytes < 1024
    (script,) = (one for one in found.pack.ran if one.script == f"run_{fault.runtime}.py")
    assert script.shows, script
    page = (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")
    assert f"{fault.runtime} {peers[fault.runtime].version}" in page.splitlines()[0]
    assert str(tmp_path) not in page and "## Expected" in page


def test_where_runtimes_agree_there_is_nothing(peers: dict[str, Peer]) -> None:
    with pytest.raises(find.NothingFoundError, match="onnxruntime gives the same within the tolerance"):
        find.against(*sample("newton_sqrt.onnx"), peers["onnxruntime"], Tolerance())


def test_what_shows_only_inside_a_loop(tmp_path: Path, peers: dict[str, Peer]) -> None:
    """The outputs are the same: what differs is carried, and given up before the end."""
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
    given = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "zero": np.float32(0)}
    finding = find.against(loopdbg.load(tmp_path / "m.onnx"), given, peers["onnxruntime"], Tolerance())
    found = make(finding, About(["m.onnx"], "onnxruntime"), tmp_path / "pack")
    assert [step.op_type for step in found.reduced.candidate.documents[0].steps()] == ["ReduceMax"] and found.confirmed


def test_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "crash")
    monkeypatch.setenv("LOOPDBG_TEST_PEER_AT", "0")
    with Peer("onnxruntime", PATIENCE, module="misbehaving") as bad:
        finding = find.against(*sample("newton_sqrt.onnx"), bad, Tolerance())
        assert (finding.shown.kind, finding.shown.text) == ("crashed", "SIGSEGV")
        found = make(finding, About(["newton_sqrt.onnx"], "onnxruntime", "0"), tmp_path / "pack", most=2)
    assert found.confirmed and found.reduced.tests == 2
    assert found.title == "onnxruntime 0 crashes"
    assert SAMPLES.name not in (tmp_path / "pack" / "README.md").read_text(encoding="utf-8")
