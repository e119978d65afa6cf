"""In a real terminal: ^z leads to the shell and fg back to a whole screen; m gives the terminal the mouse, and it keeps
it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from models import SAMPLES

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals and signals of jobs")

_SIZE = (24, 80)
_MOUSE_ON, _MOUSE_OFF = "\x1b[?1000h", "\x1b[?1000l"
_ALTERNATE, _NORMAL = "\x1b[?1049h", "\x1b[?1049l"
_MOVE = re.compile(r"\x1b\[(\d+);\d+H")


class Terminal:
    """The command on a terminal of its own."""

    def __init__(self, pid: int, master: int) -> None:
        self.pid = pid
        self._master = master
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait(self, until: Callable[[str], bool], seconds: float = 30) -> str:
        """What it wrote since the last wait, once that is enough."""
        end = time.monotonic() + seconds
        while not until(self.seen):
            assert time.monotonic() < end, f"not seen: {self.seen[-2000:]!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self._master, 1 << 16).decode(errors="replace")
        seen, self.seen = self.seen, ""
        return seen

    def quiet(self) -> str:
        """What it writes until it writes nothing for a while."""
        seen = ""
        while select.select([self._master], [], [], 0.7)[0]:
            seen += os.read(self._master, 1 << 16).decode(errors="replace")
        return seen

    def stopped(self) -> bool:
        """Wait until it is stopped."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            # It goes on writing until then.
            if select.select([self._master], [], [], 0.05)[0]:
                self.seen += os.read(self._master, 1 << 16).decode(errors="replace")
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return os.WIFSTOPPED(status)
        return False


@contextmanager
def terminal(settings: Path) -> Iterator[Terminal]:
    """loopdbg on a sample, once its first stop is on the screen."""
    import fcntl
    import pty
    import struct
    import termios

    pid, master = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LOOPDBG_CONFIG_DIR": str(settings), "LC_ALL": "C.UTF-8"}
        os.environ.pop("NO_COLOR", None)
        os.execv(sys.executable, [sys.executable, "-m", "loopdbg", str(SAMPLES / "newton_sqrt.onnx")])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", *_SIZE, 0, 0))
    found = Terminal(pid, master)
    try:
        found.wait(lambda seen: "q quit" in plain(seen) and "before iteration 0" in plain(seen))
        found.quiet()
        yield found
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        os.close(master)


def plain(written: str) -> str:
    return re.sub(r"\x1b\[[0-9;?>]*[a-zA-Z]", "", written)


def test_suspended_and_back_with_a_whole_screen(tmp_path: Path) -> None:
    with terminal(tmp_path) as found:
        found.press("s")
        found.wait(lambda seen: "before iteration 1" in plain(seen))
        found.quiet()
        found.press("\x1a")
        assert found.stopped()
        assert _NORMAL in found.seen, "the shell has its own screen"
        found.seen = ""
        os.kill(found.pid, signal.SIGCONT)
        seen = found.wait(lambda seen: _ALTERNATE in seen and "q quit" in plain(seen)) + found.quiet()
        text = plain(seen)
        for wanted in ("newton_sqrt.onnx", "[Source]", "1 Source", "half = x * 0.5", "2 Back edges", "3 Condition"):
            assert wanted in text, wanted
        assert {int(row) for row in _MOVE.findall(seen)} >= set(range(2, _SIZE[0] + 1))
        # And the keys are heard.
        found.press("s")
        found.wait(lambda seen: "before iteration 2" in plain(seen))
        found.press("q")
        assert os.waitstatus_to_exitcode(os.waitpid(found.pid, 0)[1]) == 0


def test_the_mouse_stays_the_terminals_after_the_shell(tmp_path: Path) -> None:
    with terminal(tmp_path) as found:
        found.press("m")
        seen = found.wait(lambda seen: "m takes it back" in plain(seen))
        assert _MOUSE_OFF in seen
        found.press("\x1a")
        assert found.stopped()
        found.seen = ""
        os.kill(found.pid, signal.SIGCONT)
        seen = found.wait(lambda seen: "q quit" in plain(seen)) + found.quiet()
        assert _MOUSE_ON not in seen
        found.press("m")
        seen = found.wait(lambda seen: "the mouse is loopdbg's" in plain(seen))
        assert _MOUSE_ON in seen
        found.press("q")
        seen = found.wait(lambda seen: _NORMAL in seen)
        assert os.waitstatus_to_exitcode(os.waitpid(found.pid, 0)[1]) == 0
