"""Ctrl-C while the program imports what it needs: one line and status 130, no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_runner import run_python_code, save_text_model
from text_models import SUM

#: ``python -m loopdbg``, which gets a Ctrl-C when a module is looked for.
PROGRAM = """
import os, runpy, signal, sys
from importlib.abc import MetaPathFinder

class Press(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == module:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
runpy.run_module("loopdbg", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "module",
    ["loopdbg.tui", "loopdbg.tui.cli", "argparse", "numpy", "numpy.linalg", "loopdbg.runtime.engine.engine", "onnx"],
)
def test_interrupt_gives_one_line(tmp_path: Path, module: str) -> None:
    arguments = ["run", str(save_text_model(tmp_path, SUM)), "--input", "M=2", "--input", "v0=1"]
    assert run_python_code(PROGRAM, module, *arguments) == (130, "", "loopdbg: interrupted\n")


def test_a_program_that_calls_main_keeps_its_own_way_with_ctrl_c() -> None:
    """The command line within another program leaves the handler as it was."""
    code = """
import signal
from loopdbg.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
assert main(["--version"]) == 0
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
signal.signal(signal.SIGINT, signal.SIG_IGN)
assert main(["--version"]) == 0
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""
    ran = run_python_code(code)
    assert ran.status == 0, ran.err
