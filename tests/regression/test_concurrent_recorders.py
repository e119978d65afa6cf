"""A trace has one writer: a second one is refused while the first writes, and the first loses nothing."""

from __future__ import annotations

import errno
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import loopdbg as package
from cli_runner import run_cli, run_python_code, save_text_model, start_cli, wait_for_exit
from error_fields import raises_error
from loopdbg.debugger.trace.lock import TraceLock
from loopdbg.debugger.trace.recorder import Recorder, RecordOptions
from text_models import SUM, model


def test_the_second_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = save_text_model(tmp_path, SUM), tmp_path / "run.loopdb"
    loaded, inputs = model(SUM), {"M": 50, "v0": 1.0}
    feeds = ("--input", "M=50", "--input", "v0=1")
    link = tmp_path / "link.loopdb"
    link.symlink_to(trace)
    with Recorder(trace, loaded, inputs) as recorder:
        for again in (
            ("run", path, *feeds, "--record", trace, "--force"),
            ("run", path, *feeds, "--record", link, "--force"),
            ("run", path, "--resume", trace, "--record", trace),
        ):
            ran = run_cli(capsys, *again)
            assert ran.status == 2
            assert "another run is being recorded there" in ran.error_line
        with raises_error(package.UsageError, name=trace, expected="a trace that no run records"):
            Recorder(trace, loaded, inputs, RecordOptions(force=True))
        # Reading is free.
        assert run_cli(capsys, "export", trace, tmp_path / "out.csv").status == 0
        recorder.finish(loaded.execute(inputs, on_iteration=recorder))
    with package.Trace.open(trace) as opened:
        assert len(opened) == 51 and opened.ended == "end"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.loopdb", "model.onnx", "out.csv", "run.loopdb"]
    assert run_cli(capsys, "run", path, *feeds, "--record", trace, "--force").status == 0


def test_two_programs(tmp_path: Path) -> None:
    """Of two that begin at the same time one records, and the other says so."""
    path, trace = save_text_model(tmp_path, SUM), tmp_path / "run.loopdb"
    inputs = ("--input", "M=20000", "--input", "v0=1")
    both = [start_cli("run", path, *inputs, "--record", trace, "--force") for _ in range(2)]
    done = [wait_for_exit(process, 120) for process in both]
    # One after the other is right as well.
    assert sorted(ran.status for ran in done) in ([0, 2], [0, 0])
    for ran in done:
        assert ("recorded 20 001 boundaries" in ran.out) == (ran.status == 0)
        assert ("another run is being recorded there" in ran.err) == (ran.status == 2)
    with package.Trace.open(trace) as opened:
        assert len(opened) == 20_001 and opened.ended == "end"


def test_who_was_killed_locks_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "run.loopdb"
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom loopdbg.debugger.trace.lock import TraceLock\n"
        f"held = TraceLock(Path({str(trace)!r}))\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    assert run_python_code(code).status == -signal.SIGKILL
    assert (tmp_path / "run.loopdb-lock").exists()
    held = TraceLock(trace)
    with pytest.raises(package.UsageError):
        TraceLock(trace)
    held.close()
    assert not list(tmp_path.iterdir())


def test_second_is_refused_by_the_lock_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for ``msvcrt``: the real one was not tested."""
    is_locked = False

    def locking(file: int, mode: int, nbytes: int) -> None:
        nonlocal is_locked
        assert (mode, nbytes) == (2, 1)
        if is_locked:
            raise PermissionError(errno.EACCES, "Permission denied")
        is_locked = True

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    held = TraceLock(tmp_path / "run.loopdb")
    with pytest.raises(package.UsageError, match="another run is being recorded there"):
        TraceLock(tmp_path / "run.loopdb")
    held.close()
    assert not list(tmp_path.iterdir())
