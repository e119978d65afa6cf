"""loopdbg: a debugger for the loops inside neural-network models.

import loopdbg

model = loopdbg.load("model.xml")                  # .inputs, .outputs, .loops
outputs = model.run({"x": x})                      # name -> array
session = loopdbg.debug("model.xml", {"x": x})     # stopped before iteration 0 of the first loop
session.step()
session.frame.carried["h"]
print(session.why())
"""

from __future__ import annotations

# No imports here, not even typing: the command line imports this module before it handles Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .debugger.compare.api import Diff, FirstDifference, LoopDifference, diff
    from .debugger.compare.report.findings import Verdict
    from .debugger.coverage.points import CoveragePoint
    from .debugger.coverage.report import Coverage
    from .debugger.describe.explain import Explanation
    from .debugger.diagnostics.report import Diagnosis, Diagnostic
    from .debugger.frontends.notebook.api import widget
    from .debugger.input_space.strategy import inputs
    from .debugger.optimization.report import Optimizations
    from .debugger.plot_api import plot
    from .debugger.precision.report import Precision
    from .debugger.profiling.profile import Profile
    from .debugger.reference.recorder import ReferenceRecorder, record_reference
    from .debugger.reference.reference import Reference, Track
    from .debugger.session.session import Reason, Session, Stop, debug
    from .debugger.sweep.row import Row, Status
    from .debugger.sweep.sweep import sweep
    from .debugger.termination.explanation import Why
    from .debugger.trace.reader import Trace
    from .debugger.trace.recorder import Recorder
    from .debugger.trace.replay import Replay
    from .runtime.errors import (
        ExecutionError,
        InputError,
        InternalError,
        InterruptError,
        LimitError,
        LoopdbgError,
        ModelError,
        OutOfMemoryError,
        TraceError,
        UnsupportedError,
        UsageError,
    )
    from .runtime.frame import CarriedValue, Frame
    from .runtime.graph import OptionalType, SequenceType, StoppedBy, TensorType
    from .runtime.model import LoopNode, LoopTotals, Model, Port, Run, load
    from .runtime.ops.user_operators import operator

__version__ = "0.1.0"

__all__ = [
    "CarriedValue",
    "Coverage",
    "CoveragePoint",
    "Diagnosis",
    "Diagnostic",
    "Diff",
    "ExecutionError",
    "Explanation",
    "FirstDifference",
    "Frame",
    "InputError",
    "InternalError",
    "InterruptError",
    "LimitError",
    "LoopDifference",
    "LoopNode",
    "LoopTotals",
    "LoopdbgError",
    "Model",
    "ModelError",
    "Optimizations",
    "OptionalType",
    "OutOfMemoryError",
    "Port",
    "Precision",
    "Profile",
    "Reason",
    "Recorder",
    "Reference",
    "ReferenceRecorder",
    "Replay",
    "Row",
    "Run",
    "SequenceType",
    "Session",
    "Status",
    "Stop",
    "StoppedBy",
    "TensorType",
    "Trace",
    "TraceError",
    "Track",
    "UnsupportedError",
    "UsageError",
    "Verdict",
    "Why",
    "__version__",
    "debug",
    "diff",
    "inputs",
    "load",
    "operator",
    "plot",
    "record_reference",
    "sweep",
    "widget",
]

# Names are imported on first use: the command line imports this module as well, and commands such as --help should not
# pay for all of it.
_MODULE_OF_NAME = {
    "debugger.frontends.notebook.api": ("widget",),
    "debugger.compare.api": ("Diff", "FirstDifference", "LoopDifference", "diff"),
    "debugger.compare.report.findings": ("Verdict",),
    "debugger.coverage.points": ("CoveragePoint",),
    "debugger.coverage.report": ("Coverage",),
    "debugger.input_space.strategy": ("inputs",),
    "debugger.plot_api": ("plot",),
    "debugger.diagnostics.report": ("Diagnosis", "Diagnostic"),
    "debugger.trace.replay": ("Replay",),
    "debugger.optimization.report": ("Optimizations",),
    "debugger.precision.report": ("Precision",),
    "debugger.profiling.profile": ("Profile",),
    "debugger.reference.recorder": ("ReferenceRecorder", "record_reference"),
    "debugger.reference.reference": ("Reference", "Track"),
    "debugger.session.session": ("Reason", "Session", "Stop", "debug"),
    "debugger.sweep.row": ("Row", "Status"),
    "debugger.sweep.sweep": ("sweep",),
    "debugger.trace.reader": ("Trace",),
    "debugger.trace.recorder": ("Recorder",),
    "debugger.termination.explanation": ("Why",),
    "debugger.describe.explain": ("Explanation",),
    "runtime.errors": (*(name for name in __all__ if name.endswith("Error")),),
    "runtime.frame": ("CarriedValue", "Frame"),
    "runtime.graph": ("OptionalType", "SequenceType", "StoppedBy", "TensorType"),
    "runtime.model": ("LoopNode", "LoopTotals", "Model", "Port", "Run", "load"),
    "runtime.ops.user_operators": ("operator",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULE_OF_NAME.items():
        if name in names:
            import importlib

            # Registers the plugins of models.
            importlib.import_module(f"{__name__}.debugger")
            value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
