"""Where in the user's script something was written, and errors that say so."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

from ...errors import ModelError
from ...graph import Origin
from ...python_scripts import is_library_file
from ...record import record

#: Of a layer's metadata so much is kept.
_MAX_METADATA_CHARS = 200
#: Calls recorded for each layer; recursive helpers can be nested deeper.
_MAX_CALLERS = 16
_PACKAGE_FOLDER = str(Path(__file__).parent)


@record(frozen=True)
class ScriptLocation:
    """A line of a script."""

    path: str
    line: int
    #: The lines that called the function which contains the line, the outermost first: file and line.
    callers: tuple[tuple[str, int], ...] = ()

    def origin(self, metadata: object = "") -> Origin:
        """The place as that of a node; ``metadata``: what the script says of the layer, such as its exporter's node."""
        told = metadata[:_MAX_METADATA_CHARS] if isinstance(metadata, str) else ""
        return Origin(self.path, self.line, framework_node=told, callers=self.callers, script=True)

    def __str__(self) -> str:
        """``/models/net.py:4 (called from net.py:10)``."""
        called_from = self.origin().called_from
        return f"{self.path}:{self.line}" + (f" (called from {called_from})" if called_from else "")


class ArgumentError(ModelError, TypeError):
    """An argument of another type than the call takes; a TypeError as well, as scripts know it."""


def caller_location() -> ScriptLocation:
    """The line of whoever called the API: the innermost frame that is none of its own, and the calls that led there."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    lines = [(frame.f_code.co_filename, frame.f_lineno)]
    outer = frame.f_back
    # The next frame of this package is the one that runs the script.
    while outer is not None and len(lines) <= _MAX_CALLERS and not outer.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        line = outer.f_code.co_filename, outer.f_lineno
        # A comprehension has a frame of its own on the same line.
        if line != lines[-1] and _is_users_file(line[0]):
            lines.append(line)
        outer = outer.f_back
    return ScriptLocation(*lines[0], tuple(reversed(lines[1:])))


@lru_cache(maxsize=256)
def _is_users_file(file: str) -> bool:
    """A module of the user's: neither a library nor the launcher of a program, such as ``bin/pytest``."""
    return file.endswith(".py") and not is_library_file(file)
