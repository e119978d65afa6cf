"""What scripts derive from, or hand over, and nothing here calls: loggers apart."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .builder_enums import Severity as _Severity


class ILogger:
    """Where messages go."""

    Severity: ClassVar = _Severity
    INTERNAL_ERROR: ClassVar = _Severity.INTERNAL_ERROR
    ERROR: ClassVar = _Severity.ERROR
    WARNING: ClassVar = _Severity.WARNING
    INFO: ClassVar = _Severity.INFO
    VERBOSE: ClassVar = _Severity.VERBOSE

    def __init__(self) -> None:
        pass

    def log(self, severity: _Severity, msg: str) -> None:
        """A message."""


class Logger(ILogger):
    """Writes to stderr what is severe enough."""

    def __init__(self, min_severity: _Severity = _Severity.WARNING) -> None:
        super().__init__()
        self.min_severity = min_severity

    def log(self, severity: _Severity, msg: str) -> None:
        if severity <= self.min_severity:
            print(f"[TRT] [{_SEVERITY_LETTERS[severity]}] {msg}", file=sys.stderr)


_SEVERITY_LETTERS = dict(zip(_Severity, "FEWIV", strict=True))


class CallbackBase:
    """A class for scripts to derive from."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class IProgressMonitor(CallbackBase):
    """Told of the steps of a build."""


class IErrorRecorder(CallbackBase):
    """Told of errors."""


class IProfiler(CallbackBase):
    """Told how long layers take."""


class Profiler(IProfiler):
    """Prints that."""


class IOutputAllocator(CallbackBase):
    """Memory for outputs."""


class IDebugListener(CallbackBase):
    """Told of debug tensors."""


class IGpuAllocator(CallbackBase):
    """Memory of the GPU."""


class IGpuAsyncAllocator(CallbackBase):
    """The same, in order of a stream."""


class IStreamReader(CallbackBase):
    """Where an engine is read from."""


class IStreamReaderV2(CallbackBase):
    """The same."""


class IStreamWriter(CallbackBase):
    """Where an engine is written to."""


class IInt8Calibrator(CallbackBase):
    """Gives a build batches to calibrate with; here layers compute in the types that they have."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """One way to do that."""


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """Another."""


class IInt8LegacyCalibrator(IInt8Calibrator):
    """Another."""


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """Another."""


class IAlgorithmSelector(CallbackBase):
    """Chooses among the kernels of a build."""


class IAlgorithm(CallbackBase):
    """One of these kernels."""


class IAlgorithmContext(CallbackBase):
    """What one is chosen for."""


class IAlgorithmIOInfo(CallbackBase):
    """What one reads or writes."""


class IAlgorithmVariant(CallbackBase):
    """Which one it is."""
