"""ONNX Runtime's CPU provider, one thread. Runs inside the peer's process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import onnxruntime

from .child import OptionError
from .jobs import Job, OnnxJob


class Runtime:
    """What the child process serves."""

    version = str(onnxruntime.__version__)

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        settings(options)
        self.configuration: Mapping[str, str] = {
            "provider": "CPUExecutionProvider",
            "intra_op_num_threads": "1",
            "use_deterministic_compute": "True",
            **options,
        }

    def open(self, job: Job) -> Session:
        """Load a model."""
        if not isinstance(job, OnnxJob):
            raise TypeError("onnxruntime reads ONNX models only")
        return Session(job, self._options)


class Session:
    """A loaded model."""

    def __init__(self, job: OnnxJob, given: Mapping[str, str]) -> None:
        options = settings(given)
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


def settings(given: Mapping[str, str]) -> Any:
    """The options of a session: ours, and those that are given: attributes of SessionOptions, or configuration entries,
    which have a dot in their names.

    Raises:
        OptionError: it has no such attribute, or not with that value.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    for name, value in given.items():
        if "." in name:
            options.add_session_config_entry(name, value)
            continue
        now = getattr(options, name, None)
        if name.startswith("_") or now is None or callable(now):
            raise OptionError(f"onnxruntime's SessionOptions have no '{name}'; entries such as session.x have a dot")
        kind = type(now)
        members = getattr(kind, "__members__", {})
        try:
            setattr(
                options, name, members[value] if members else kind(int(value)) if kind in (int, bool) else kind(value)
            )
        except (KeyError, ValueError, TypeError):
            told = f"; it takes {', '.join(members)}" if members else ""
            raise OptionError(f"'{name}' of onnxruntime's SessionOptions cannot be '{value}'{told}") from None
    return options


def serialized(path: str) -> bytes:
    """A model in one of ONNX's text forms, as protobuf."""
    import onnx

    suffix = os.path.splitext(path)[1].lower()
    form = onnx.serialization.registry.get_format_from_file_extension(suffix) or "protobuf"
    data: bytes = onnx.load(path, format=form).SerializeToString()
    return data
