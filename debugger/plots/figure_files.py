"""Writes figures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...runtime.atomic_file import atomic_binary, write_text
from ...runtime.errors import UsageError, file_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .vector_drawing import VectorDrawing

#: The supported file formats.
FIGURE_SUFFIXES = (".png", ".svg", ".pdf")


def check_figure_suffix(path: Path) -> None:
    """Check the file format before anything is drawn.

    Raises:
        UsageError: the suffix is not supported, or the path is a folder.
    """
    if path.suffix.lower() not in FIGURE_SUFFIXES:
        raise UsageError(
            f"{path}: name it {', '.join(FIGURE_SUFFIXES[:-1])} or {FIGURE_SUFFIXES[-1]}",
            name=str(path),
            expected=", ".join(FIGURE_SUFFIXES),
        )
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give a file", name=str(path), expected="a file", got="a folder")


def save_drawing(drawing: VectorDrawing, path: Path) -> None:
    """Write a drawing; as SVG its text is searchable and elements have tooltips.

    Raises:
        UsageError: the file cannot be written.
    """
    if path.suffix.lower() != ".svg":
        from .drawing_to_figure import drawing_to_figure

        save_figure(drawing_to_figure(drawing), path)
        return
    try:
        write_text(path, drawing.svg())
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, replacing an existing file.

    Raises:
        UsageError: the file cannot be written.
    """
    # No timestamps: equal figures give equal files.
    suffix = path.suffix.lower()
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix)
    try:
        with atomic_binary(path) as file:
            figure.savefig(file, format=suffix[1:], dpi=144, metadata=metadata)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None
