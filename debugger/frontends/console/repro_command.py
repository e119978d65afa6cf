"""The ``repro`` command: test-case reduction of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runtime.errors import UsageError
from .command_registry import command

if TYPE_CHECKING:
    from .console import Console


@command(
    "repro DIR [WHAT]",
    "the smallest part that shows WHAT, as a folder for a bug report: nan, onnxruntime, openvino or if EXPR",
)
def _repro(console: Console, rest: str) -> None:
    folder, _, kind = rest.partition(" ")
    if not folder:
        raise UsageError("repro needs a folder to write: repro report, repro report onnxruntime, repro report if x > 1")
    for line in console.session.repro(console.file_access.resolve_path(folder, "repro"), kind.strip() or "nan").lines():
        console.write_line(line)
