"""What a process had of a processor, which tells a peer that hangs from one that waits for its turn."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from loopdbg.debugger.peers import process
from loopdbg.debugger.peers.process import Peer
from loopdbg.debugger.peers.processor import Use, use_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process had")


@pytest.fixture
def spinning() -> Iterator[subprocess.Popen[bytes]]:
    made = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield made
    made.kill()
    made.wait()


def test_a_process_that_runs(spinning: subprocess.Popen[bytes]) -> None:
    while use_of(spinning.pid).seconds < 0.1:
        time.sleep(0.05)
    assert use_of(spinning.pid).runs


def test_a_process_that_is_gone() -> None:
    made = subprocess.Popen([sys.executable, "-c", ""])
    made.wait()
    assert use_of(made.pid) == Use()


def _asked(monkeypatch: pytest.MonkeyPatch, process_: subprocess.Popen[bytes], *uses: Use) -> bool:
    found = iter(uses)
    monkeypatch.setattr(process, "use_of", lambda pid: next(found))
    peer = Peer.__new__(Peer)
    peer.timeout, peer._process, peer._before = 3.0, process_, process.use_of(0)
    return peer._is_kept_waiting()


@pytest.mark.parametrize(
    ("now", "waiting"),
    [(Use(5.5, True), True), (Use(8.0, True), False), (Use(5.0, False), False), (Use(), False)],
)
def test_only_who_would_run_and_had_little_is_waited_for(monkeypatch, spinning, now, waiting) -> None:
    assert _asked(monkeypatch, spinning, Use(5.0, True), now) is waiting
