"""loopdbg: a debugger for the loops inside neural-network models.

import loopdbg

model = loopdbg.load("model.xml")                  # .inputs, .outputs, .loops
outputs = model.run({"x": x})                      # name -> array
session = loopdbg.debug("model.xml", {"x": x})     # stopped before iteration 0 of the first loop
session.step()
session.frame.carried["h"]
"""

from .debugger.session import Reason, Session, Stop, debug
from .runtime.errors import (
    ExecutionError,
    InputError,
    InterruptError,
    LimitError,
    LoopdbgError,
    ModelError,
    UnsupportedError,
    UsageError,
)
from .runtime.frame import BackEdge, Frame
from .runtime.graph import OptionalType, SequenceType, StoppedBy, TensorType
from .runtime.model import LoopNode, LoopTotals, Model, Port, Run, load

__version__ = "0.1.0"

__all__ = [
    "BackEdge",
    "ExecutionError",
    "Frame",
    "InputError",
    "InterruptError",
    "LimitError",
    "LoopNode",
    "LoopTotals",
    "LoopdbgError",
    "Model",
    "ModelError",
    "OptionalType",
    "Port",
    "Reason",
    "Run",
    "SequenceType",
    "Session",
    "Stop",
    "StoppedBy",
    "TensorType",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "debug",
    "load",
]
