"""A peer with an adaptive timeout: it is abandoned by its CPU time, relative to its earlier answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from text_models import SAMPLES

PEER_TIMEOUT_SECONDS = 300


@pytest.fixture
def endless_third_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A runtime whose third run never ends."""
    find_spec("onnxruntime")  # which the faulty peer imports: skipped where it has no wheel
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3] / "peers"), prepend=os.pathsep)
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "spin")
    with Peer("onnxruntime", PEER_TIMEOUT_SECONDS, module="faulty_peer") as peer:
        yield peer


def test_peer_timeout_follows_its_earlier_answers(endless_third_run: Peer) -> None:
    path = SAMPLES / "newton_sqrt.onnx"
    with np.load(path.with_suffix(".inputs.npz")) as archive:
        feeds = dict(archive)
    loaded = endless_third_run.open(OnnxJob(str(path)))
    with endless_third_run.shortened_timeout():
        for _ in range(2):
            assert loaded.run(feeds)
        with pytest.raises(PeerError, match=r"no answer within 0\.25 s of a processor") as raised:
            loaded.run(feeds)
    assert raised.value.kind == "hung"


def test_first_answer_may_take_the_whole_timeout(endless_third_run: Peer) -> None:
    assert endless_third_run._hurry_limit_seconds("run") == PEER_TIMEOUT_SECONDS / 2
    endless_third_run._longest_cpu_seconds["run"] = 1.5
    assert endless_third_run._hurry_limit_seconds("run") == 7.5
