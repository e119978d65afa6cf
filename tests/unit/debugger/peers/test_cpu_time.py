"""The CPU time of a process, which distinguishes a hanging peer from one that is not scheduled."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from loopdbg.debugger.peers import process
from loopdbg.debugger.peers.cpu_usage import CpuUsage, cpu_usage
from loopdbg.debugger.peers.process import Peer

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells what a process had")


@pytest.fixture
def busy_process() -> Iterator[subprocess.Popen[bytes]]:
    result = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield result
    result.kill()
    result.wait()


def test_cpu_time_of_a_running_process(busy_process: subprocess.Popen[bytes]) -> None:
    while cpu_usage(busy_process.pid).seconds < 0.1:
        time.sleep(0.05)
    assert cpu_usage(busy_process.pid).is_runnable


def test_cpu_time_of_an_exited_process() -> None:
    result = subprocess.Popen([sys.executable, "-c", ""])
    result.wait()
    assert cpu_usage(result.pid) == CpuUsage()


def _query_cpu_time(monkeypatch: pytest.MonkeyPatch, process_: subprocess.Popen[bytes], *uses: CpuUsage) -> bool:
    result = iter(uses)
    monkeypatch.setattr(process, "cpu_usage", lambda pid: next(result))
    peer = Peer.__new__(Peer)
    peer.timeout, peer._process, peer._cpu_before_request = 3.0, process_, process.cpu_usage(0)
    return peer._is_starved()


@pytest.mark.parametrize(
    ("now", "waiting"),
    [(CpuUsage(5.5, True), True), (CpuUsage(8.0, True), False), (CpuUsage(5.0, False), False), (CpuUsage(), False)],
)
def test_only_runnable_processes_with_little_cpu_time_are_waited_for(monkeypatch, busy_process, now, waiting) -> None:
    assert _query_cpu_time(monkeypatch, busy_process, CpuUsage(5.0, True), now) is waiting
