"""The files that somebody names, and what may be in them.

Models, weights, scripts, inputs, commands, settings and the header of a trace, which SQLite reads on, are read through
here. What they hold is read into memory of our own, and never mapped: whoever looks at a mapped file that another
program cut is ended by the system, and what that program rewrites changes in the memory of all who map it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

#: Files whose whole text is read hold no more bytes.
MAX_TEXT_BYTES = 1 << 24


def open_regular_file(path: str | os.PathLike[str], buffering: int = -1) -> BinaryIO:
    """A file, open for reading. A pipe, a socket or a device is refused, without waiting for it: it may have no end.

    ``buffering``: as of the function ``open``.

    Raises:
        OSError: there is no such file, it cannot be read, or it is no regular file.
    """
    # The file object owns the descriptor from the start: an interrupt between two calls closes it exactly once.
    file = open(path, "rb", buffering, opener=_open_without_waiting)  # noqa: SIM115 (the caller closes it)
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is a pipe or a device, no regular file", os.fspath(path))
    except BaseException:
        file.close()
        raise
    return file


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; where it is a pipe without a writer, do not wait for one."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8.

    Raises:
        OSError: as :func:`opened`; or it is larger than any file of commands.
        UnicodeDecodeError: it is no text in UTF-8.
    """
    return read_bytes(path).decode("utf-8")


def read_bytes(path: str | os.PathLike[str], most: int = MAX_TEXT_BYTES) -> bytes:
    """All that is in a file.

    Raises:
        OSError: as :func:`opened`; or it has more than ``most`` bytes.
    """
    with open_regular_file(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most >> 20} MB", os.fspath(path))
        return file.read(most)


class StableFile:
    """A file that is read part by part, and has to stay as it is until all parts are read: ``with Held(path) as file``.

    Whoever leaves the block learns whether it did: what was read of a file that changed is of no use, and neither is
    what an error says about it.

    Raises:
        OSError: as :func:`opened`; when the block is left or a part is missing: the file changed.
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
        """Fill an array of bytes with those from ``start`` on."""
        self._file.seek(start)
        rest = memoryview(out)
        while len(rest):  # a system gives 2 GB at once at most
            count = self._file.readinto(rest)
            if not count:
                raise file_changed_error(self.path)
            rest = rest[count:]

    def read_range(self, start: int, stop: int) -> bytearray:
        """The bytes from ``start`` to ``stop``."""
        out = bytearray(stop - start)
        self.read_into(start, out)
        return out

    def stream(self) -> BinaryIO:
        """The file from its beginning on, for what reads by itself."""
        self._file.seek(0)
        return cast(BinaryIO, self._file)

    def _current_stamp(self) -> tuple[int, int]:
        """What tells that somebody wrote: the size, and when that was."""
        now = os.fstat(self._file.fileno())
        return now.st_size, now.st_mtime_ns


class FileSlice:
    """Bytes of a held file that nobody has read yet."""

    def __init__(self, file: StableFile, start: int, stop: int) -> None:
        self._file, self._start, self._size = file, start, stop - start

    def __len__(self) -> int:
        return self._size

    def read_into(self, out: Any) -> None:
        """Fill an array of as many bytes."""
        self._file.read_into(self._start, out)


def file_changed_error(path: str) -> OSError:
    """The error of a file that another program writes."""
    return OSError(errno.EIO, "it changed while it was read; open it again once it is written", path)


def path_inside_folder(folder: Path, name: str) -> Path:
    """A file that another one in a folder names: in that folder, or in one inside it, and nowhere else.

    Raises:
        OSError: the name leads out of the folder, also by a link.
    """
    path = folder / name
    root = os.path.realpath(folder)
    if os.path.isabs(name) or os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise OSError(errno.EACCES, "it leads out of the folder", name)
    return path
