"""Interfaces that scripts implement or pass, plugins among them; only loggers are called."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .enums import PluginFieldType
from .enums import Severity as _Severity


class ILogger:
    """Receives messages."""

    Severity: ClassVar = _Severity
    INTERNAL_ERROR: ClassVar = _Severity.INTERNAL_ERROR
    ERROR: ClassVar = _Severity.ERROR
    WARNING: ClassVar = _Severity.WARNING
    INFO: ClassVar = _Severity.INFO
    VERBOSE: ClassVar = _Severity.VERBOSE

    def __init__(self) -> None:
        pass

    def log(self, severity: _Severity, msg: str) -> None:
        """Receive a message."""


class Logger(ILogger):
    """Writes messages from a minimal severity on to stderr."""

    def __init__(self, min_severity: _Severity = _Severity.WARNING) -> None:
        super().__init__()
        self.min_severity = min_severity

    def log(self, severity: _Severity, msg: str) -> None:
        if severity <= self.min_severity:
            print(f"[TRT] [{_SEVERITY_LETTERS[severity]}] {msg}", file=sys.stderr)


_SEVERITY_LETTERS = dict(zip(_Severity, "FEWIV", strict=True))


class CallbackBase:
    """Base class for implementations by scripts."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class IPluginCreator(CallbackBase):
    """Creates a plugin of an older API version."""

    def create_plugin(self, name: str, field_collection: Any) -> None:
        """Implemented by a script's creator."""


class IPluginCreatorV3One(CallbackBase):
    """Creates a plugin."""

    def create_plugin(self, name: str, field_collection: Any, phase: Any) -> None:
        """Implemented by a script's creator."""


class PluginField:
    """A named parameter of a plugin."""

    def __init__(self, name: str = "", data: Any = None, type: PluginFieldType = PluginFieldType.UNKNOWN) -> None:
        self.name, self.data, self.type = name, data, type

    size = property(lambda self: 0 if self.data is None else len(self.data))


class PluginFieldCollection(list[PluginField]):
    """The parameters of a plugin."""


#: Interfaces without methods of their own: the name, the base, the docstring.
_INTERFACES = (
    ("IProgressMonitor", "", "Receives the steps of a build."),
    ("IErrorRecorder", "", "Receives errors."),
    ("IProfiler", "", "Receives the run times of layers."),
    ("Profiler", "IProfiler", "Prints run times."),
    ("IOutputAllocator", "", "Allocates memory for outputs."),
    ("IDebugListener", "", "Receives debug tensors."),
    ("IGpuAllocator", "", "Allocates memory of the GPU."),
    ("IGpuAsyncAllocator", "", "Allocates memory of the GPU in stream order."),
    ("IStreamReader", "", "Reads a serialized engine."),
    ("IStreamReaderV2", "", "Reads a serialized engine, version 2."),
    ("IStreamWriter", "", "Writes a serialized engine."),
    ("IInt8Calibrator", "", "Supplies calibration batches; ignored here, as layers keep their types."),
    ("IInt8EntropyCalibrator", "IInt8Calibrator", "Entropy calibration, version 1."),
    ("IInt8EntropyCalibrator2", "IInt8Calibrator", "Entropy calibration, version 2."),
    ("IInt8LegacyCalibrator", "IInt8Calibrator", "Legacy calibration."),
    ("IInt8MinMaxCalibrator", "IInt8Calibrator", "Min-max calibration."),
    ("IAlgorithmSelector", "", "Selects the kernels of a build."),
    ("IAlgorithm", "", "A kernel."),
    ("IAlgorithmContext", "", "The context in which a kernel is selected."),
    ("IAlgorithmIOInfo", "", "An input or output of a kernel."),
    ("IAlgorithmVariant", "", "A kernel's implementation and tactic."),
    ("IPluginCapability", "", "A capability of a plugin."),
    ("IPluginV2", "", "A plugin of the oldest API version."),
    ("IPluginV2DynamicExt", "IPluginV2", "A plugin of an older API version."),
    ("IPluginV3", "", "A plugin."),
    ("IPluginV3OneCore", "IPluginCapability", "The core capability of a plugin."),
    ("IPluginV3OneBuild", "IPluginCapability", "The build capability of a plugin."),
    ("IPluginV3OneRuntime", "IPluginCapability", "The runtime capability of a plugin."),
    ("IPluginResourceContext", "", "The resources of an engine for a plugin."),
    ("IExprBuilder", "", "Builds expressions for the sizes of a plugin's outputs."),
    ("DimsExprs", "", "A shape of such expressions."),
    ("PluginTensorDesc", "", "The description of a tensor for a plugin."),
    ("DynamicPluginTensorDesc", "", "The description of a tensor, with bounds."),
)
for _name, _base, _doc in _INTERFACES:
    _bases = (globals()[_base or "CallbackBase"],)
    globals()[_name] = type(_name, _bases, {"__doc__": _doc, "__module__": __name__})
