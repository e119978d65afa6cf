"""A peer for tests that starts a child process, and then hangs or crashes. Both processes hold a pipe open."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from loopdbg.debugger.peers.jobs import Job, RuntimeSetup


class SpawningPeer:
    """The object that the child process serves."""

    version = "0"

    def __init__(self, setup: RuntimeSetup) -> None:
        self.configuration = dict(setup.options)
        self.usual_precision = ""

    def open(self, job: Job) -> SpawningModel:
        """Load nothing."""
        return SpawningModel()


class SpawningModel:
    """A loaded model."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Start a process that waits, and then wait or crash."""
        held = os.open(os.environ["LOOPDBG_TEST_PEER_HELD"], os.O_WRONLY)
        if not os.fork():
            time.sleep(600)
        os.write(held, b"running")
        if os.environ["LOOPDBG_TEST_PEER"] == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(600)
        return []


RUNTIME = SpawningPeer
