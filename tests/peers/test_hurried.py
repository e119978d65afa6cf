"""A peer that is hurried: given up by what it had of a processor, measured by the answers that it gave before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError
from models import SAMPLES

PATIENCE = 300


@pytest.fixture
def spinning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A runtime that computes without an end in its third run."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("LOOPDBG_TEST_PEER", "spin")
    with Peer("onnxruntime", PATIENCE, module="misbehaving") as peer:
        yield peer


def test_it_is_given_up_by_what_its_answers_took(spinning: Peer) -> None:
    path = SAMPLES / "newton_sqrt.onnx"
    with np.load(path.with_suffix(".inputs.npz")) as archive:
        feeds = dict(archive)
    loaded = spinning.open(OnnxJob(str(path)))
    with spinning.hurried():
        for _ in range(2):
            assert loaded.run(feeds)
        with pytest.raises(PeerError, match=r"no answer within 0\.25 s of a processor") as raised:
            loaded.run(feeds)
    assert raised.value.what == "hung"


def test_before_its_first_answer_it_may_take_what_its_timeout_asks_for(spinning: Peer) -> None:
    assert spinning._patience("run") == PATIENCE / 2
    spinning._longest["run"] = 1.5
    assert spinning._patience("run") == 7.5
