"""Commands that write files for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command("save FILE", "a copy of the model's file with what was set on this branch: constants, initial values, ends")
def _save(console: Console, rest: str) -> None:
    if not rest:
        raise UsageError("save needs a file, named as the model is: save fixed.onnx")
    for path in console.session.save(console.file_access.resolve_path(rest, "save")):
        console.write_line(f"wrote {path}")


@command("extract DIR [all]", "this iteration, or all of this entry, as a model of its own with inputs and outputs")
def _extract(console: Console, rest: str) -> None:
    folder, _, more = rest.partition(" ")
    if not folder or more.strip() not in ("", "all"):
        raise UsageError("extract needs a folder, and takes nothing behind it but all: extract part, extract part all")
    extract_into(console, folder, whole=bool(more))


def extract_into(console: Console, folder: str, *, whole: bool) -> None:
    """Write the next iteration, or the entire entry of the loop, into a folder, and print the result.

    Raises:
        UsageError: the folder may not be written here, or exists already.
    """
    path = console.file_access.resolve_path(folder, "extract")
    result = console.session.extract(path, whole=whole, frame=console.selected_frame())
    console.write_line(f"wrote {result.what} as {result.model}: {result.proof}")
