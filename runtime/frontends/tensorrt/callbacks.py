"""Callback interfaces that scripts implement or pass; only loggers are called."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

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


class IProgressMonitor(CallbackBase):
    """Receives the steps of a build."""


class IErrorRecorder(CallbackBase):
    """Receives errors."""


class IProfiler(CallbackBase):
    """Receives the run times of layers."""


class Profiler(IProfiler):
    """Prints run times."""


class IOutputAllocator(CallbackBase):
    """Allocates memory for outputs."""


class IDebugListener(CallbackBase):
    """Receives debug tensors."""


class IGpuAllocator(CallbackBase):
    """Allocates memory of the GPU."""


class IGpuAsyncAllocator(CallbackBase):
    """Allocates memory of the GPU in stream order."""


class IStreamReader(CallbackBase):
    """Reads a serialized engine."""


class IStreamReaderV2(CallbackBase):
    """Reads a serialized engine, version 2."""


class IStreamWriter(CallbackBase):
    """Writes a serialized engine."""


class IInt8Calibrator(CallbackBase):
    """Supplies calibration batches; ignored here, as layers keep their types."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """Entropy calibration, version 1."""


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """Entropy calibration, version 2."""


class IInt8LegacyCalibrator(IInt8Calibrator):
    """Legacy calibration."""


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """Min-max calibration."""


class IAlgorithmSelector(CallbackBase):
    """Selects the kernels of a build."""


class IAlgorithm(CallbackBase):
    """A kernel."""


class IAlgorithmContext(CallbackBase):
    """The context in which a kernel is selected."""


class IAlgorithmIOInfo(CallbackBase):
    """An input or output of a kernel."""


class IAlgorithmVariant(CallbackBase):
    """A kernel's implementation and tactic."""
