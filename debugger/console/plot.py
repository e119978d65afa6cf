"""The ``plot`` command: a figure in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...runtime.errors import UsageError
from ..plots.files import check_suffix, save
from ..words.names import mask
from .command import command

if TYPE_CHECKING:
    from .console import Console


@command(
    "plot [NAME] FILE", "draw a value over iterations, or all that is carried, into a .png, .svg or .pdf", takes="name"
)
def _plot(console: Console, rest: str) -> None:
    from ..plots.frames import over_iterations

    # Names between backquotes may hold blanks.
    cut = mask(rest).rfind(" ")
    name, file = rest[: max(cut, 0)].strip(), rest[cut + 1 :]
    if not file:
        raise UsageError("plot needs a file to draw into: plot h h.png")
    path = console.files.check(file, "plot")
    check_suffix(path)
    save(over_iterations(console.selected_frame(), name.strip("`") or None), path)
    console.say(f"drawn into {path}")
