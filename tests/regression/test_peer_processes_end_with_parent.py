"""Nothing of a peer is left once its program is gone, ended or killed: neither the peer nor what it started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli_runner import PACKAGE_PATH, start_python

ROOT = Path(__file__).parents[2]
#: Opens a model in a peer that hangs in its first run.
PROGRAM = """
import sys
sys.path[:0] = {path!r}
from loopdbg.debugger.peers.jobs import OnnxJob
from loopdbg.debugger.peers.process import Peer, PeerError

with Peer("onnxruntime", 200, module="spawning_peer") as peer:
    loaded = peer.open(OnnxJob())
    peer.timeout = {timeout}
    try:
        loaded.run({{}})
    except PeerError as error:
        print(error.kind)
"""


def start(fifo: Path, timeout: float, how: str) -> subprocess.Popen[str]:
    path = [str(PACKAGE_PATH), str(ROOT / "tests" / "peers")]
    environment = {"PYTHONPATH": os.pathsep.join(path), "LOOPDBG_TEST_PEER": how, "LOOPDBG_TEST_PEER_HELD": str(fifo)}
    return start_python("-c", PROGRAM.format(path=path, timeout=timeout), environment=environment, stderr=None)


def read_until(held: int, wanted: bytes, seconds: float) -> bytes:
    """What is written into the pipe; with nothing wanted until all who hold it are gone."""
    end, got = time.monotonic() + seconds, b""
    while time.monotonic() < end:
        if select.select([held], [], [], 0.1)[0]:
            part = os.read(held, 100)
            if not part and not wanted:
                return got
            got += part
            if wanted and wanted in got:
                return got
            if not part:
                time.sleep(0.05)  # no one has opened it yet
    raise AssertionError(f"after {seconds} s there is {got!r}")


@pytest.mark.parametrize(
    ("how", "timeout", "message"),
    [("hang", 200, None), ("hang", 1, "hung\n"), ("crash", 200, "crashed\n")],
    ids=["killed", "given up", "crashed"],
)
def test_nothing_is_left(tmp_path: Path, how: str, timeout: float, message: str | None) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    process = start(fifo, timeout, how)
    try:
        read_until(held, b"running", 200)
        if message is None:
            process.send_signal(signal.SIGKILL)
        assert process.communicate(timeout=200)[0] == (message or "")
        read_until(held, b"", 200)
    finally:
        process.kill()
        os.close(held)
