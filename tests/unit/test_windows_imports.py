"""What runs and debugs a model imports nothing that Windows lacks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli_runner import run_python_code
from loopdbg.debugger.peers.process import Peer
from loopdbg.runtime.errors import UsageError
from text_models import SAMPLES

#: Modules, and names in modules, that Python documents for Unix alone.
LACKING = """
import os, select, signal, sys
import subprocess  # first: it takes a system with msvcrt for Windows
import types
import _signal

sys.modules["msvcrt"] = types.SimpleNamespace(locking=lambda file, mode, nbytes: None, LK_NBLCK=2)
for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
SIGNALS = "ALRM CHLD HUP KILL PIPE TSTP USR1 WINCH _BLOCK"
for module, names in {
    os: "fork forkpty getpgid getuid geteuid kill killpg mkfifo openpty pread pwrite register_at_fork "
    "sched_getaffinity setsid statvfs O_CLOEXEC O_NONBLOCK",
    select: "poll epoll",
    signal: "alarm pthread_sigmask setitimer " + " ".join("SIG" + name for name in SIGNALS.split()),
    _signal: "alarm pthread_sigmask setitimer " + " ".join("SIG" + name for name in SIGNALS.split()),
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
"""

HEADLESS = """
import json, pathlib
import numpy, loopdbg
from loopdbg.tui.cli import main

def debugged(path):
    model = loopdbg.load(path)
    inputs = dict(numpy.load(path.with_suffix(".inputs.npz")))
    session = loopdbg.debug(model, inputs)
    session.step()
    forward = session.frame.iteration
    session.back()
    return [forward, session.frame.iteration, sorted(model.run(inputs))]

samples, folder = map(pathlib.Path, sys.argv[1:])
stops = [debugged(samples / name) for name in ("newton_sqrt.onnx", "lstm.xml", "trt/halving.py")]
trace = folder / "run.loopdb"
status = main(["run", str(samples / "newton_sqrt.onnx"), "--record", str(trace)])
print()
print(json.dumps([stops, status, trace.exists()]))
"""


def test_models_run_and_are_debugged_and_recorded_without_what_windows_lacks(tmp_path: Path) -> None:
    ran = run_python_code(LACKING + HEADLESS, str(SAMPLES), str(tmp_path))
    assert ran.status == 0, ran.err
    message, status, recorded = json.loads(ran.out.splitlines()[-1])
    outputs = [["root", "xs"], ["C", "H", "Y"], ["x_last", "xs"]]
    assert message == [[1, 0, names] for names in outputs]
    assert (status, recorded) == (0, True)


def test_what_windows_lacks_is_missed_where_it_is_used() -> None:
    for use in ("import fcntl", "import termios", "os.fork()", "signal.SIGKILL", "select.poll()"):
        assert run_python_code(LACKING + use).status == 1, use


def test_other_runtimes_are_refused_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    with pytest.raises(UsageError, match="lacks fork"):
        Peer("onnxruntime")
