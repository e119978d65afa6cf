"""Where in the user's script something was written, and errors that say so."""

from __future__ import annotations

import sys
from pathlib import Path

from ...errors import ModelError
from ...graph import Origin
from ...record import record

#: Of a layer's metadata so much is kept.
_LONGEST = 200
_HERE = str(Path(__file__).parent)


@record(frozen=True)
class Place:
    """A line of a script."""

    path: str
    line: int

    def origin(self, metadata: object = "") -> Origin:
        """The place as that of a node; ``metadata``: what the script says of the layer, such as its exporter's node."""
        told = metadata[:_LONGEST] if isinstance(metadata, str) else ""
        return Origin(self.path, self.line, framework_node=told, script=True)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class ArgumentError(ModelError, TypeError):
    """An argument of another type than the call takes; a TypeError as well, as scripts know it."""


def place() -> Place:
    """The line of whoever called the API: the innermost frame that is none of its own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)
