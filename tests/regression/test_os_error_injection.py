"""Each call of the system while a model is loaded, recorded or read back fails once: that is one error of ours, or
none; no half of a trace is taken for the whole, and the next run records.

What the system says was raised as it is where a path could not be looked at, and where the model could not be read when
it was recorded; a recording that could not go on kept its lock."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import loopdbg
from cli_runner import save_text_model
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions, ResumedRecorder
from loopdbg.debugger.trace.resume import find_resume_point
from loopdbg.debugger.trace.trace_store import TraceStore
from text_models import SUM

from .test_file_changes_while_open import FORMS, Form

SYSTEM = {
    *("open", "stat", "lstat", "fstat", "replace", "rename", "unlink", "mkdir", "scandir", "listdir", "access"),
    *("readlink", "truncate", "lseek", "read", "write"),
}
FILES = {"FileIO", "BufferedReader", "BufferedWriter", "TextIOWrapper"}
DATABASES = {"Connection", "Cursor"}
INPUTS = {"M": 40, "v0": 1.0}


def error_of(function: Any) -> Exception | None:
    """What a function of the system may raise; None: it asks nothing of it."""
    kind, name = type(getattr(function, "__self__", None)).__name__, getattr(function, "__name__", "")
    module = getattr(function, "__module__", "")
    if (module == os.name or module == "posix") and name in SYSTEM:
        return OSError(errno.EIO, os.strerror(errno.EIO))
    if kind in FILES and name in ("read", "readinto", "write", "seek"):
        return OSError(errno.EIO, os.strerror(errno.EIO))
    if (kind in DATABASES and name.startswith(("execute", "fetch"))) or (module == "_sqlite3" and name == "connect"):
        return sqlite3.OperationalError("disk I/O error")
    return None


class FailingSystemCall:
    """One call fails, of whatever thread."""

    def __init__(self, number: int) -> None:
        self.number, self.seen = number, 0
        self.lock = threading.Lock()

    def __enter__(self) -> FailingSystemCall:
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def profile(self, frame: FrameType, event: str, function: Any) -> None:
        error = error_of(function) if event == "c_call" else None
        if error is None or imports(frame):
            return
        with self.lock:
            self.seen += 1
            fails = self.seen == self.number
        if fails:
            raise error


def imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported: what Python makes of an error there is its own."""
    while frame is not None:
        if "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def each_call(act: Callable[[], object]) -> Iterator[str | None]:
    """Do something again and again, with one failing call more each time: the error that it ended with, or None."""
    number, output = 0, None
    while True:
        number += 1
        output = None
        with FailingSystemCall(number) as failing:
            try:
                act()
            except loopdbg.LoopdbgError as error:
                output = str(error)
        if failing.seen < number:
            assert number > 5
            return
        if output is not None:
            assert "\n" not in output.strip()
        yield output


@pytest.mark.parametrize("form", FORMS)
def test_loading(tmp_path: Path, form: Form) -> None:
    path, _ = form(tmp_path)
    loopdbg.load(path)
    for item in each_call(lambda: loopdbg.load(path)):
        assert item is None or "Input/output error" in item


def recorded(path: Path, model: loopdbg.Model, most: int | None = None, **options: Any) -> None:
    with Recorder(path, model, INPUTS, RecordOptions(**options)) as recorder:
        recorder.finish(model.execute(INPUTS, on_iteration=recorder, max_iterations=most))


def is_complete_trace(path: Path) -> bool:
    """Whether there is a trace that is reported to be whole, and is."""
    if not path.exists():
        return False
    with TraceStore.open(path) as trace:
        count, ended = len(list(trace.boundaries())), trace.ended
    assert ended != "end" or count == INPUTS["M"] + 1
    return ended == "end"


def test_recording(tmp_path: Path) -> None:
    path, model = tmp_path / "run.loopdb", loopdbg.load(save_text_model(tmp_path, SUM))
    recorded(path, model)
    for item in each_call(lambda: recorded(path, model, force=True)):
        assert is_complete_trace(path) or item is not None
        recorded(path, model, force=True)
        assert is_complete_trace(path)
        assert leftover_files(tmp_path) == [path]


def leftover_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*run.loopdb*"))


def test_going_on(tmp_path: Path) -> None:
    path, model = tmp_path / "run.loopdb", loopdbg.load(save_text_model(tmp_path, SUM))

    def act() -> None:
        with TraceStore.open(path) as trace:
            position = find_resume_point(trace, model)
        with ResumedRecorder(path, model, position):
            pass

    recorded(path, model, most=9)
    act()
    for _ in each_call(act):
        # Whatever happened: no one holds it, and it goes on.
        act()
        with TraceStore.open(path) as trace:
            assert len(list(trace.boundaries())) <= 10


def test_reading(tmp_path: Path) -> None:
    path, model = tmp_path / "run.loopdb", loopdbg.load(save_text_model(tmp_path, SUM))
    recorded(path, model)

    def act() -> None:
        with TraceStore.open(path) as trace:
            assert len(list(trace.boundaries())) == INPUTS["M"] + 1

    act()
    for item in each_call(act):
        assert item is None or ("cannot be read" in item and "damaged" not in item)
