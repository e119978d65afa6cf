"""A few hundred broken files of each kind; ``make fuzz`` tries thousands."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_python_code, start_python, wait_for_exit

SCRIPT = Path(__file__).with_name("file_fuzzer.py")


def test_broken_files_give_one_error_line() -> None:
    ran = wait_for_exit(start_python(SCRIPT, "--count", "400", "--seed", "1", "--seconds", "200"), 1000)
    assert ran.status == 0, ran.out + ran.err
    assert "400 files in " in ran.out and "; 0 faults" in ran.out


@pytest.mark.parametrize(
    ("mischief", "message"),
    [
        ("raise ValueError('of ours')", "internal error"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("time.sleep(3600)", "no end within 2 s"),
        ("print('Traceback'); return 0", "Traceback"),
        ("return 9", "exit status 9"),
        ("raise MemoryError", "nothing says where"),
        ("sys.stderr.write('loopdbg: a\\nloopdbg: b\\n'); return 1", "2 lines of error"),
        ("bytearray(3 << 29); return 0", "nothing says where"),
    ],
)
def test_faults_are_detected(mischief: str, message: str, tmp_path: Path) -> None:
    """Checks the fuzzer with intentional faults in the command that every kind uses."""
    script = f"""
import os, pathlib, signal, sys, time
sys.path.insert(0, {str(SCRIPT.parent)!r})
import file_fuzzer
from loopdbg.tui import cli
file_fuzzer.KEPT_FILES_DIRECTORY = pathlib.Path({str(tmp_path)!r})
file_fuzzer.ROOT = file_fuzzer.KEPT_FILES_DIRECTORY.parent
calls = []
def broken(arguments, *_):
    calls.append(arguments)
    if len(calls) < 4:
        return 0
    {mischief}
cli._run_command = broken
def one(rng, folder):
    (folder / "file").touch()
    return ["info", str(folder)]
file_fuzzer.load_mutators = lambda: {{"one": one}}
sys.exit(file_fuzzer.main(["--count", "5", "--jobs", "1", "--seconds", "{2 if "sleep" in mischief else 200}"]))
"""
    ran = run_python_code(script)
    assert ran.status == 1, ran.out + ran.err
    assert message in ran.out
    [kept, *_] = tmp_path.iterdir()
    assert (kept / "file").exists() and "loopdbg info " in (kept / "README").read_text(encoding="utf-8")
