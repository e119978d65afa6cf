"""What scripts derive from, or hand over, and nothing here calls: loggers apart."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

from .enums import Severity as _Severity


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


class _Callback:
    """A class for scripts to derive from."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class IProgressMonitor(_Callback):
    """Told of the steps of a build."""


class IErrorRecorder(_Callback):
    """Told of errors."""


class IProfiler(_Callback):
    """Told how long layers take."""


class Profiler(IProfiler):
    """Prints that."""


class IOutputAllocator(_Callback):
    """Memory for outputs."""


class IDebugListener(_Callback):
    """Told of debug tensors."""


class IGpuAllocator(_Callback):
    """Memory of the GPU."""


class IGpuAsyncAllocator(_Callback):
    """The same, in order of a stream."""


class IStreamReader(_Callback):
    """Where an engine is read from."""


class IStreamReaderV2(_Callback):
    """The same."""


class IStreamWriter(_Callback):
    """Where an engine is written to."""


class IPluginCreator(_Callback):
    """Makes a plugin."""


class IPluginCreatorV3One(_Callback):
    """Makes a plugin."""


class IPluginV3(_Callback):
    """A plugin; a class can be written, a layer of it cannot be added."""


class IPluginV2DynamicExt(_Callback):
    """The same, in its older form."""


class IPluginV3OneCore(_Callback):
    """Part of a plugin."""


class IPluginV3OneBuild(_Callback):
    """Part of a plugin."""


class IPluginV3OneRuntime(_Callback):
    """Part of a plugin."""
