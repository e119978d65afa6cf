"""Reading of user-supplied files.

Used for models, weights, scripts, inputs, commands, settings and the header of a trace, which SQLite reads further.
Files are copied into memory and never mapped: access to a mapped file that another program truncates kills the process,
and modifications by other programs become visible in memory.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

#: Size limit of files that are read completely.
MAX_TEXT_BYTES = 1 << 24


def open_regular_file(path: str | os.PathLike[str], buffering: int = -1) -> BinaryIO:
    """Open a file for reading. A pipe, a socket or a device, which may be endless, is rejected without blocking.

    ``buffering``: as for :func:`open`.

    Raises:
        OSError: the file is missing, unreadable, or not a regular file.
    """
    # The file object owns the descriptor from the start, so that an interrupt closes it exactly once.
    file = open(path, "rb", buffering, opener=_open_nonblocking)  # noqa: SIM115 (the caller closes it)
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device, no regular file", os.fspath(path))
    except BaseException:
        file.close()
        raise
    return file


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking on a pipe that has no writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 file.

    Raises:
        OSError: as for :func:`open_regular_file`; or it is too large.
        UnicodeDecodeError: it is not valid UTF-8.
    """
    return read_bytes(path).decode("utf-8")


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_TEXT_BYTES) -> bytes:
    """Read a complete file.

    Raises:
        OSError: as for :func:`open_regular_file`; or it has more than ``limit`` bytes.
    """
    with open_regular_file(path) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise OSError(errno.EFBIG, f"it has more than {limit >> 20} MB", os.fspath(path))
        return file.read(limit)


class StableFile:
    """A file that is read in parts and must not change meanwhile: ``with StableFile(path) as file``.

    Leaving the block checks this: data of a changed file, and errors about it, are meaningless.

    Raises:
        OSError: as for :func:`open_regular_file`; at the end of the block or for a missing part: the file changed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: Any = open_regular_file(path, buffering=0)
        try:
            self.stamp = self._current_stamp()
        except BaseException:
            self._file.close()
            raise
        self.size = self.stamp[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        try:
            if kind is None or issubclass(kind, Exception):
                self.check()
        finally:
            self._file.close()

    def check(self) -> None:
        """Raise an OSError if the file changed since it was opened."""
        if self._current_stamp() != self.stamp:
            raise file_changed_error(self.path)

    def read_into(self, start: int, out: Any) -> None:
        """Fill a byte array from position ``start``."""
        self._file.seek(start)
        remaining = memoryview(out)
        while len(remaining):  # a read returns at most 2 GB
            count = self._file.readinto(remaining)
            if not count:
                raise file_changed_error(self.path)
            remaining = remaining[count:]

    def read_range(self, start: int, stop: int) -> bytearray:
        """The bytes from ``start`` to ``stop``."""
        out = bytearray(stop - start)
        self.read_into(start, out)
        return out

    def stream(self) -> BinaryIO:
        """The file object at its beginning, for libraries that read it themselves."""
        self._file.seek(0)
        return cast(BinaryIO, self._file)

    def _current_stamp(self) -> tuple[int, int]:
        """Size and modification time, to detect writes."""
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns


class FileSlice:
    """Unread bytes of a stable file."""

    def __init__(self, file: StableFile, start: int, stop: int) -> None:
        self._file, self._start, self._size = file, start, stop - start

    def __len__(self) -> int:
        return self._size

    def read_into(self, out: Any) -> None:
        """Fill an array of the same size."""
        self._file.read_into(self._start, out)


def file_changed_error(path: str) -> OSError:
    """The error for a file that another program modified."""
    return OSError(errno.EIO, "it changed while it was read; open it again once it is written", path)


def path_inside_folder(folder: Path, name: str) -> Path:
    """The path of a file referenced by another one in a folder; must be inside that folder.

    Raises:
        OSError: the path is outside the folder, possibly by a link.
    """
    path = folder / name
    root = os.path.realpath(folder)
    if os.path.isabs(name) or os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise OSError(errno.EACCES, "it leads out of the folder", name)
    return path
