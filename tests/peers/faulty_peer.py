"""A peer for tests: ONNX Runtime with an intentional fault, selected by its name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from loopdbg.debugger.peers.jobs import Job, OnnxJob, RuntimeSetup
from loopdbg.debugger.peers.onnxruntime import OnnxRuntimeModel, select_providers

#: The fault that the environment requests: at which run of a model, and which one.
FAULT_KIND = os.environ.get("LOOPDBG_TEST_PEER", "")
FAULTY_RUN_NUMBER = int(os.environ.get("LOOPDBG_TEST_PEER_AT", "2"))


class FaultyPeer:
    """The object that the child process serves."""

    version = "0"

    def __init__(self, setup: RuntimeSetup) -> None:
        self.configuration = dict(setup.options)
        self.usual_precision = ""

    def open(self, job: Job) -> FaultyModel:
        """Load a model."""
        assert isinstance(job, OnnxJob)
        if FAULT_KIND == "refuse":
            raise ValueError("no such operator")
        return FaultyModel(job)


class FaultyModel:
    """A loaded model."""

    def __init__(self, job: OnnxJob) -> None:
        self._session = OnnxRuntimeModel(job, RuntimeSetup(), select_providers(""))
        self._runs = 0

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, or the requested fault."""
        self._runs += 1
        if self._runs > FAULTY_RUN_NUMBER:
            if FAULT_KIND == "crash" or (FAULT_KIND == "wrong, then crash" and self._runs > 1):
                os.kill(os.getpid(), signal.SIGSEGV)
            if FAULT_KIND == "exit":
                print("giving up", flush=True)
                os._exit(3)
            if FAULT_KIND == "hang":
                time.sleep(3600)
            while FAULT_KIND == "spin":
                pass
            if FAULT_KIND == "fail":
                raise RuntimeError("bad\nluck")
            if FAULT_KIND == "shaky":
                return [out * (1 + self._runs) if out.dtype.kind == "f" else out for out in self._session.run(feeds)]
            if FAULT_KIND.startswith("wrong"):
                return [out * 2 if out.dtype.kind == "f" else out for out in self._session.run(feeds)]
        return self._session.run(feeds)


RUNTIME = FaultyPeer
