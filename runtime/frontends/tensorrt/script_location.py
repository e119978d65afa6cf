"""Locations in the user's script, and argument errors."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, Unpack

from ...errors import ErrorFields, ModelError
from ...graph import Origin
from ...python_scripts import is_library_file
from ...record import record

Kind = TypeVar("Kind")

#: Limit for the stored metadata of a layer.
_MAX_METADATA_CHARS = 200
#: Limit for the recorded callers of a layer.
_MAX_CALLERS = 16
_PACKAGE_FOLDER = str(Path(__file__).parent)


@record(frozen=True)
class ScriptLocation:
    """A line of a script."""

    path: str
    line: int
    #: The call stack as (file, line), the outermost first.
    callers: tuple[tuple[str, int], ...] = ()

    def origin(self, metadata: object = "") -> Origin:
        """The origin of a node; ``metadata``: the layer's metadata in the script, such as its exporter's node."""
        framework_node = metadata[:_MAX_METADATA_CHARS] if isinstance(metadata, str) else ""
        return Origin(self.path, self.line, framework_node=framework_node, callers=self.callers, script=True)

    def __str__(self) -> str:
        """``/models/net.py:4 (called from net.py:10)``."""
        called_from = self.origin().called_from
        return f"{self.path}:{self.line}" + (f" (called from {called_from})" if called_from else "")


class ArgumentError(ModelError, TypeError):
    """An argument of a wrong type; also a TypeError, as scripts expect."""


def argument_error(text: str, **fields: Unpack[ErrorFields]) -> ArgumentError:
    """An error with the line that called the API."""
    return ArgumentError(f"{caller_location()}: {text}", **fields)


def call_error(text: str, **fields: Unpack[ErrorFields]) -> ModelError:
    """An error with the line that called the API."""
    return ModelError(f"{caller_location()}: {text}", **fields)


def require_type(value: Any, kind: type[Kind], requirement: str) -> Kind:
    """Check the type of an argument, and return it. ``requirement``: the beginning of the error.

    Raises:
        ArgumentError: it has another one.
    """
    if not isinstance(value, kind):
        raise argument_error(f"{requirement}, not {value!r:.60}")
    return value


def caller_location() -> ScriptLocation:
    """The line that called the API: the innermost frame outside of this package, and its callers."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    lines = [(frame.f_code.co_filename, frame.f_lineno)]
    outer = frame.f_back
    # The next frame of this package runs the script.
    while outer is not None and len(lines) <= _MAX_CALLERS and not outer.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        line = outer.f_code.co_filename, outer.f_lineno
        # A comprehension has a separate frame on the same line.
        if line != lines[-1] and _is_users_file(line[0]):
            lines.append(line)
        outer = outer.f_back
    return ScriptLocation(*lines[0], tuple(reversed(lines[1:])))


@lru_cache(maxsize=256)
def _is_users_file(file: str) -> bool:
    """Whether a file is a module of the user: neither a library nor a launcher such as ``bin/pytest``."""
    return file.endswith(".py") and not is_library_file(file)
