"""Memory ends at one place after the other: the error is MemoryError or one of ours, and what comes after is as ever.

An engine whose run began without memory was running for ever; a node half bound ended the process; a shape half noted
returned a value that was too long, with foreign memory behind it. A recording whose thread ran out of memory counted as
complete.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import loopdbg
from allocation_failures import INPUTS, MODEL_TEXTS, AllocationFailureRunner
from cli_runner import save_text_model, start_python, wait_for_exit
from loopdbg.debugger.trace.reader import Trace
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from text_models import SUM

#: Let a recording go: they make sure of that by their last lines, and a line that cannot be run is none of them.
ENDS = {"__enter__", "__exit__", "close"}
#: Every how-manieth line of a recording, which takes a tenth of a second.
STRIDE = 29


@pytest.mark.parametrize("name", MODEL_TEXTS)
def test_allocations(name: str) -> None:
    """Of Python and NumPy, in a process of its own."""
    pytest.importorskip("_testcapi")
    ran = wait_for_exit(start_python(Path(__file__).parents[1] / "support" / "allocation_failures.py", name, 1, 3), 300)
    assert ran.status == 0, ran.err[-2000:]
    wrong = [line for line in ran.out.splitlines() if not line.endswith("allocations failed")]
    assert not wrong
    assert len(ran.out.splitlines()) == 6


class FailingLines:
    """One line of the files in a folder of the package cannot be run, of whatever thread."""

    def __init__(self, folder: str, number: int) -> None:
        self.folder, self.number, self.seen = folder, number, 0
        self.function = ""
        self.lock = threading.Lock()

    def __enter__(self) -> FailingLines:
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        file, function = frame.f_code.co_filename, frame.f_code.co_name
        if f"{os.sep}debugger{os.sep}{self.folder}{os.sep}" not in file:
            return None
        # Python runs the line of a with block again to leave it, and that of a try block asks for nothing.
        if event != "line" or linecache.getline(file, frame.f_lineno).lstrip().startswith(("with ", "try:")):
            return self.trace
        with self.lock:
            self.seen += 1
            fails = self.seen == self.number
        if fails:
            self.function = function
            raise MemoryError("there is none")
        return self.trace


def run_without_line(lines: FailingLines, act: Callable[[], object]) -> BaseException | None:
    try:
        with lines:
            act()
    except (MemoryError, loopdbg.LoopdbgError) as error:
        return error
    return None


@pytest.mark.parametrize("name", ["step", "back", "goto", "continue_", "set"])
def test_lines_of_a_session(name: str) -> None:
    scarce = AllocationFailureRunner("scalar")
    act = scarce.session_actions()[name]
    number = 0
    while True:
        number += 1
        session, lines = scarce.stopped_session(), FailingLines("session", number)
        error = run_without_line(lines, lambda session=session: act(session))  # type: ignore[misc]
        if lines.seen < number:
            break
        assert not scarce.find_fault(session, error), (number, lines.function)
    assert number > 50


# Of what a __del__ raises Python tells as a warning.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_lines_of_a_recording(tmp_path: Path) -> None:
    model, inputs = loopdbg.load(save_text_model(tmp_path, SUM)), {"M": 12, "v0": 1.0}

    def record(path: Path) -> None:
        with Recorder(path, model, inputs, RecordOptions(force=True)) as recorder:
            recorder.finish(model.execute(inputs, on_iteration=recorder))

    record(tmp_path / "first.loopdb")
    number = 0
    while True:
        number += STRIDE
        path, lines = tmp_path / f"{number}.loopdb", FailingLines("trace", number)
        error = run_without_line(lines, lambda path=path: record(path))  # type: ignore[misc]
        if lines.seen < number:
            break
        if path.exists():
            with Trace.open(path) as trace:
                count = len(list(trace.boundaries()))
                assert count == 13 or trace.ended != "end", (number, lines.function)
                assert error is not None or trace.ended == "end", (number, lines.function)
        if lines.function not in ENDS:
            record(path)
    assert number > 10 * STRIDE


def test_hook_that_failed_to_detach_gets_no_rows_of_later_runs(tmp_path: Path) -> None:
    """Its records stayed in the engine, and each later run filled them."""

    class FailingRecorder(Recorder):
        calls = 0

        def _pass_on_copied_rows(self) -> None:
            self.calls += 1
            super()._pass_on_copied_rows()

        def _detach_engine(self) -> None:
            raise MemoryError("there is none")

    model, inputs = loopdbg.load(save_text_model(tmp_path, SUM)), {"M": 12, "v0": 1.0}
    with pytest.raises(MemoryError), FailingRecorder(tmp_path / "failed.loopdb", model, inputs) as recorder:
        model.execute(inputs, on_iteration=recorder)
    calls = recorder.calls
    assert calls
    model.run(inputs)
    assert recorder.calls == calls


def test_the_outputs_are_those_of_the_model() -> None:
    """What the sweeps compare with is right."""
    for name in MODEL_TEXTS:
        outputs = AllocationFailureRunner(name).model.run(INPUTS)
        assert all(np.isfinite(value).all() for value in outputs.values())
    assert AllocationFailureRunner("sequence").model.run(INPUTS)["all"].tolist() == [2, 4, 8, 16]
