"""``--output F.npz``: outputs under their names, written so that ``--inputs F.npz`` can read them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ...debugger.formats.arrays import write_npz
from ...runtime.errors import UsageError, one_line
from ...runtime.files import opened
from ...runtime.model import Data


def check_kind(path: Path) -> None:
    """Refuse a name that promises another kind of file than the one that is written.

    Raises:
        UsageError: it has a suffix that is not ``.npz``.
    """
    if path.suffix.lower() not in ("", ".npz"):
        other = path.with_suffix(".npz").name
        raise UsageError(f"--output {path}: outputs are saved as .npz, which is no {path.suffix} file; name it {other}")


def check_target(path: Path, read: Iterable[Path] = (), option: str = "--output ") -> None:
    """Find out before a long run whether something can be saved there at all, and whether it may.

    ``read``: files that the command reads or writes otherwise.

    Raises:
        UsageError: the path is a folder, or lies in none; what is there is no file that a command like this one wrote.
    """
    told = f"{option}{path}"
    if path.is_dir():
        raise UsageError(f"{told}: is a folder; give a file, such as {path / 'outputs.npz'}")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise UsageError(f"{told}: there is no folder '{folder}'")
    left = "it is left as it is, give another name"
    if any(one_file(path, other) for other in read):
        raise UsageError(f"{told}: this command reads or records that file; {left}")
    if path.exists() and not path.is_file():
        raise UsageError(f"{told}: is no regular file; {left}")
    if path.exists() and path.suffix != ".csv" and path.stat().st_size and not _is_archive(path):
        raise UsageError(f"{told}: is there already, and is no .npz; {left}")


def one_file(path: Path, other: Path) -> bool:
    """Whether both are one file, there already or not."""
    try:
        return path.samefile(other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def _is_archive(path: Path) -> bool:
    try:
        with opened(path) as file:
            return file.read(2) == b"PK"
    except OSError:
        # Writing it will tell.
        return True


def save(path: Path, outputs: Mapping[str, Data]) -> list[str]:
    """Write an ``.npz`` of that very name; returns what there is to say about it, one line each.

    The elements of a sequence are saved as NAME.0, NAME.1, ... An empty optional has nothing that could be saved.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        return write_npz(path, outputs)
    except OSError as error:
        raise UsageError(f"--output {path}: cannot be written: {error.strerror or one_line(error)}") from None
