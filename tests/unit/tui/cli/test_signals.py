"""SIGTERM and SIGHUP end a command as Ctrl-C does, and then kill the process by the signal."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from cli_runner import run_python_code, save_text_model, start_cli, wait_for_exit
from text_models import ENDLESS, SAMPLES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these signals are those of POSIX")
SIGNALS = (signal.SIGTERM, signal.SIGHUP)

CODE = """
import os, signal
from loopdbg.runtime.atomic_file import atomic_text, scratch_folder
from loopdbg.tui.cli.signal_handlers import terminate_on_signals
with terminate_on_signals(), scratch_folder() as folder:
    with atomic_text({path!r}) as file:
        try:
            {action}
        finally:
            print("cleaned up", flush=True)
print("done")
"""


def ended(tmp_path: Path, action: str) -> tuple[int, str]:
    path, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    path.write_text("older")
    ran = run_python_code(CODE.format(path=str(path), action=action), environment={"TMPDIR": str(scratch)})
    assert ran.err == ""
    assert path.read_text() == "older"
    assert os.listdir(scratch) == [] and sorted(os.listdir(tmp_path)) == ["out", "scratch"]
    return ran.status, ran.out


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_undoes_partial_work(tmp_path: Path, number: signal.Signals) -> None:
    assert ended(tmp_path, f"signal.raise_signal({number:d})") == (-number, "cleaned up\n")


def test_second_signal_does_not_wait(tmp_path: Path) -> None:
    twice = f"""
            try:
                signal.raise_signal({signal.SIGHUP:d})
            finally:
                signal.raise_signal({signal.SIGTERM:d})"""
    assert ended(tmp_path, twice.strip()) == (-signal.SIGTERM, "")


def test_ignored_signal_stays_ignored() -> None:
    code = """
import signal
from loopdbg.tui.cli.signal_handlers import terminate_on_signals
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with terminate_on_signals():
    signal.raise_signal(signal.SIGHUP)
print("done", signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""
    assert run_python_code(code).out == "done True True\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_ends_an_endless_run_from_standard_input(tmp_path: Path, number: signal.Signals) -> None:
    """Its model is kept in TMPDIR during the run, and its loop runs in native code."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with save_text_model(tmp_path, ENDLESS).open("rb") as model:
        environment = {"TMPDIR": str(scratch)}
        process = start_cli("run", "-", "--input", "v0=0", telling=True, stdin=model, environment=environment)
    assert process.stderr is not None and process.stderr.readline() == "running\n"
    assert os.listdir(scratch) != []
    process.send_signal(number)
    ran = wait_for_exit(process)
    assert (ran.status, ran.out, ran.err) == (-number, "", "")
    assert os.listdir(scratch) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_signal_ends_a_recording(tmp_path: Path, number: signal.Signals) -> None:
    trace = tmp_path / "run.loopdb"
    words = ("run", save_text_model(tmp_path, ENDLESS), "--input", "v0=0", "--record", trace, "--every", "1000")
    process = start_cli(*words, telling=True)
    assert process.stderr is not None and process.stderr.readline() == "running\n"
    process.send_signal(number)
    assert wait_for_exit(process).status == -number
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "run.loopdb"], "without its lock and its log"
    ran = wait_for_exit(start_cli("run", trace, "-ex", "where"))
    assert ran.status in (0, 130), ran.err


@pytest.mark.parametrize("number", SIGNALS)
def test_scripts_and_operators_do_not_catch_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Exceptions that they raise become errors; the signal's does not."""
    operators = tmp_path / "operators.py"
    operators.write_text(f"import signal\nsignal.raise_signal({number:d})\n")
    for words in (("run", operators), ("run", SAMPLES / "counter.onnx", "--operators", operators)):
        ran = wait_for_exit(start_cli(*words, "--trust-script"))
        assert (ran.status, ran.out, ran.err) == (-number, "", "")


@pytest.mark.parametrize("number", SIGNALS)
def test_import_completes_before_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    """An aborted import of an extension module can crash the process later."""
    (tmp_path / "imported.py").write_text(
        f"import signal\nsignal.raise_signal({number:d})\nprint('imported', flush=True)\n"
    )
    code = f"""
import signal, sys
from loopdbg.tui.cli.signal_handlers import terminate_on_signals
sys.path.insert(0, {str(tmp_path)!r})
with terminate_on_signals():
    import imported
    signal.pause()
"""
    ran = run_python_code(code)
    assert (ran.status, ran.out, ran.err) == (-number, "imported\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, *SIGNALS])
def test_signal_in_an_interpreter_callback_is_not_lost(number: signal.Signals) -> None:
    code = f"""
import signal
import time
from loopdbg.tui.cli.signal_handlers import terminate_on_signals
class Thing:
    def __del__(self):
        signal.raise_signal({number:d})
with terminate_on_signals():
    try:
        Thing()
        while True:  # pause() would miss a signal that arrives just before it
            time.sleep(0.01)
    except KeyboardInterrupt:
        print("interrupted")
    except SystemExit:
        print("terminated", flush=True)
        raise
"""
    ran = run_python_code(code)
    message = "interrupted\n" if number is signal.SIGINT else "terminated\n"
    assert (ran.status, ran.out, ran.err) == (0 if number is signal.SIGINT else -number, message, "")
