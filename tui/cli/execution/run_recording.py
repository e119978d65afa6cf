"""``--record`` and ``--resume``: recording a run as a trace, and resuming it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ....runtime.engine.engine import Engine
from ....runtime.errors import LoopdbgError, TraceError, UsageError
from ....runtime.frame import Frame
from ....runtime.model import Data, Model, Run
from ....runtime.text import group_digits, plural, size_text
from .. import terminal
from ..remedies import error_text

if TYPE_CHECKING:
    from ....debugger.trace.recorder import Recorder


def check_record_options(options: argparse.Namespace) -> None:
    """Check the options before a model is loaded.

    Raises:
        UsageError: An option needs another one, or the file cannot be written.
    """
    if options.resume is not None:
        _check_resume_options(options)
        return
    if options.record is None:
        for option in _RECORD_OPTIONS:
            if getattr(options, option):
                raise UsageError(f"{_option_flag(option)} needs --record FILE")
        return
    from ....debugger.trace.writer import check_target

    check_target(options.record, force=options.force)


_RECORD_OPTIONS = ("record_nodes", "every", "only", "force")


def _option_flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _check_resume_options(options: argparse.Namespace) -> None:
    for option in ("input", "inputs", "seed", "dim"):
        if getattr(options, option) not in (None, []):
            raise UsageError(f"{_option_flag(option)}: --resume goes on with the inputs of the recorded run")
    for option in _RECORD_OPTIONS:
        if getattr(options, option):
            raise UsageError(f"{_option_flag(option)}: --resume goes on as the run was recorded")
    if options.record is not None and options.record.absolute() != options.resume.absolute():
        raise UsageError(
            f"--record {options.record}: with --resume the run is recorded on in {options.resume}, or not at all"
        )


class ResumedRun:
    """The resume point of a recorded run.

    Raises:
        TraceError: The file is no trace, or damaged.
        UsageError: The trace is of another model, or its run is complete.
    """

    def __init__(self, path: Path, model: Model) -> None:
        from ....debugger.trace.resume import find_resume_point
        from ....debugger.trace.trace_store import TraceStore

        self._trace = TraceStore.open(path)
        self.inputs = self._trace.inputs
        self.position = find_resume_point(self._trace, model)

    def restore(self, engine: Engine) -> None:
        """Restore the state of an engine at the resume point."""
        from ....debugger.trace.resume import restore_engine

        restore_engine(engine, self.position, self._trace)

    @property
    def note(self) -> str:
        """The source of the inputs, and the resume position."""
        return f"from {self._trace.path}, whose run goes on at {self.position.label}"

    def close(self) -> None:
        """Close the file."""
        self._trace.close()


class RunRecording:
    """Records a run with ``--record``; otherwise ``boundary_callback`` is None.

    A write error is reported at once and sets ``failed``; the run continues.
    """

    def __init__(
        self, options: argparse.Namespace, model: Model, inputs: Mapping[str, Data], resumed: ResumedRun | None = None
    ) -> None:
        self.failed = False
        self._recorder: Recorder | None = None
        self._summary: dict[str, Any] = {}
        if options.record is None:
            return
        from ....debugger.trace.recorder import Recorder, RecordOptions, ResumedRecorder

        if resumed is not None:
            self._recorder = ResumedRecorder(options.record, model, resumed.position, self._report_failure)
            return
        names = None if options.only is None else [name for name in options.only.split(",") if name]
        record_options = RecordOptions(options.record_nodes, options.every or 1, names, options.force)
        self._recorder = Recorder(options.record, model, inputs, record_options, self._report_failure)

    @property
    def boundary_callback(self) -> Callable[[Frame], object] | None:
        """The callback at every boundary."""
        return self._recorder

    @property
    def summary(self) -> Mapping[str, Any]:
        """``file``, ``boundaries`` and ``bytes`` of the recording; empty if there is none."""
        return self._summary

    @property
    def summary_line(self) -> str:
        """The summary as text."""
        count = self._summary["boundaries"]
        boundaries = f"{group_digits(count)} {plural(count, 'boundary', 'boundaries')}"
        return f"recorded {boundaries} in {self._summary['file']}, {size_text(self._summary['bytes'])}"

    def finish(self, run: Run) -> None:
        """Record the end of the run."""
        if self._recorder is not None:
            self._recorder.finish(run)

    def __enter__(self) -> RunRecording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        try:
            recorder.close("" if error is None else str(error) or type(error).__name__)
        except TraceError as problem:
            self._report_failure(problem)
        path = recorder.path
        # The write-ahead log remains if the disk is full or a reader has the file open.
        files = (path, path.with_name(f"{path.name}-wal"))
        size = sum(file.stat().st_size for file in files if file.exists())
        self._summary = {"file": str(path), "boundaries": recorder.recorded, "bytes": size}

    def _report_failure(self, error: LoopdbgError) -> None:
        if not self.failed:
            self.failed = True
            terminal.err(f"loopdbg: {error_text(error)}")
