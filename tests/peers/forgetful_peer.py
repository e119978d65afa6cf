"""A peer for tests: OpenVINO without memory, whose variables have their initial values before each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopdbg.debugger.peers.jobs import Job
from loopdbg.debugger.peers.openvino import OpenVinoModel, OpenvinoRuntime


class ForgetfulModel(OpenVinoModel):
    """A loaded model."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, and the values of variables as they were before the run."""
        self._start_request_sequence({})
        return super().run(feeds)


class ForgetfulRuntime(OpenvinoRuntime):
    """The runtime that the child process serves."""

    def open(self, job: Job) -> OpenVinoModel:
        """Load a model."""
        compiled = super().open(job)
        return ForgetfulModel(compiled._model, job)


RUNTIME = ForgetfulRuntime
