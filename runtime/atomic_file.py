"""Files that appear whole or not at all; every file that the program writes is written here.

A file is written under a temporary name (``.loopdbg-*.tmp``) in the folder of its destination and then renamed.
Whatever ends the writing before that (an error, a full disk, Ctrl-C, and SIGTERM or SIGHUP in the command line, see
``tui/cli/signal_handlers.py``) leaves the older file as it was and removes the temporary one. After SIGKILL or a crash
of the machine a temporary file may remain: it is safe to delete.

- A new file has the permissions that the umask gives it; one that replaces another keeps that one's permissions and,
  where that is allowed, its owner. Hard links and extended attributes are not kept. A read-only file is not replaced.
- Through a symbolic link the file that it points to is replaced. Pipes and devices (``/dev/stdout``) are written
  directly.
- A file that replaces another is flushed to the disk (fsync) before the rename, so that a power failure leaves one of
  both whole. A new file is not: it may be missing after one.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from .signal_deferral import defer_signals

_CREATE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
#: Names of files that are open: of this process with their number, and of others.
_OPEN_FILE_PATHS = re.compile(r"(?:/dev/fd|/proc/self/fd)/(?P<number>\d+)|/dev/std(?P<name>in|out|err)|/proc/.*")
_STREAMS = {"in": 0, "out": 1, "err": 2}
_MAX_LINKS = 40

#: Temporary files and folders that exist. An exception may come between any two lines of Python: a path is here before
#: it is created and until it is removed, and :func:`discard_unfinished` removes what was missed.
_unfinished: set[Path] = set()


@contextmanager
def atomic_binary(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that becomes ``path`` at the end of the block; after an exception ``path`` is as it was.

    Raises:
        OSError: the file cannot be written; its ``filename`` is ``path``.
    """
    with _atomic_descriptor(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        yield file


@contextmanager
def atomic_text(
    path: str | os.PathLike[str], *, newline: str | None = None, errors: str | None = None
) -> Iterator[TextIO]:
    """The same for text in UTF-8; ``newline`` and ``errors`` are those of :func:`open`.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with (
        _atomic_descriptor(path) as descriptor,
        open(descriptor, "w", encoding="utf-8", newline=newline, errors=errors, closefd=False) as file,
    ):
        yield file


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Write a whole file.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with atomic_binary(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file in UTF-8.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with atomic_text(path) as file:
        file.write(text)


@contextmanager
def atomic_folder(folder: str | os.PathLike[str], obsolete: re.Pattern[str] | None = None) -> Iterator[Path]:
    """A temporary folder whose contents are in ``folder`` at the end of the block; after an exception ``folder`` is as
    it was.

    A new folder appears in one step. In an existing one the files of the same names are replaced, one by one without
    interruption by Ctrl-C, SIGTERM and SIGHUP. Other files stay, except those that lie in the same subfolders as new
    ones and whose path relative to ``folder`` matches ``obsolete`` in full.

    Raises:
        OSError: something cannot be written; ``filename`` is in ``folder``.
    """
    target = Path(folder)
    exists = target.is_dir()
    place = target.absolute()
    while not place.is_dir() and place != place.parent:
        place = place.parent
    temporary = _reserve(place)
    try:
        with _report_final_path(temporary, target):
            os.mkdir(temporary)
            yield temporary
            with defer_signals():
                if exists:
                    _merge(temporary, target, obsolete)
                else:
                    target.absolute().parent.mkdir(parents=True, exist_ok=True)
                    os.rename(temporary, target)
                discard(temporary)
    finally:
        discard(temporary)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder in TMPDIR that only this user can read, removed at the end of the block.

    Raises:
        OSError: it cannot be created.
    """
    folder = _reserve(_tmpdir(), "loopdbg-")
    try:
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        discard(folder)


def scratch_file(data: bytes) -> Path:
    """A new file in TMPDIR that only this user can read; :func:`discard` removes it.

    Raises:
        OSError: it cannot be created.
    """
    path = _reserve(_tmpdir(), "loopdbg-")
    try:
        descriptor = os.open(path, _CREATE_FLAGS, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        discard(path)
        raise
    return path


def unfinished_path(folder: Path) -> Path:
    """A name for a temporary file in ``folder``, for libraries that create files by name; rename the file when it is
    complete, and call :func:`discard` in any case."""
    return _reserve(folder)


def replace_database(temporary: Path, target: Path) -> None:
    """Put a closed SQLite file, created at an :func:`unfinished_path`, in the place of another or of none.

    The older file's log and journal go with it: SQLite would apply them to the new one.

    Raises:
        OSError: it cannot be replaced.
    """
    with _report_final_path(temporary, target), defer_signals():
        older = _stat_if_replaceable(target)
        if older is not None:
            _copy_attributes(temporary, older)
        for suffix in ("-wal", "-shm", "-journal"):
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        os.replace(temporary, target)
        discard(temporary)


def discard(path: Path) -> None:
    """Remove a temporary file or folder, if it is there."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        return
    _unfinished.discard(path)


@atexit.register
def discard_unfinished() -> None:
    """Remove all temporary files and folders of this process, before it ends."""
    for path in list(_unfinished):
        discard(path)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unfinished.clear)


def _tmpdir() -> Path:
    from tempfile import gettempdir  # here, since most programs write nothing there

    return Path(gettempdir())


def _reserve(folder: Path, prefix: str = ".loopdbg-") -> Path:
    """A new name, which is known to :func:`discard_unfinished`."""
    path = folder / f"{prefix}{os.urandom(6).hex()}.tmp"
    _unfinished.add(path)
    return path


@contextmanager
def _atomic_descriptor(path: str | os.PathLike[str]) -> Iterator[int]:
    """An open file that becomes ``path``."""
    target = _destination(path)
    if isinstance(target, int):
        try:
            with _report_final_path(Path(path), Path(path)):
                yield target
        finally:
            os.close(target)
        return
    temporary = _reserve(target.parent)
    descriptor = -1
    try:
        with _report_final_path(temporary, Path(path)):
            older = _stat_if_replaceable(target)
            descriptor = os.open(temporary, _CREATE_FLAGS, 0o666)
            yield descriptor
            if older is not None:
                _copy_attributes(temporary, older)
                os.fsync(descriptor)
            os.close(descriptor)
            descriptor = -1
            os.replace(temporary, target)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        discard(temporary)


def _destination(path: str | os.PathLike[str]) -> Path | int:
    """The file that a path leads to, through symbolic links; a descriptor of a pipe, a device or an open file, which is
    written directly."""
    target = Path(path).absolute()
    for _ in range(_MAX_LINKS):
        match = _OPEN_FILE_PATHS.fullmatch(os.fspath(target))
        if match is not None and (match["number"] or match["name"]):
            return os.dup(int(match["number"] or _STREAMS[match["name"]]))
        if match is not None or _is_special(target):
            return os.open(target, os.O_WRONLY)
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    return target


def _is_special(path: Path) -> bool:
    """Whether there is a pipe, a device or a socket."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _stat_if_replaceable(target: Path) -> os.stat_result | None:
    """What the system knows of a file that is to be replaced; None: there is none.

    Raises:
        OSError: it may not be replaced.
    """
    try:
        older = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(older.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(target))
    return older


def _copy_attributes(temporary: Path, older: os.stat_result) -> None:
    """Give a file the owner and the permissions of the one that it replaces, where that is allowed."""
    with contextlib.suppress(OSError):
        now = os.stat(temporary)
        if (now.st_uid, now.st_gid) != (older.st_uid, older.st_gid):
            os.chown(temporary, older.st_uid, older.st_gid)
        os.chmod(temporary, stat.S_IMODE(older.st_mode))


def _merge(source: Path, target: Path, obsolete: re.Pattern[str] | None) -> None:
    """Move all files of a folder into another, which is on the same file system."""
    folders = [source, *(path for path in sorted(source.rglob("*")) if path.is_dir())]
    files = [path for folder in folders for path in sorted(folder.iterdir()) if not path.is_dir()]
    older = {path: _stat_if_replaceable(target / path.relative_to(source)) for path in files}
    for folder in folders:
        (target / folder.relative_to(source)).mkdir(exist_ok=True)
    for path, known in older.items():
        if known is not None:
            _copy_attributes(path, known)
            with open(path, "rb+") as file:
                os.fsync(file.fileno())
    for path in files:
        there = target / path.relative_to(source)
        if there.is_symlink() or (older[path] is not None and not there.is_file()):
            with open(path, "rb") as data, atomic_binary(there) as file:
                shutil.copyfileobj(data, file)
        else:
            os.replace(path, there)
    names = {path.relative_to(source).as_posix() for path in files}
    for folder in folders if obsolete is not None else ():
        for path in sorted((target / folder.relative_to(source)).iterdir()):
            name = path.relative_to(target).as_posix()
            if name not in names and obsolete is not None and obsolete.fullmatch(name) and not path.is_dir():
                path.unlink()


@contextmanager
def _report_final_path(temporary: Path, target: Path) -> Iterator[None]:
    """Let errors of the system name the file that was to be written."""
    try:
        yield
    except OSError as error:
        name, hidden = error.filename, os.fspath(temporary)
        if error.errno is not None and (name is None or isinstance(name, int)):
            error.filename = os.fspath(target)
        elif isinstance(name, str | os.PathLike) and os.fspath(name).startswith(hidden):
            error.filename = os.fspath(target) + os.fspath(name)[len(hidden) :]
        with contextlib.suppress(AttributeError):
            error.filename2 = None
        raise
