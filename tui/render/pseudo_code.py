"""Cached pseudo-code of the model on the screen, shared by the panes, and lookup of its lines."""

from __future__ import annotations

from functools import lru_cache

from ...debugger.describe.pseudo_code import LineKind, PseudoCode, PseudoCodeLine, build_pseudo_code
from ...debugger.describe.value_names import quote, unquote
from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop
from ...runtime.text import did_you_mean

#: Lines that define a value; others forward it.
_VALUE_LINE_KINDS = (LineKind.NODE, LineKind.SLICE, LineKind.LOOP, LineKind.IF)


@lru_cache(maxsize=1)
def model_pseudo_code(main: Graph) -> PseudoCode:
    """The pseudo-code of a model; the last model is cached."""
    return build_pseudo_code(main)


def find_line(source: PseudoCode, text: str, loop: Loop | None = None) -> PseudoCodeLine:
    """The line with a number, or the one that defines a value or runs a node with a name or path suffix. ``loop``:
    the loop whose lines are preferred.

    Raises:
        UsageError: There is no such line.
    """
    if text.isdecimal():
        line = next((candidate for candidate in source.lines if str(candidate.number) == text.lstrip("0")), None)
        if line is None:
            raise UsageError(f"there is no line {text}; the model has {len(source.lines)} lines", name=text)
        return line
    name = unquote(text)
    lines = [candidate for candidate in source.lines if name in _line_keys(candidate)] or [
        candidate for candidate in source.lines if any(key.endswith(f"/{name}") for key in _line_keys(candidate))
    ]
    if not lines:
        known = dict.fromkeys(key for candidate in source.lines for key in _line_keys(candidate))
        raise UsageError(f"no line makes or runs '{name}'{did_you_mean(name, known)}", name=name)
    return min(lines, key=lambda candidate: (candidate.loop is not loop, candidate.kind not in _VALUE_LINE_KINDS))


@lru_cache(maxsize=4)
def line_names(source: PseudoCode) -> tuple[str, ...]:
    """The names that :func:`find_line` finds a line by, in order."""
    return tuple(sorted({quote(name) for line in source.lines for name in _line_keys(line) if name}))


def _line_keys(line: PseudoCodeLine) -> set[str]:
    """The names that identify a line."""
    keys = {name for value in line.values for name in value.names}
    return keys if line.node is None else {*keys, line.node.name}
