"""The model on the screen as pseudo-code: made once, and shared by the panes; and finding a line of it."""

from __future__ import annotations

from functools import lru_cache

from ...debugger.words.names import quote, unquote
from ...debugger.words.source import Line, LineKind, Source, source
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop
from ...runtime.text import did_you_mean

#: Lines on which a value is made; others hand it on.
_MAKES = (LineKind.NODE, LineKind.SLICE, LineKind.LOOP, LineKind.IF)


@lru_cache(maxsize=1)
def program(main: Graph) -> Source:
    """The lines of a model; those of the model shown last are kept."""
    return source(main)


def line_called(found: Source, text: str, near: Loop | None = None) -> Line:
    """The line of a number; the one that makes a value, or runs a node, of a name or of the end of a path. ``near``:
    the loop whose lines are meant first where several loops have that name.

    Raises:
        UsageError: there is none.
    """
    if text.isdecimal():
        line = next((one for one in found.lines if str(one.number) == text.lstrip("0")), None)
        if line is None:
            raise UsageError(f"there is no line {text}; the model has {len(found.lines)} lines")
        return line
    name = unquote(text)
    lines = [one for one in found.lines if name in _names(one)] or [
        one for one in found.lines if any(other.endswith(f"/{name}") for other in _names(one))
    ]
    if not lines:
        known = dict.fromkeys(other for one in found.lines for other in _names(one))
        raise UsageError(f"no line makes or runs '{name}'{did_you_mean(name, known)}")
    return min(lines, key=lambda one: (one.loop is not near, one.kind not in _MAKES))


@lru_cache(maxsize=4)
def line_names(found: Source) -> tuple[str, ...]:
    """The names that :func:`line_called` finds a line by, in order."""
    return tuple(sorted({quote(name) for line in found.lines for name in _names(line) if name}))


def _names(line: Line) -> set[str]:
    """What a line is found by."""
    own = {name for value in line.values for name in value.names}
    return own if line.node is None else {*own, line.node.name}
