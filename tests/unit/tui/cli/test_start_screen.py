"""``loopdbg`` in a terminal: without arguments, and on a model without inputs."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from text_models import SAMPLES

PLAIN = re.compile(rb"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b[()=>P][^\x1b]*")


class StartTerminal:
    """A program in its own terminal."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        self._master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        environment["LOOPDBG_CONFIG_DIR"] = str(folder / "config")
        code = "import sys; from loopdbg.tui.cli import main; sys.exit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=folder,
        )
        os.close(slave)
        self.output, self._raw = "", b""

    def wait_for(self, text: str, seconds: float = 300) -> None:
        """Read until a text appears."""
        until = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < until and self._read(), self.output[-2000:]

    def _read(self) -> bool:
        """Read the pending output; False if the program has ended."""
        if select.select([self._master], [], [], 0.2)[0]:
            try:
                self._raw += os.read(self._master, 65536)
            except OSError:
                return False
            self.output = PLAIN.sub(b"", self._raw).decode(errors="replace")
        return True

    def press(self, keys: str) -> None:
        self.output, self._raw = "", b""
        os.write(self._master, keys.encode())

    def close(self) -> int:
        try:
            until = time.monotonic() + 300
            # Unread output would block the program.
            while self.process.poll() is None and time.monotonic() < until:
                self._read()
            return self.process.wait(0.1)
        finally:
            self.process.kill()
            os.close(self._master)


@pytest.mark.slow
def test_start_screen_selects_and_remembers_a_model(tmp_path: Path) -> None:
    terminal = StartTerminal(folder=tmp_path)
    terminal.wait_for("newton_sqrt.onnx")
    terminal.press("counter.onnx\r")
    terminal.wait_for("count_next")
    terminal.press("q")
    assert terminal.close() == 0
    terminal = StartTerminal(folder=tmp_path)
    terminal.wait_for("Recent")
    terminal.press("\x1b")
    assert terminal.close() == 0


@pytest.mark.slow
def test_model_without_inputs_asks_for_them(tmp_path: Path) -> None:
    path = tmp_path / "newton.onnx"
    path.write_bytes((SAMPLES / "newton_sqrt.onnx").read_bytes())
    terminal = StartTerminal(str(path), folder=tmp_path)
    terminal.wait_for("needs inputs")
    terminal.press("\r")
    terminal.wait_for("an expression")
    terminal.press("4 + 5\r")
    terminal.wait_for("9.0")
    terminal.press("s")
    terminal.wait_for("half_q")
    terminal.press("q")
    assert terminal.close() == 0
