"""From text to tokens, and how the names of values are written."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .errors import ExpressionError
from .functions import FUNCTIONS
from .scalar_arithmetic import MAX_BITS

#: Longer texts are refused before anything else is done with them.
MAX_EXPRESSION_CHARS = 2000

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
TIME_SHIFT_FUNCTIONS = ("prev", "delta", "init", "history")
#: What ``break`` takes for a kind of place, and what ``watch`` takes for a way of changing.
LOCATION_WORDS = ("iter", "line", "op", "if", "end", "nan")
WATCH_WORDS = ("changes", "crosses", "settles", "shape", "nan", "sign")
#: Values called history are common, and no expression calls one.
_ALWAYS_QUOTED = RESERVED | {*FUNCTIONS, *TIME_SHIFT_FUNCTIONS, *LOCATION_WORDS, *WATCH_WORDS, "in"} - {"history"}

_WORD = re.compile(r"[^\W\d]\w*")
#: Between quotes a backslash escapes what follows; a backquote in a name is written twice.
_NAME = re.compile(r"`(?:``|\\.|[^`\\])*+`", re.S)
_TEXT = re.compile(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+\"""", re.S)
_NUMBER = re.compile(
    r"0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?", re.A
)
_SIGN = re.compile(r"\.\.\.|\*\*|//|[<>=!]=|[-+*/%<>()\[\]:,@=]")
_SPACE = re.compile(r"\s*")
#: A character by its number, as Python writes what cannot be printed, or by a letter.
_ESCAPE = re.compile(r"``|\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))", re.A | re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
#: Names between backquotes do not count towards the length of an expression: they are as long as the model has them.
_QUOTED_NAME = re.compile(r"`[^`]*`")
_QUOTED = re.compile(rf"{_QUOTED_NAME.pattern}|{_TEXT.pattern}")
#: Longer names are quoted, whatever their characters are.
_MAX_BARE_CHARS = 200
#: What cannot be read, by its first character, and what to write here.
_SYNTAX_PROBLEMS = {
    "`": ("a backquote that is not closed", ""),
    "'": ("a string that is not closed", ""),
    '"': ("a string that is not closed", ""),
    "&": ("unexpected '&'", "write 'and' for truth values"),
    "|": ("unexpected '|'", "write 'or' for truth values"),
    "!": ("unexpected '!'", "write 'not', or '!=' to compare"),
    "~": ("unexpected '~'", "write 'not' for truth values"),
    "^": ("unexpected '^'", "write '**' for powers"),
    ";": ("unexpected ';'", "one expression at a time"),
    "{": ("unexpected '{'", "lists are written [1, 2]"),
}


class TokenKind(Enum):
    """What a token is."""

    NUMBER = "number"
    TEXT = "string"
    WORD = "word"
    NAME = "quoted name"
    #: ``and``, ``or`` and ``not`` as well.
    SIGN = "sign"
    END = "end"


_KINDS = (
    (_NAME, TokenKind.NAME),
    (_TEXT, TokenKind.TEXT),
    (_WORD, TokenKind.WORD),
    (_NUMBER, TokenKind.NUMBER),
    (_SIGN, TokenKind.SIGN),
)


@dataclass(frozen=True, slots=True)
class Token:
    """``value``: the number, the string's or the name's own characters, the word, or the sign."""

    kind: TokenKind
    value: Any
    position: int
    end: int


def quote(name: str) -> str:
    """A value's name as it is always printed, so that it can be typed back: bare where that reads as this
    name and nothing else, otherwise between backquotes.

    There a backquote is written twice, a backslash as well, and what cannot be printed as in Python: ``\\n``,
    ``\\x1b``, ``\\u202e``. Words of the language and of the commands are quoted too: functions, since what follows
    could make a call of them, and what ``break`` and ``watch`` take for a place.
    """
    if _WORD.fullmatch(name) and name not in _ALWAYS_QUOTED and len(name) <= _MAX_BARE_CHARS:
        return name
    return backquote(name)


def backquote(name: str) -> str:
    """The name between backquotes, where it could stand without them as well."""
    text = name.replace("\\", "\\\\").replace("`", "``")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"`{text}`"


def parse_quoted_name(text: str, at: int) -> tuple[str, int]:
    """The name between the backquotes that begin at ``at``, and where they end; what :func:`quote` writes.

    Raises:
        ExpressionError: the closing one is missing, or there is an escape that the language does not have.
    """
    found = _NAME.match(text, at)
    if found is None:
        raise ExpressionError(text, at, *_SYNTAX_PROBLEMS["`"])
    return _unescape(found), found.end()


def mask_quoted(text: str) -> str:
    """The text with everything in quotes overwritten, of the same length: for finding words and signs outside."""
    return _QUOTED.sub(lambda match: "_" * len(match[0]), text)


def tokenize(text: str) -> list[Token]:
    """All tokens of an expression, an end token last.

    Raises:
        ExpressionError: a character or a number that the language does not have, or a quote that is not closed.
    """
    length = len(text) if len(text) <= MAX_EXPRESSION_CHARS else len(_QUOTED_NAME.sub("", text))
    if length > MAX_EXPRESSION_CHARS:
        raise ExpressionError(
            text, MAX_EXPRESSION_CHARS, f"the expression has {length} characters, more than {MAX_EXPRESSION_CHARS}"
        )
    tokens = []
    at = _skip_space(text, 0)
    while at < len(text):
        tokens.append(_read_token(text, at))
        at = _skip_space(text, tokens[-1].end)
    return [*tokens, Token(TokenKind.END, "", len(text), len(text))]


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found
    return found.end()


def _read_token(text: str, at: int) -> Token:
    for pattern, kind in _KINDS:
        found = pattern.match(text, at)
        if found is not None:
            sign = TokenKind.SIGN if found[0] in OPERATOR_WORDS else kind
            return Token(sign, _TOKEN_VALUES[kind](found), at, found.end())
    raise _syntax_error(text, at)


def _syntax_error(text: str, at: int) -> ExpressionError:
    """The error for a character that begins nothing."""
    char = text[at]
    if char != ".":
        hint = "a name with such characters is written between backquotes, as in `a:0`"
        return ExpressionError(text, at, *_SYNTAX_PROBLEMS.get(char, (f"unexpected {char!r}", hint)))
    word = _WORD.match(text, at + 1)
    before = re.search(r"[^\W\d]\w*$", text[:at])
    hint = "a name with a dot in it is written between backquotes"
    if word and word.group() in FUNCTIONS:
        hint = f"write {word.group()}({before.group() if before else 'x'})"
    elif word and before:
        hint = f"if the name is '{before.group()}.{word.group()}', write it between backquotes"
    return ExpressionError(text, at, "values have no attributes", hint)


def _number(found: re.Match[str]) -> int | float:
    text, written, end = found.string, found[0], found.end()
    dotted = text.startswith(".", end) and not text.startswith("...", end)
    value: int | float
    try:
        if dotted or _WORD.match(text, end) or text[end : end + 1].isdigit():
            raise ValueError
        if written[:2].lower() in ("0x", "0b", "0o"):
            value = int(written, 0)
        else:
            value = int(written) if written.replace("_", "").isdecimal() else float(written)
    except ValueError:
        raise ExpressionError(text, found.start(), "a number that cannot be read") from None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError(text, found.start(), f"a whole number of more than {MAX_BITS} bits")
    return value


def _unescape(quoted: re.Match[str]) -> str:
    """What stands between quotes, escapes and doubled backquotes as the characters that they stand for."""
    mark = quoted[0][0]

    def plain(found: re.Match[str]) -> str:
        if found[0] == "``":
            return "`" if mark == "`" else "``"
        letter = found[4]
        if letter is None:
            number = int(found[found.lastindex or 0], 16)
            if number <= sys.maxunicode:
                return chr(number)
            letter = "U"
        if letter not in _ESCAPES:
            position = quoted.start() + 1 + found.start()
            problem = f"an unknown escape '\\{letter}'"
            raise ExpressionError(quoted.string, position, problem, "write '\\\\' for a backslash")
        return _ESCAPES[letter]

    return _ESCAPE.sub(plain, quoted[0][1:-1])


_TOKEN_VALUES: dict[TokenKind, Callable[[re.Match[str]], Any]] = {
    TokenKind.NAME: _unescape,
    TokenKind.TEXT: _unescape,
    TokenKind.NUMBER: _number,
    TokenKind.WORD: re.Match.group,
    TokenKind.SIGN: re.Match.group,
}
