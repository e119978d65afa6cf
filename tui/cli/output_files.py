"""``--output FILE``: saves outputs by name, in the format of the file's suffix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.errors import UsageError, file_error, missing_folder_error, one_line
from ...runtime.model import Data, Port
from ...runtime.safe_file_reading import open_regular_file

if TYPE_CHECKING:
    from ...debugger.export_formats.format_registry import ExportFormat


def check_output_target(name: str, kind: str, read: Iterable[Path] = (), option: str = "--output ") -> ExportFormat:
    """Check before a long run that a target can be written; returns its format.

    ``kind``: ``values`` or ``traces``; ``read``: other files that the command reads or writes.

    Raises:
        UsageError: The path is a folder but the format is a file, or its folder does not exist; an existing file has
            another format; the suffix is unknown.
    """
    # Imported lazily: only runs that save need it.
    from ...debugger.export_formats.format_registry import FOLDER_SUFFIX, find_format

    label, path = f"{option}{name}", Path(name)
    if path.is_dir() and not name.endswith(FOLDER_SUFFIX):
        example = path / "outputs.npz"
        raise UsageError(f"{label}: is a folder; give a file, such as {example}, or {path}/ for ONNX test data")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise missing_folder_error(label, folder)
    advice = "it is left as it is, give another name"
    if any(is_same_file(path, other) for other in read):
        raise UsageError(f"{label}: this command reads or records that file; {advice}")
    form = find_format(name, kind, label)
    if form.suffix == FOLDER_SUFFIX and path.is_dir():
        return form
    if path.exists() and not path.is_file():
        raise UsageError(f"{label}: is no regular file; {advice}")
    if path.exists() and path.stat().st_size and not form.matches_header(_read_first_bytes(path)):
        raise UsageError(f"{label}: is there already, and is no {form.suffix}; {advice}")
    return form


def is_same_file(path: Path, other: Path) -> bool:
    """Whether both paths are one file, which need not exist."""
    try:
        return path.samefile(other)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(other)


def _read_first_bytes(path: Path) -> bytes:
    """The first bytes of a file."""
    try:
        with open_regular_file(path) as file:
            return file.read(16)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be read", error) from None


def save_outputs(name: str, outputs: Mapping[str, Data], ports: Iterable[Port]) -> list[str]:
    """Write outputs in the format of the name's suffix; returns remarks, one line each.

    Raises:
        UsageError: The file cannot be written.
    """
    from ...debugger.export_formats.format_registry import find_format, write_values

    types = {port.name: port.type for port in ports}
    try:
        return write_values(find_format(name, "values"), Path(name), outputs, types)
    except OSError as error:
        raise UsageError(f"--output {name}: cannot be written: {error.strerror or one_line(error)}") from None
