"""ONNX Runtime with one thread, on its CPU provider or another. Runs in the peer's process."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import onnxruntime

from ...runtime.atomic_file import scratch_folder
from .child import OptionError
from .jobs import Job, NodeTime, OnnxJob, RuntimeSetup

#: Suffix of the names of execution providers.
_PROVIDER_SUFFIX = "ExecutionProvider"
#: End of the names of profiled events that are the computation of a node, and operators that only contain others.
_KERNEL_TIME, _CONTAINERS = "_kernel_time", ("If", "Loop", "Scan")

#: Sum products of bytes exactly also on processors where sums of pairs saturate.
_EXACT_CONFIG = {"session.x64quantprecision": "1"}


class OnnxRuntime:
    """The runtime that the child process serves."""

    version = str(onnxruntime.__version__)

    def __init__(self, setup: RuntimeSetup) -> None:
        self._setup = setup
        session_options(setup)
        self._providers = select_providers(setup.device)
        self.usual_precision = ""
        self.configuration: Mapping[str, str] = {
            "provider": ", ".join(self._providers),
            "intra_op_num_threads": "1",
            "use_deterministic_compute": "True",
            **_EXACT_CONFIG,
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
        self._scratch = ExitStack()
        self._is_measured = job.measure_nodes
        if job.measure_nodes:
            options.enable_profiling = True
            options.profile_file_prefix = os.fspath(self._scratch.enter_context(scratch_folder()) / "profile")
        # A path keeps external data accessible.
        self._session = onnxruntime.InferenceSession(job.data or job.path, options, providers=providers)

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, in order."""
        # A shape and with it the input may have been folded into the model.
        names = {port.name for port in self._session.get_inputs()}
        names |= {port.name for port in self._session.get_overridable_initializers()}
        return list(self._session.run(None, {name: value for name, value in feeds.items() if name in names}))

    def take_node_times(self) -> list[NodeTime]:
        """Return the times of the nodes, in subgraphs too: of each call the least of all runs but the first one, since
        other processes take time from some calls. Whole microseconds are counted for each call."""
        if not self._is_measured:
            return []
        with self._scratch:
            events = json.loads(Path(self._session.end_profiling()).read_text(encoding="utf-8"))
        starts = sorted(event["ts"] for event in events if event["name"] == "model_run")[1:]
        calls: dict[tuple[str, str], list[list[float]]] = defaultdict(lambda: [[] for _ in starts])
        for event in events:
            op_type = event.get("args", {}).get("op_name", "")
            if event["name"].endswith(_KERNEL_TIME) and op_type not in _CONTAINERS and event["ts"] >= starts[0]:
                run = bisect_right(starts, event["ts"]) - 1
                calls[event["name"].removesuffix(_KERNEL_TIME), op_type][run].append(event["dur"] * 1e-6)
        return [
            NodeTime(name, op_type, sum(map(min, zip(*runs, strict=False))), len(runs[0]))
            for (name, op_type), runs in calls.items()
        ]


def select_providers(device: str) -> list[str]:
    """Return the execution providers of a session: the requested one, then the CPU provider as a fallback.

    Raises:
        OptionError: this onnxruntime does not have the provider.
    """
    available = onnxruntime.get_available_providers()
    provider = (device or "CPU").lower().removesuffix(_PROVIDER_SUFFIX.lower())
    match = next((name for name in available if name.lower().removesuffix(_PROVIDER_SUFFIX.lower()) == provider), None)
    if match is None:
        names = ", ".join(name.removesuffix(_PROVIDER_SUFFIX) for name in available)
        raise OptionError(f"onnxruntime {onnxruntime.__version__} has no provider '{device}' here; it has {names}")
    return list(dict.fromkeys([match, f"CPU{_PROVIDER_SUFFIX}"]))


def session_options(setup: RuntimeSetup) -> Any:
    """Return the options of a session: defaults and given ones, as attributes of SessionOptions or, with a dot in the
    name, configuration entries; loads the given libraries.

    Raises:
        OptionError: unknown attribute or value, or a library that cannot be loaded.
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
    for name, value in (_EXACT_CONFIG | dict(setup.options)).items():
        if "." in name:
            options.add_session_config_entry(name, value)
            continue
        current = getattr(options, name, None)
        if name.startswith("_") or current is None or callable(current):
            raise OptionError(f"onnxruntime's SessionOptions have no '{name}'; entries such as session.x have a dot")
        kind = type(current)
        members = getattr(kind, "__members__", {})
        try:
            setattr(
                options, name, members[value] if members else kind(int(value)) if kind in (int, bool) else kind(value)
            )
        except (KeyError, ValueError, TypeError):
            choices = f"; it takes {', '.join(members)}" if members else ""
            raise OptionError(f"'{name}' of onnxruntime's SessionOptions cannot be '{value}'{choices}") from None
    return options


RUNTIME = OnnxRuntime
