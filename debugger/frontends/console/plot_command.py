"""The ``plot`` command: a figure in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from ...describe.value_names import mask_quoted
from ...plots.figure_files import check_figure_suffix, save_figure
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command(
    "plot [NAME] FILE",
    "draw a value over iterations, or all that is carried, into a .png, .svg or .pdf",
    takes="expression",
)
def _plot(console: Console, rest: str) -> None:
    from ...plots.frame_figures import plot_over_iterations

    # Quoted names may contain blanks.
    separator = mask_quoted(rest).rfind(" ")
    name, file = rest[: max(separator, 0)].strip(), rest[separator + 1 :]
    if not file:
        raise UsageError("plot needs a file to draw into: plot h h.png")
    path = console.file_access.resolve_path(file, "plot")
    check_figure_suffix(path)
    save_figure(plot_over_iterations(console.selected_frame(), name.strip("`") or None), path)
    console.write_line(f"drawn into {path}")
