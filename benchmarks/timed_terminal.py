"""The command in a pseudo-terminal: sends keys, and counts its output."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

#: Escape sequences of keys that have no character.
KEY_SEQUENCES = {"left": "\x1b[D", "right": "\x1b[C", "up": "\x1b[A", "down": "\x1b[B"}
#: An answer has ended after this time in seconds without output.
_QUIET_SECONDS = 0.25


class TimedTerminal:
    """``loopdbg`` with arguments, in a separate process and pseudo-terminal."""

    def __init__(self, arguments: Sequence[str], size: tuple[int, int]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.environ |= {
                "TERM": "xterm-256color",
                "COLORTERM": "truecolor",
                "LOOPDBG_CONFIG_DIR": self._folder.name,
                "COLUMNS": str(size[0]),
                "LINES": str(size[1]),
            }
            os.execv(sys.executable, [sys.executable, "-P", "-m", "loopdbg", *arguments])
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def __enter__(self) -> TimedTerminal:
        self._read_until_pause(60, most=1)
        self._read_until_pause(1.5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)
        self._folder.cleanup()

    def press(self, key: str) -> tuple[float, int]:
        """Return the milliseconds from a key to the last byte of its answer, and the number of bytes."""
        start = time.perf_counter()
        os.write(self._fd, KEY_SEQUENCES.get(key, key).encode())
        count, last_time = self._read_until_pause(_QUIET_SECONDS)
        return ((last_time or start) - start) * 1e3, count

    def _read_until_pause(self, pause: float, most: int | None = None) -> tuple[int, float]:
        """Read until the output pauses; return the number of bytes and the time of the last one."""
        count, last_time = 0, 0.0
        while select.select([self._fd], [], [], pause)[0]:
            try:
                count += len(os.read(self._fd, 1 << 16))
            except OSError:
                raise RuntimeError("the command ended") from None
            last_time = time.perf_counter()
            if most is not None and count >= most:
                break
        return count, last_time


def save_model(folder: Path, name: str, model: bytes, **inputs: object) -> Path:
    """Write a model to a file with its inputs in the same folder."""
    import numpy as np

    path = folder / f"{name}.onnx"
    path.write_bytes(model)
    np.savez(path.with_suffix(".inputs.npz"), **{key: np.asarray(value) for key, value in inputs.items()})
    return path
