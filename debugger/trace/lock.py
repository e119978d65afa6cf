"""A trace has one writer: whoever writes one holds the lock that stands beside it."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from ...runtime.errors import UsageError


class TraceLock:
    """Held until it is closed, or until the program ends in whatever way; the file beside the trace is then gone, or a
    plain file that locks nothing.

    Not a lock on the trace itself, where SQLite has its own.

    Raises:
        UsageError: somebody else holds it.
    """

    def __init__(self, trace: Path) -> None:
        self._path = trace.with_name(f"{trace.name}-lock")
        while True:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock_exclusively(self._file)
            except OSError as error:
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    self._release()
                    text = f"{trace}: another run is being recorded there; wait for its end, or give another name"
                    raise UsageError(text) from None
                # A file system that knows no locks.
            if self._is_current():
                return
            # Whoever held it took it away in between.
            self._release()

    def _is_current(self) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        return False

    def __del__(self) -> None:
        # Whoever was to let go of it never came into being.
        with contextlib.suppress(AttributeError):
            self.close()

    def close(self) -> None:
        """Let go of it."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            self._release()

    def _release(self) -> None:
        file, self._file = self._file, -1
        os.close(file)


def _lock_exclusively(file: int) -> None:
    """Lock an open file for this program alone.

    Raises:
        OSError: another program has it, or its file system knows no locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows: nothing tells two recorders on one file of each other
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
