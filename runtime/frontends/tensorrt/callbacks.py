"""What scripts derive from, or hand over, and nothing here calls: loggers apart."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .setting_enums import Severity as _Severity


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
            print(f"[TRT] [{_LETTERS[severity]}] {msg}", file=sys.stderr)


_LETTERS = dict(zip(_Severity, "FEWIV", strict=True))


class Callback:
    """A class for scripts to derive from."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class IProgressMonitor(Callback):
    """Told of the steps of a build."""


class IErrorRecorder(Callback):
    """Told of errors."""


class IProfiler(Callback):
    """Told how long layers take."""


class Profiler(IProfiler):
    """Prints that."""


class IOutputAllocator(Callback):
    """Memory for outputs."""


class IDebugListener(Callback):
    """Told of debug tensors."""


class IGpuAllocator(Callback):
    """Memory of the GPU."""


class IGpuAsyncAllocator(Callback):
    """The same, in order of a stream."""


class IStreamReader(Callback):
    """Where an engine is read from."""


class IStreamReaderV2(Callback):
    """The same."""


class IStreamWriter(Callback):
    """Where an engine is written to."""


class IInt8Calibrator(Callback):
    """Gives a build batches to calibrate with; here layers compute in the types that they have."""


class IInt8EntropyCalibrator(IInt8Calibrator):
    """One way to do that."""


class IInt8EntropyCalibrator2(IInt8Calibrator):
    """Another."""


class IInt8LegacyCalibrator(IInt8Calibrator):
    """Another."""


class IInt8MinMaxCalibrator(IInt8Calibrator):
    """Another."""


class IAlgorithmSelector(Callback):
    """Chooses among the kernels of a build."""


class IAlgorithm(Callback):
    """One of these kernels."""


class IAlgorithmContext(Callback):
    """What one is chosen for."""


class IAlgorithmIOInfo(Callback):
    """What one reads or writes."""


class IAlgorithmVariant(Callback):
    """Which one it is."""
