"""Lock file of a trace, which has one writer at a time."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from ...runtime.errors import UsageError


class TraceLock:
    """Held until it is closed, or until the process ends; then the lock file is deleted, or an unlocked file remains.

    It does not lock the trace itself, where SQLite has its own locks.

    Raises:
        UsageError: another writer holds it.
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
                    message = f"{trace}: another run is being recorded there; wait for its end, or give another name"
                    raise UsageError(message, name=str(trace), expected="a trace that no run records") from None
                # The file system does not support locks.
            if self._is_at_path():
                return
            # The previous holder deleted the file meanwhile.
            self._release()

    def _is_at_path(self) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        return False

    def __del__(self) -> None:
        # The constructor may have failed.
        with contextlib.suppress(AttributeError):
            self.close()

    def close(self) -> None:
        """Release the lock."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            self._release()

    def _release(self) -> None:
        file, self._file = self._file, -1
        os.close(file)


def _lock_exclusively(file: int) -> None:
    """Lock an open file exclusively for this process.

    Raises:
        OSError: another process has locked it, or its file system does not support locks.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        # Its first byte, which need not exist.
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
