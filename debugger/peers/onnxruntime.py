"""ONNX Runtime's CPU provider, one thread. Runs inside the peer's process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import onnxruntime

from .jobs import Job, OnnxJob


class Runtime:
    """What the child process serves."""

    version = str(onnxruntime.__version__)

    def open(self, job: Job) -> Session:
        """Load a model."""
        if not isinstance(job, OnnxJob):
            raise TypeError("onnxruntime reads ONNX models only")
        return Session(job)


class Session:
    """A loaded model."""

    def __init__(self, job: OnnxJob) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        if job.plain:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # A path keeps external data in reach; other forms than protobuf are known to onnx alone.
        model = job.data or (job.path if job.path.endswith((".onnx", ".pb")) else serialized(job.path))
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, in order."""
        # A shape may have been folded into the model, and with it the input.
        known = {port.name for port in self._session.get_inputs()}
        known |= {port.name for port in self._session.get_overridable_initializers()}
        return list(self._session.run(None, {name: value for name, value in feeds.items() if name in known}))


def serialized(path: str) -> bytes:
    """A model in one of ONNX's text forms, as protobuf."""
    import onnx

    suffix = os.path.splitext(path)[1].lower()
    form = onnx.serialization.registry.get_format_from_file_extension(suffix) or "protobuf"
    data: bytes = onnx.load(path, format=form).SerializeToString()
    return data
