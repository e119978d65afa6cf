"""``--output FILE``: outputs under their names, in the form that the ending of the file says."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError, one_line
from ...runtime.model import Data, Port
from ...runtime.stable_file import open_regular_file

if TYPE_CHECKING:
    from ...debugger.export_formats.format_registry import ExportFormat


def check_output_target(name: str, kind: str, read: Iterable[Path] = (), option: str = "--output ") -> ExportFormat:
    """Find out before a long run whether something can be saved there at all, and whether it may; and in which form.

    ``kind``: ``values`` or ``traces``; ``read``: files that the command reads or writes otherwise.

    Raises:
        UsageError: the path is a folder and no folder is written, or it lies in none; what is there is no file that a
            command like this one wrote; its ending names no form.
    """
    # Here, since a run that saves nothing needs none of it.
    from ...debugger.export_formats.format_registry import FOLDER_SUFFIX, find_format

    told, path = f"{option}{name}", Path(name)
    if path.is_dir() and not name.endswith(FOLDER_SUFFIX):
        inside = path / "outputs.npz"
        raise UsageError(f"{told}: is a folder; give a file, such as {inside}, or {path}/ for ONNX test data")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise UsageError(f"{told}: there is no folder '{folder}'")
    left = "it is left as it is, give another name"
    if any(is_same_file(path, other) for other in read):
        raise UsageError(f"{told}: this command reads or records that file; {left}")
    form = find_format(name, kind, told)
    if form.suffix == FOLDER_SUFFIX and path.is_dir():
        return form
    if path.exists() and not path.is_file():
        raise UsageError(f"{told}: is no regular file; {left}")
    if path.exists() and path.stat().st_size and not form.matches_header(_read_head(path)):
        raise UsageError(f"{told}: is there already, and is no {form.suffix}; {left}")
    return form


def is_same_file(path: Path, other: Path) -> bool:
    """Whether both are one file, there already or not."""
    try:
        return path.samefile(other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def _read_head(path: Path) -> bytes:
    """What a file begins with."""
    try:
        with open_regular_file(path) as file:
            return file.read(16)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or one_line(error)}") from None


def save_outputs(name: str, outputs: Mapping[str, Data], ports: Iterable[Port]) -> list[str]:
    """Write outputs in the form that a name asks for; returns what there is to say about it, one line each.

    Raises:
        UsageError: the file cannot be written.
    """
    from ...debugger.export_formats.format_registry import find_format, write_values

    types = {port.name: port.type for port in ports}
    try:
        return write_values(find_format(name, "values"), Path(name), outputs, types)
    except OSError as error:
        raise UsageError(f"--output {name}: cannot be written: {error.strerror or one_line(error)}") from None
