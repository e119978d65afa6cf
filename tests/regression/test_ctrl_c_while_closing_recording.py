"""Ctrl-C while a recording is closed: the database was closed under the thread that wrote to it, and SQLite crashed."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import loopdbg
from loopdbg.debugger.trace.writer import TraceFileWriter, WriteTransaction
from text_models import sample


def test_the_file_is_closed_after_the_last_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing, interrupted, closed = threading.Event(), threading.Event(), threading.Event()
    steps: list[str] = []

    def write(self: TraceFileWriter, portion: WriteTransaction, write: Any = TraceFileWriter.write) -> None:
        writing.set()
        interrupted.wait()
        closed.wait(0.5)  # nothing tells that Ctrl-C is held: that it closes nothing is seen for so long
        write(self, portion)
        steps.append("written")

    def close(self: TraceFileWriter, close: Any = TraceFileWriter.close) -> None:
        steps.append("closed")
        closed.set()
        close(self)

    monkeypatch.setattr(TraceFileWriter, "write", write)
    monkeypatch.setattr(TraceFileWriter, "close", close)
    model, inputs = sample("newton_sqrt.onnx")
    recorder = loopdbg.Recorder(tmp_path / "run.loopdb", model, inputs)
    recorder.finish(model.execute(inputs, on_iteration=recorder))

    def interrupt() -> None:
        writing.wait()
        while not recorder._writer._closing:
            threading.Event().wait(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        interrupted.set()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        recorder.close()
    assert steps[-1] == "closed" and "written" in steps
    with loopdbg.Trace.open(tmp_path / "run.loopdb") as trace:
        assert len(list(trace.loops)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["run.loopdb"]
