"""The command on a pseudo-terminal, which the test reads and types into."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

ENTER_ALTERNATE_SCREEN, LEAVE_ALTERNATE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
_ESCAPE = re.compile(r"\x1b\[[0-9;?>]*[a-zA-Z]")


def strip_escapes(written: str) -> str:
    """The output without colours and cursor movements."""
    return _ESCAPE.sub("", written)


class PseudoTerminal:
    """A process, and its output since the last :meth:`wait`, in ``seen``."""

    def __init__(self, pid: int, master: int, encoding: str) -> None:
        self.pid = pid
        self._master = master
        self._encoding = encoding
        self.output = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def _read(self, seconds: float) -> bool:
        """Read output; returns whether there was any within the timeout."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self._master, 1 << 16)
        except OSError:  # It has ended.
            return False
        self.output += read.decode(self._encoding, "replace")
        return bool(read)

    def _drain(self) -> None:
        while self._read(0):
            pass

    def _take_output(self) -> str:
        seen, self.output = self.output, ""
        return seen

    def wait(self, until: Callable[[str], bool], seconds: float = 120) -> str:
        """The output since the last wait, once it contains what is expected."""
        end = time.monotonic() + seconds
        while not until(self.output):
            assert time.monotonic() < end, f"not seen: {self.output[-2000:]!r}"
            self._read(0.1)
        return self._take_output()

    def wait_until_quiet(self) -> str:
        """The output until there is none for a while; a blinking cursor would never let it end."""
        end = time.monotonic() + 5
        while time.monotonic() < end and self._read(0.7):
            pass
        return self._take_output()

    def wait_until_stopped(self) -> bool:
        """Wait until the process is stopped; False if it ends or runs on for too long."""
        stopped = os.WIFSTOPPED(self._wait_for_status())
        self._drain()
        return stopped

    def wait_until_exit(self) -> int:
        """Wait until the process has ended; returns its exit status."""
        status = os.waitstatus_to_exitcode(self._wait_for_status())
        self._drain()
        return status

    def close(self) -> None:
        os.close(self._master)

    def hang_up(self) -> None:
        """Close the terminal, as a terminal emulator does at its end."""
        self.close()
        self._master = os.open(os.devnull, os.O_RDWR)

    def resume(self) -> None:
        """Resume the process, as a shell's fg does."""
        self.output = ""
        os.kill(self.pid, signal.SIGCONT)

    def _wait_for_status(self, seconds: float = 120) -> int:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            # It keeps writing until then.
            self._read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return status
        raise AssertionError(f"it neither stopped nor ended: {self.output[-2000:]!r}")


@contextmanager
def open_loopdbg(
    settings: Path, *arguments: str, rows: int = 24, columns: int = 80, encoding: str = "utf-8", **environment: str
) -> Iterator[PseudoTerminal]:
    """Start loopdbg with some arguments; ``settings``: the folder of its settings."""
    command = [sys.executable, "-P", "-m", "loopdbg", *arguments]
    with start_command(command, settings, rows, columns, encoding, environment) as first:
        yield first


@contextmanager
def start_command(
    command: Sequence[str],
    settings: Path,
    rows: int = 24,
    columns: int = 80,
    encoding: str = "utf-8",
    environment: Mapping[str, str] | None = None,
) -> Iterator[PseudoTerminal]:
    """Start any program."""
    import fcntl
    import struct
    import termios

    pid, master = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        for name in ("NO_COLOR", "COLORTERM"):
            os.environ.pop(name, None)
        os.environ |= {"TERM": "xterm-256color", "LOOPDBG_CONFIG_DIR": str(settings), "LC_ALL": "C.UTF-8"}
        os.environ |= environment or {}
        os.execvp(command[0], list(command))
    result = PseudoTerminal(pid, master, encoding)
    try:
        yield result
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        result.close()
