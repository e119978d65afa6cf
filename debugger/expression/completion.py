"""Completion of expressions for front ends."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .errors import ExpressionError
from .functions import FUNCTIONS
from .tokens import OPERATOR_WORDS, STATE_WORDS, TIME_SHIFT_FUNCTIONS, backquote, parse_quoted_name, quote

_COMPLETABLE_WORDS = (*STATE_WORDS, *OPERATOR_WORDS, "true", "false", "none", "inf", "nan")
_MAX_COMPLETIONS = 200


def completion_start(text: str, cursor: int) -> int:
    """The start of the word before the cursor; -1 inside a string, which has no completions."""
    position = 0
    while position < cursor:
        char = text[position]
        if char in "'\"":
            end = _string_end(text, position, cursor)
        elif char == "`":
            end = _name_end(text, position, cursor)
            if end > cursor:
                return position
        else:
            word = re.compile(r"\w+").match(text, position, cursor)
            if word and word.end() == cursor:
                # A number has no completions.
                return position if not char.isdigit() else cursor
            end = word.end() if word else position + 1
        if end > cursor:
            return -1
        position = end
    return cursor


def completions(text: str, cursor: int, names: Iterable[str]) -> list[str]:
    """Replacements for ``text[completion_start(text, cursor):cursor]``: names, functions, then words.

    A quoted name matches by the prefix of any of its parts: ``LSTM`` gives ```/rnn/LSTM_output_0```.
    """
    cursor = min(max(cursor, 0), len(text))
    start = completion_start(text, cursor)
    if start < 0:
        return []
    typed = text[start:cursor]
    quoted = typed.startswith("`")
    prefix = _partial_name(typed) if quoted else typed
    prefix_matches, part_matches = [], []
    for name in sorted(set(names)):
        if name.startswith(prefix):
            prefix_matches.append(quote(name) if not quoted else backquote(name))
        elif prefix and any(part.startswith(prefix) for part in re.split(r"(?<=[^\w])|_", name)):
            part_matches.append(quote(name) if not quoted else backquote(name))
    candidates = prefix_matches + part_matches
    if not quoted:
        candidates += [f"{name}(" for name in sorted((*FUNCTIONS, *TIME_SHIFT_FUNCTIONS)) if name.startswith(prefix)]
        candidates += [word for word in _COMPLETABLE_WORDS if word.startswith(prefix)]
    return candidates[:_MAX_COMPLETIONS]


def _partial_name(typed: str) -> str:
    """The partial name after an open backquote."""
    try:
        return parse_quoted_name(typed + "`", 0)[0]
    except ExpressionError:
        # It ends inside an escape.
        return typed[1:]


def _string_end(text: str, start: int, cursor: int) -> int:
    """The end of the string that begins at ``start``; past the cursor if it is still open."""
    position = start + 1
    while position < cursor:
        if text[position] == "\\":
            position += 1
        elif text[position] == text[start]:
            return position + 1
        position += 1
    return cursor + 1


def _name_end(text: str, start: int, cursor: int) -> int:
    position = start + 1
    while position < cursor:
        if text[position] == "`":
            if text[position + 1 : position + 2] != "`" or position + 1 >= cursor:
                return position + 1
            position += 1
        position += 1
    return cursor + 1
