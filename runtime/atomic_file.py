"""Atomic file writes, used for every file that the program writes.

A file is written under a temporary name (``.loopdbg-*.tmp``) in the folder of its destination and then renamed. If
writing fails before that (an error, a full disk, Ctrl-C, and SIGTERM or SIGHUP in the command line, see
``tui/cli/signal_handlers.py``), the old file is unchanged and the temporary one is removed. After SIGKILL or a system
crash a temporary file may remain; it is safe to delete.

- A new file has the permissions of the umask; a replacement has the permissions and, if allowed, the owner of the old
  file. Hard links and extended attributes are lost. A read-only file is not replaced.
- A symbolic link is followed: its target is replaced. Pipes and devices (``/dev/stdout``) are written directly.
- A replacement is flushed to disk (fsync) before the rename, so that a power failure leaves the old or the new file
  complete. A new file is not flushed and may be missing after a power failure.
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
#: Paths of open files: of this process by descriptor, and of others.
_OPEN_FILE_PATHS = re.compile(r"(?:/dev/fd|/proc/self/fd)/(?P<number>\d+)|/dev/std(?P<name>in|out|err)|/proc/.*")
_STREAMS = {"in": 0, "out": 1, "err": 2}
_MAX_LINKS = 40

#: Existing temporary files and folders. An exception may occur between any two lines: a path is registered before it is
#: created and until it is removed, and :func:`discard_unfinished` removes leftovers.
_unfinished: set[Path] = set()


@contextmanager
def atomic_binary(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that becomes ``path`` at the end of the block; an exception leaves ``path`` unchanged.

    Raises:
        OSError: the file cannot be written; its ``filename`` is ``path``.
    """
    with _open_atomic(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        yield file


@contextmanager
def atomic_text(
    path: str | os.PathLike[str], *, newline: str | None = None, errors: str | None = None
) -> Iterator[TextIO]:
    """:func:`atomic_binary` for UTF-8 text; ``newline`` and ``errors`` as in :func:`open`.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with (
        _open_atomic(path) as descriptor,
        open(descriptor, "w", encoding="utf-8", newline=newline, errors=errors, closefd=False) as file,
    ):
        yield file


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray) -> None:
    """Write a file.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with atomic_binary(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a UTF-8 file.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with atomic_text(path) as file:
        file.write(text)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check before long work that a file can be written: create a temporary file in its folder. A pipe is not opened.

    Raises:
        OSError: as :func:`atomic_binary`.
    """
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return
    target = _resolve_destination(path)
    if isinstance(target, int):
        os.close(target)
        return
    temporary = _reserve_temporary_name(target.parent)
    try:
        with _report_final_path(temporary, Path(path)):
            _stat_if_replaceable(target)
            os.close(os.open(temporary, _CREATE_FLAGS, 0o666))
    finally:
        discard(temporary)


@contextmanager
def atomic_folder(folder: str | os.PathLike[str], obsolete: re.Pattern[str] | None = None) -> Iterator[Path]:
    """A temporary folder whose contents move to ``folder`` at the end of the block; an exception leaves ``folder``
    unchanged.

    A new folder appears atomically. In an existing one, files of the same names are replaced one by one, with Ctrl-C,
    SIGTERM and SIGHUP deferred. Other files are kept, except those in the same subfolders as new ones whose path
    relative to ``folder`` fully matches ``obsolete``.

    Raises:
        OSError: something cannot be written; ``filename`` is in ``folder``.
    """
    target = Path(folder)
    exists = target.is_dir()
    existing_parent = target.absolute()
    while not existing_parent.is_dir() and existing_parent != existing_parent.parent:
        existing_parent = existing_parent.parent
    temporary = _reserve_temporary_name(existing_parent)
    try:
        with _report_final_path(temporary, target):
            os.mkdir(temporary)
            yield temporary
            with defer_signals():
                if exists:
                    _merge_folder(temporary, target, obsolete)
                else:
                    target.absolute().parent.mkdir(parents=True, exist_ok=True)
                    os.rename(temporary, target)
                discard(temporary)
    finally:
        discard(temporary)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty private folder in TMPDIR, removed at the end of the block.

    Raises:
        OSError: it cannot be created.
    """
    folder = _reserve_temporary_name(_tmpdir(), "loopdbg-")
    try:
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        discard(folder)


def scratch_file(data: bytes) -> Path:
    """A new private file in TMPDIR; :func:`discard` removes it.

    Raises:
        OSError: it cannot be created.
    """
    path = _reserve_temporary_name(_tmpdir(), "loopdbg-")
    try:
        descriptor = os.open(path, _CREATE_FLAGS, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
    except BaseException:
        discard(path)
        raise
    return path


def unfinished_path(folder: Path) -> Path:
    """A name for a temporary file in ``folder``, for libraries that create files by name; the caller renames the
    complete file, and calls :func:`discard` in any case."""
    return _reserve_temporary_name(folder)


def move_database_into_place(temporary: Path, target: Path) -> None:
    """Move a closed SQLite file, created at an :func:`unfinished_path`, to its final path.

    Deletes the log and journal of the old file, which SQLite would apply to the new one.

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
    """Remove a temporary file or folder, if it exists."""
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
    """Remove all temporary files and folders of this process; runs at exit."""
    for path in list(_unfinished):
        discard(path)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unfinished.clear)


def _tmpdir() -> Path:
    from tempfile import gettempdir  # rarely needed

    return Path(gettempdir())


def _reserve_temporary_name(folder: Path, prefix: str = ".loopdbg-") -> Path:
    """A new name, registered for :func:`discard_unfinished`."""
    path = folder / f"{prefix}{os.urandom(6).hex()}.tmp"
    _unfinished.add(path)
    return path


@contextmanager
def _open_atomic(path: str | os.PathLike[str]) -> Iterator[int]:
    """Open a file that becomes ``path``."""
    target = _resolve_destination(path)
    if isinstance(target, int):
        try:
            with _report_final_path(Path(path), Path(path)):
                yield target
        finally:
            os.close(target)
        return
    temporary = _reserve_temporary_name(target.parent)
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


def _resolve_destination(path: str | os.PathLike[str]) -> Path | int:
    """Resolve a path through symbolic links; returns a descriptor for a pipe, a device or an open file, which is
    written directly."""
    target = Path(path).absolute()
    for _ in range(_MAX_LINKS):
        match = _OPEN_FILE_PATHS.fullmatch(os.fspath(target))
        if match is not None and (match["number"] or match["name"]):
            return os.dup(int(match["number"] or _STREAMS[match["name"]]))
        if match is not None or _is_special_file(target):
            return os.open(target, os.O_WRONLY)
        if not target.is_symlink():
            break
        target = target.parent / os.readlink(target)
    return target


def _is_special_file(path: Path) -> bool:
    """True for a pipe, a device or a socket."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _stat_if_replaceable(target: Path) -> os.stat_result | None:
    """The status of a file to be replaced; None if it does not exist.

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
    """Copy the owner and the permissions of the replaced file, where allowed."""
    with contextlib.suppress(OSError):
        current = os.stat(temporary)
        if (current.st_uid, current.st_gid) != (older.st_uid, older.st_gid):
            os.chown(temporary, older.st_uid, older.st_gid)
        os.chmod(temporary, stat.S_IMODE(older.st_mode))


def _merge_folder(source: Path, target: Path, obsolete: re.Pattern[str] | None) -> None:
    """Move all files of a folder into another one on the same file system."""
    folders = [source, *(path for path in sorted(source.rglob("*")) if path.is_dir())]
    files = [path for folder in folders for path in sorted(folder.iterdir()) if not path.is_dir()]
    older = {path: _stat_if_replaceable(target / path.relative_to(source)) for path in files}
    for folder in folders:
        (target / folder.relative_to(source)).mkdir(exist_ok=True)
    for path, old_status in older.items():
        if old_status is not None:
            _copy_attributes(path, old_status)
            with open(path, "rb+") as file:
                os.fsync(file.fileno())
    for path in files:
        destination = target / path.relative_to(source)
        if destination.is_symlink() or (older[path] is not None and not destination.is_file()):
            with open(path, "rb") as data, atomic_binary(destination) as file:
                shutil.copyfileobj(data, file)
        else:
            os.replace(path, destination)
    names = {path.relative_to(source).as_posix() for path in files}
    for folder in folders if obsolete is not None else ():
        for path in sorted((target / folder.relative_to(source)).iterdir()):
            name = path.relative_to(target).as_posix()
            if name not in names and obsolete is not None and obsolete.fullmatch(name) and not path.is_dir():
                path.unlink()


@contextmanager
def _report_final_path(temporary: Path, target: Path) -> Iterator[None]:
    """Let OS errors name the final path instead of the temporary one."""
    try:
        yield
    except OSError as error:
        name, temporary_name = error.filename, os.fspath(temporary)
        if error.errno is not None and (name is None or isinstance(name, int)):
            error.filename = os.fspath(target)
        elif isinstance(name, str | os.PathLike) and os.fspath(name).startswith(temporary_name):
            error.filename = os.fspath(target) + os.fspath(name)[len(temporary_name) :]
        with contextlib.suppress(AttributeError):
            error.filename2 = None
        raise
