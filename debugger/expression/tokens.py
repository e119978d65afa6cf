"""From text to tokens, and how the names of values are written."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .errors import ExpressionError
from .functions import FUNCTIONS
from .plain import MAX_BITS

#: Longer texts are refused before anything else is done with them.
MAX_LENGTH = 2000

#: Words that stand for what the loop is doing.
STATE_WORDS = ("iter", "trip_count", "cond")
#: Words that stand for a constant. Python's spellings are taken as well.
CONSTANTS: dict[str, Any] = {
    "true": True,
    "false": False,
    "none": None,
    "inf": float("inf"),
    "nan": float("nan"),
    "True": True,
    "False": False,
    "None": None,
}
OPERATOR_WORDS = ("and", "or", "not")
#: Bare, these are never names of values.
RESERVED = frozenset((*STATE_WORDS, *CONSTANTS, *OPERATOR_WORDS))
#: Called as functions are, but their argument is read in another iteration.
PAST_FUNCTIONS = ("prev", "delta", "init")
#: What ``break`` takes for a kind of place, and what ``watch`` takes for a way of changing.
PLACE_WORDS = ("iter", "line", "op", "if", "end", "nan")
WATCH_WORDS = ("changes", "crosses", "settles", "shape", "nan", "sign")
_NEVER_BARE = RESERVED | {*FUNCTIONS, *PAST_FUNCTIONS, *PLACE_WORDS, *WATCH_WORDS, "in"}

_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?", re.A
)
_SIGNS = ("...", "**", "//", "<=", ">=", "==", "!=", *"+-*/%<>()[]:,@=")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
#: A character of a quoted name by its number, as Python writes what cannot be printed.
_NUMBERED = re.compile(r"x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})", re.A)
#: Names between backquotes do not count towards the length of an expression: they are as long as the model has them.
_NAMES = re.compile(r"`[^`]*`")
#: Longer names are quoted, whatever their characters are.
_BARE_LENGTH = 200
#: What people type from habit, and what to write here.
_HABITS = {
    "&": "write 'and' for truth values",
    "|": "write 'or' for truth values",
    "!": "write 'not', or '!=' to compare",
    "~": "write 'not' for truth values",
    "^": "write '**' for powers",
    ";": "one expression at a time",
    "{": "lists are written [1, 2]",
}


class Kind(Enum):
    """What a token is. The value is what messages call it."""

    NUMBER = "number"
    TEXT = "string"
    WORD = "word"
    NAME = "quoted name"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """``value``: the number, the string's or the name's own characters, the word, or the sign."""

    kind: Kind
    value: Any
    position: int
    end: int


def quote(name: str) -> str:
    """A value's name as it is written wherever it is shown, so that it can be typed back: bare where that reads as this
    name and nothing else, otherwise between backquotes.

    There a backquote is written twice, a backslash as well, and what cannot be printed as in Python: ``\\n``,
    ``\\x1b``, ``\\u202e``. Words of the language and of the commands are quoted too: functions, since what follows
    could make a call of them, and what ``break`` and ``watch`` take for a place.
    """
    if _WORD.fullmatch(name) and name not in _NEVER_BARE and len(name) <= _BARE_LENGTH:
        return name
    return in_backquotes(name)


def in_backquotes(name: str) -> str:
    """The name between backquotes, where it could stand without them as well."""
    text = name.replace("\\", "\\\\").replace("`", "``")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"`{text}`"


def tokenize(text: str) -> list[Token]:
    """All tokens of an expression, an end token last.

    Raises:
        ExpressionError: a character or a number that the language does not have, or a quote that is not closed.
    """
    length = len(text) if len(text) <= MAX_LENGTH else len(_NAMES.sub("", text))
    if length > MAX_LENGTH:
        raise ExpressionError(text, MAX_LENGTH, f"the expression has {length} characters, more than {MAX_LENGTH}")
    tokens = []
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        token = _next(text, at)
        tokens.append(token)
        at = token.end
    tokens.append(Token(Kind.END, "", len(text), len(text)))
    return tokens


def _next(text: str, at: int) -> Token:
    char = text[at]
    if char == "`":
        name, end = quoted_name(text, at)
        return Token(Kind.NAME, name, at, end)
    if char in "'\"":
        return _string(text, at)
    word = _WORD.match(text, at)
    if word:
        return Token(Kind.WORD, word.group(), at, word.end())
    number = _NUMBER.match(text, at)
    if number:
        return _number(text, number)
    sign = next((sign for sign in _SIGNS if text.startswith(sign, at)), None)
    if sign is not None:
        return Token(Kind.SIGN, sign, at, at + len(sign))
    if char == ".":
        raise _attribute(text, at)
    hint = _HABITS.get(char, "a name with such characters is written between backquotes, as in `a:0`")
    raise ExpressionError(text, at, f"unexpected {char!r}", hint)


def _attribute(text: str, at: int) -> ExpressionError:
    word = _WORD.match(text, at + 1)
    before = re.search(r"[^\W\d]\w*$", text[:at])
    hint = "a name with a dot in it is written between backquotes"
    if word and word.group() in FUNCTIONS:
        hint = f"write {word.group()}({before.group() if before else 'x'})"
    elif word and before:
        hint = f"if the name is '{before.group()}.{word.group()}', write it between backquotes"
    return ExpressionError(text, at, "values have no attributes", hint)


def _number(text: str, match: re.Match[str]) -> Token:
    written, end = match.group(), match.end()
    following = _WORD.match(text, end)
    dotted = text.startswith(".", end) and not text.startswith("...", end)
    if following or dotted or text[end : end + 1].isdigit():
        raise ExpressionError(text, match.start(), "a number that cannot be read")
    value: int | float
    try:
        if written[:2].lower() in ("0x", "0b", "0o"):
            value = int(written, 0)
        else:
            value = int(written) if written.replace("_", "").isdecimal() else float(written)
    except ValueError:
        raise ExpressionError(text, match.start(), "a number that cannot be read") from None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError(text, match.start(), f"a whole number of more than {MAX_BITS} bits")
    return Token(Kind.NUMBER, value, match.start(), end)


def quoted_name(text: str, at: int) -> tuple[str, int]:
    """The name between the backquotes that begin at ``at``, and where they end; what :func:`quote` writes.

    Raises:
        ExpressionError: the closing one is missing, or there is an escape that the language does not have.
    """
    characters: list[str] = []
    end = at + 1
    while end < len(text):
        char = text[end]
        if char == "`":
            if not text.startswith("``", end):
                return "".join(characters), end + 1
            characters.append(char)
            end += 2
        elif char == "\\":
            char, length = _escaped(text, end)
            characters.append(char)
            end += length
        else:
            characters.append(char)
            end += 1
    raise ExpressionError(text, at, "a backquote that is not closed")


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character that an escape in a quoted name stands for, and how long the escape is."""
    simple = text[at + 1 : at + 2]
    if simple in _ESCAPES:
        return _ESCAPES[simple], 2
    numbered = _NUMBERED.match(text, at + 1)
    number = int(numbered[numbered.lastindex or 0], 16) if numbered else -1
    if numbered is None or number > sys.maxunicode:
        raise ExpressionError(text, at, f"an unknown escape '\\{simple}'", "write '\\\\' for a backslash")
    return chr(number), 1 + len(numbered[0])


def _string(text: str, at: int) -> Token:
    mark = text[at]
    characters: list[str] = []
    end = at + 1
    while end < len(text) and text[end] != mark:
        if text[end] == "\\":
            escaped = text[end + 1 : end + 2]
            if escaped not in _ESCAPES:
                raise ExpressionError(text, end, f"an unknown escape '\\{escaped}'", "write '\\\\' for a backslash")
            characters.append(_ESCAPES[escaped])
            end += 2
        else:
            characters.append(text[end])
            end += 1
    if end >= len(text):
        raise ExpressionError(text, at, "a string that is not closed")
    return Token(Kind.TEXT, "".join(characters), at, end + 1)
