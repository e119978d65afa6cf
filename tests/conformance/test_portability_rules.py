"""What the rules of ``check`` say of onnxruntime and OpenVINO, shown with the runtimes themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

import loopdbg
from loopdbg.debugger.peer_trials.check_model import check_by_rules
from loopdbg.debugger.peer_trials.target_report import tried_target_report
from loopdbg.debugger.peer_trials.trial import try_model
from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from loopdbg.debugger.portability.known_differences import KNOWN_DIFFERENCES, ONNXRUNTIME, OPENVINO, TargetVerdict
from portability_models import RULE_CASES, SOUND_CASES, RuleCase

#: Rules whose runtime hangs or crashes: tests/conformance/test_diff_against.py has them.
_ENDS_BADLY = {"B14", "B17"}
#: Not seen in a comparison: a size that is not the example's, and float64, which is compared as float32.
_NOT_SEEN = {"B60", "B29"}
_RUNTIMES = (ONNXRUNTIME, OPENVINO)


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, Peer]]:
    peers = {name: Peer(name) for name in _RUNTIMES}
    yield peers
    for peer in peers.values():
        peer.close()


def _save(case: RuleCase, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(case.model, path)
    return path


def _loads(peer: Peer, path: Path) -> bool:
    try:
        peer.open(OnnxJob(path=str(path))).close()
    except PeerError as error:
        assert error.kind == "failed", error
        return False
    return True


@pytest.mark.parametrize("case", [case for case in RULE_CASES if case.runs], ids=lambda case: case.name)
def test_runtimes_do_what_the_rules_say(peers: dict[str, Peer], tmp_path: Path, case: RuleCase) -> None:
    model = loopdbg.load(_save(case, tmp_path))
    for report in check_by_rules(model, _RUNTIMES):
        peer = peers[report.target]
        if case.rule in _ENDS_BADLY:
            assert (
                report.verdict is not TargetVerdict.FINE
                or KNOWN_DIFFERENCES[case.rule].verdicts.get(report.target) is None
            )
            continue
        trial = try_model(model, case.inputs, peer)
        tried = tried_target_report(report.target, report.findings, [trial])
        assert tried.contradictions == (), (report.target, trial)
        if report.verdict is TargetVerdict.DOES_NOT_LOAD:
            assert trial.loads is False
        elif report.verdict is TargetVerdict.DIFFERS and case.rule not in _NOT_SEEN:
            assert trial.alike is not True, report.findings


@pytest.mark.parametrize("case", SOUND_CASES, ids=lambda case: case.name)
def test_sound_models_run_alike(peers: dict[str, Peer], tmp_path: Path, case: RuleCase) -> None:
    model = loopdbg.load(_save(case, tmp_path))
    for target in _RUNTIMES:
        trial = try_model(model, case.inputs, peers[target])
        assert (trial.loads, trial.alike) == (True, True), trial


def test_frozen_size_fails_for_other_sizes(peers: dict[str, Peer], tmp_path: Path) -> None:
    case = next(case for case in RULE_CASES if case.name == "a Reshape to the example's length")
    path = _save(case, tmp_path)
    assert _loads(peers[ONNXRUNTIME], path)
    loaded = peers[ONNXRUNTIME].open(OnnxJob(path=str(path)))
    with pytest.raises(PeerError):
        loaded.run({"x": case.inputs["x"][:2]})
