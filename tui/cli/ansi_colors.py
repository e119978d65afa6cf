"""ANSI colours for the output of ``run`` and its console; the text of a line is unchanged."""

from __future__ import annotations

import re

_RESET = "\x1b[0m"
_RED, _BOLD_RED, _YELLOW, _BOLD, _DIM, _CYAN = (f"\x1b[{k}m" for k in ("31", "1;31", "33", "1", "2", "36"))

#: Style of a complete line, by its beginning.
_LINE_STYLES = (
    (re.compile(r"(?:error: |loopdbg: |assertion failed)"), _BOLD_RED),
    (re.compile(r"note: "), _YELLOW),
    (re.compile(r"inputs: "), _DIM),
    (re.compile(r"(?:breakpoint|watchpoint) \d+ \("), _BOLD),
    (re.compile(r"▶"), _BOLD),
)
#: Styled parts of other lines: non-finite numbers, comments and values of a listing.
_PART_PATTERN = re.compile(r"(?P<bad>(?<![\w.'])-?(?:nan|inf|NaN|Inf)(?![\w']))|(?P<comment>  # .*$)|(?P<value>│ .*$)")
_PART_STYLES = {"bad": _RED, "comment": _DIM, "value": _CYAN}


def colorize(line: str) -> str:
    """Add colours to a line without unprintable characters.

    >>> colorize("note: the model has no loop")
    '\\x1b[33mnote: the model has no loop\\x1b[0m'
    """
    style = next((style for pattern, style in _LINE_STYLES if pattern.match(line)), "")
    if style:
        return f"{style}{line}{_RESET}"
    return _PART_PATTERN.sub(_colorize_match, line)


def _colorize_match(match: re.Match[str]) -> str:
    kind = str(match.lastgroup)
    text = match[0]
    if kind == "value":
        # Highlight non-finite numbers in listing values.
        text = re.sub(r"(?<![\w.'])-?(?:nan|inf)(?![\w'])", lambda match: f"{_RED}{match[0]}{_RESET}{_CYAN}", text)
    return f"{_PART_STYLES[kind]}{text}{_RESET}"
