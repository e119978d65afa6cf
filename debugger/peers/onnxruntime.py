"""ONNX Runtime, one thread, on its CPU provider or another. Runs inside the peer's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnxruntime

from .child import OptionError
from .jobs import Job, OnnxJob, RuntimeSetup

#: What the names of execution providers end in.
_PROVIDER_SUFFIX = "ExecutionProvider"


class Runtime:
    """What the child process serves."""

    version = str(onnxruntime.__version__)

    def __init__(self, setup: RuntimeSetup) -> None:
        self._setup = setup
        session_options(setup)
        self._providers = select_providers(setup.device)
        self.configuration: Mapping[str, str] = {
            "provider": ", ".join(self._providers),
            "intra_op_num_threads": "1",
            "use_deterministic_compute": "True",
            **setup.options,
        }

    def open(self, job: Job) -> OnnxRuntimeModel:
        """Load a model."""
        if not isinstance(job, OnnxJob):
            raise TypeError("onnxruntime reads ONNX models only")
        return OnnxRuntimeModel(job, self._setup, self._providers)


class OnnxRuntimeModel:
    """A loaded model."""

    def __init__(self, job: OnnxJob, setup: RuntimeSetup, providers: Sequence[str]) -> None:
        options = session_options(setup)
        if job.disable_optimizations:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # A path keeps external data in reach.
        self._session = onnxruntime.InferenceSession(job.data or job.path, options, providers=providers)

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, in order."""
        # A shape may have been folded into the model, and with it the input.
        known = {port.name for port in self._session.get_inputs()}
        known |= {port.name for port in self._session.get_overridable_initializers()}
        return list(self._session.run(None, {name: value for name, value in feeds.items() if name in known}))


def select_providers(device: str) -> list[str]:
    """The execution providers of a session: the one that is asked for, and the CPU's for what that does not compute.

    Raises:
        OptionError: this onnxruntime does not have it.
    """
    there = onnxruntime.get_available_providers()
    wanted = (device or "CPU").lower().removesuffix(_PROVIDER_SUFFIX.lower())
    found = next((name for name in there if name.lower().removesuffix(_PROVIDER_SUFFIX.lower()) == wanted), None)
    if found is None:
        names = ", ".join(name.removesuffix(_PROVIDER_SUFFIX) for name in there)
        raise OptionError(f"onnxruntime {onnxruntime.__version__} has no provider '{device}' here; it has {names}")
    return list(dict.fromkeys([found, f"CPU{_PROVIDER_SUFFIX}"]))


def session_options(setup: RuntimeSetup) -> Any:
    """The options of a session: ours, and those that are given: attributes of SessionOptions, or configuration entries,
    which have a dot in their names; with the libraries that are given.

    Raises:
        OptionError: it has no such attribute, or not with that value; a library that it cannot load.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    for library in setup.libraries:
        try:
            options.register_custom_ops_library(library)
        except Exception as error:
            raise OptionError(f"onnxruntime cannot load the operators of {library}: {error}") from None
    for name, value in setup.options.items():
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
