"""The files that somebody names: every path that is read comes through here."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import IO

#: Files whose whole text is read hold no more bytes.
MOST_TEXT = 1 << 24


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file, open for reading. A pipe, a socket or a device is refused, without waiting for it: it may have no end.

    Raises:
        OSError: there is no such file, it cannot be read, or it is no regular file.
    """
    # Not to wait for somebody who writes into a pipe.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is a pipe or a device, no regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8.

    Raises:
        OSError: as :func:`opened`; or it is larger than any file of commands.
        UnicodeDecodeError: it is no text in UTF-8.
    """
    with opened(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_TEXT:
            raise OSError(errno.EFBIG, f"it has more than {MOST_TEXT >> 20} MB", os.fspath(path))
        return file.read(MOST_TEXT).decode("utf-8")


def inside(folder: Path, name: str) -> Path:
    """A file that another one in a folder names: in that folder, or in one inside it, and nowhere else.

    Raises:
        OSError: the name leads out of the folder, also by a link.
    """
    path = folder / name
    root = os.path.realpath(folder)
    if os.path.isabs(name) or os.path.commonpath([root, os.path.realpath(path)]) != root:
        raise OSError(errno.EACCES, "it leads out of the folder", name)
    return path
