"""Colours of what ``run`` and its console print: a line is what it was, with colours around what one looks for."""

from __future__ import annotations

import re

_RESET = "\x1b[0m"
_RED, _BOLD_RED, _YELLOW, _BOLD, _DIM, _CYAN = (f"\x1b[{k}m" for k in ("31", "1;31", "33", "1", "2", "36"))

#: What a whole line is, by what it begins with.
_LINE_STYLES = (
    (re.compile(r"(?:error: |loopdbg: |assertion failed)"), _BOLD_RED),
    (re.compile(r"note: "), _YELLOW),
    (re.compile(r"inputs: "), _DIM),
    (re.compile(r"(?:breakpoint|watchpoint) \d+ \("), _BOLD),
    (re.compile(r"▶"), _BOLD),
)
#: Parts of the others: what is not finite, a comment of the listing, the values beside it.
_PART_PATTERN = re.compile(r"(?P<bad>(?<![\w.'])-?(?:nan|inf|NaN|Inf)(?![\w']))|(?P<comment>  # .*$)|(?P<value>│ .*$)")
_PART_STYLES = {"bad": _RED, "comment": _DIM, "value": _CYAN}


def colorize(line: str) -> str:
    """A line with its colours; what is not printable has left it before.

    >>> painted("note: the model has no loop")
    '\\x1b[33mnote: the model has no loop\\x1b[0m'
    """
    style = next((style for beginning, style in _LINE_STYLES if beginning.match(line)), "")
    if style:
        return f"{style}{line}{_RESET}"
    return _PART_PATTERN.sub(_colorize_match, line)


def _colorize_match(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    text = found[0]
    if kind == "value":
        # A value beside the listing may be what one looks for.
        text = re.sub(r"(?<![\w.'])-?(?:nan|inf)(?![\w'])", lambda bad: f"{_RED}{bad[0]}{_RESET}{_CYAN}", text)
    return f"{_PART_STYLES[kind]}{text}{_RESET}"
