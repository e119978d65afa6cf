"""What could be typed next, for front ends that complete."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .errors import ExpressionError
from .functions import FUNCTIONS
from .tokens import OPERATOR_WORDS, STATE_WORDS, TIME_SHIFT_FUNCTIONS, backquote, parse_quoted_name, quote

_COMPLETABLE_WORDS = (*STATE_WORDS, *OPERATOR_WORDS, "true", "false", "none", "inf", "nan")
_MAX_COMPLETIONS = 200


def completion_start(text: str, cursor: int) -> int:
    """Where the word that is being typed begins; -1 inside a string, where nothing can be completed."""
    at = 0
    while at < cursor:
        char = text[at]
        if char in "'\"":
            end = _string_end(text, at, cursor)
        elif char == "`":
            end = _name_end(text, at, cursor)
            if end > cursor:
                return at
        else:
            word = re.compile(r"\w+").match(text, at, cursor)
            if word and word.end() == cursor:
                # Digits first: a number, which nothing completes.
                return at if not char.isdigit() else cursor
            end = word.end() if word else at + 1
        if end > cursor:
            return -1
        at = end
    return cursor


def completions(text: str, cursor: int, names: Iterable[str]) -> list[str]:
    """What could stand in place of ``text[completion_start(text, cursor):cursor]``: names first, functions, words.

    A name that is quoted is offered for the beginning of any of its parts: ``LSTM`` gives ```/rnn/LSTM_output_0```.
    """
    cursor = min(max(cursor, 0), len(text))
    start = completion_start(text, cursor)
    if start < 0:
        return []
    typed = text[start:cursor]
    quoted = typed.startswith("`")
    wanted = _partial_name(typed) if quoted else typed
    first, later = [], []
    for name in sorted(set(names)):
        if name.startswith(wanted):
            first.append(quote(name) if not quoted else backquote(name))
        elif wanted and any(part.startswith(wanted) for part in re.split(r"(?<=[^\w])|_", name)):
            later.append(quote(name) if not quoted else backquote(name))
    found = first + later
    if not quoted:
        found += [f"{name}(" for name in sorted((*FUNCTIONS, *TIME_SHIFT_FUNCTIONS)) if name.startswith(wanted)]
        found += [word for word in _COMPLETABLE_WORDS if word.startswith(wanted)]
    return found[:_MAX_COMPLETIONS]


def _partial_name(typed: str) -> str:
    """As much of a name as stands after a backquote that is still open."""
    try:
        return parse_quoted_name(typed + "`", 0)[0]
    except ExpressionError:
        # It ends within an escape.
        return typed[1:]


def _string_end(text: str, at: int, cursor: int) -> int:
    """The end of the string that begins at ``at``; past the cursor where it is still open there."""
    k = at + 1
    while k < cursor:
        if text[k] == "\\":
            k += 1
        elif text[k] == text[at]:
            return k + 1
        k += 1
    return cursor + 1


def _name_end(text: str, at: int, cursor: int) -> int:
    k = at + 1
    while k < cursor:
        if text[k] == "`":
            if text[k + 1 : k + 2] != "`" or k + 1 >= cursor:
                return k + 1
            k += 1
        k += 1
    return cursor + 1
