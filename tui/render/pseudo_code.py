"""The model on the screen as pseudo-code: made once, and shared by the panes; and finding a line of it."""

from __future__ import annotations

from functools import lru_cache

from ...debugger.describe.pseudo_code import LineKind, PseudoCode, PseudoCodeLine, build_pseudo_code
from ...debugger.describe.value_names import quote, unquote
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop
from ...runtime.text import did_you_mean

#: Lines on which a value is made; others hand it on.
_VALUE_LINE_KINDS = (LineKind.NODE, LineKind.SLICE, LineKind.LOOP, LineKind.IF)


@lru_cache(maxsize=1)
def program_source(main: Graph) -> PseudoCode:
    """The lines of a model; those of the model shown last are kept."""
    return build_pseudo_code(main)


def find_line(found: PseudoCode, text: str, near: Loop | None = None) -> PseudoCodeLine:
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
    lines = [one for one in found.lines if name in _line_keys(one)] or [
        one for one in found.lines if any(other.endswith(f"/{name}") for other in _line_keys(one))
    ]
    if not lines:
        known = dict.fromkeys(other for one in found.lines for other in _line_keys(one))
        raise UsageError(f"no line makes or runs '{name}'{did_you_mean(name, known)}")
    return min(lines, key=lambda one: (one.loop is not near, one.kind not in _VALUE_LINE_KINDS))


@lru_cache(maxsize=4)
def line_names(found: PseudoCode) -> tuple[str, ...]:
    """The names that :func:`find_line` finds a line by, in order."""
    return tuple(sorted({quote(name) for line in found.lines for name in _line_keys(line) if name}))


def _line_keys(line: PseudoCodeLine) -> set[str]:
    """What a line is found by."""
    own = {name for value in line.values for name in value.names}
    return own if line.node is None else {*own, line.node.name}
