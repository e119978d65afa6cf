"""Tokenizer of expressions, and quoting of value names."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .errors import ExpressionError
from .functions import FUNCTIONS
from .plain_number_arithmetic import MAX_BITS

#: Longer texts are rejected before tokenization.
MAX_EXPRESSION_CHARS = 2000

#: Words for the state of the loop.
STATE_WORDS = ("iter", "trip_count", "cond")
#: Words for constants, including Python's spellings.
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
#: Unquoted, these are never names of values.
RESERVED = frozenset((*STATE_WORDS, *CONSTANTS, *OPERATOR_WORDS))
#: They look like functions, but read their argument in another iteration.
TIME_SHIFT_FUNCTIONS = ("prev", "delta", "init", "history")
#: Keywords of locations in ``break``, and modes of ``watch``.
LOCATION_WORDS = ("iter", "line", "op", "if", "end", "nan", "overflow", "beyond")
WATCH_WORDS = ("changes", "crosses", "settles", "shape", "nan", "sign")
#: Values named ``history`` are common, and cannot be called.
_ALWAYS_QUOTED = RESERVED | {*FUNCTIONS, *TIME_SHIFT_FUNCTIONS, *LOCATION_WORDS, *WATCH_WORDS, "in"} - {"history"}

_WORD = re.compile(r"[^\W\d]\w*")
#: In quotes a backslash escapes the next character; a backquote in a name is doubled.
_NAME = re.compile(r"`(?:``|\\.|[^`\\])*+`", re.S)
_TEXT = re.compile(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+\"""", re.S)
_NUMBER = re.compile(
    r"0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?", re.A
)
_SIGN = re.compile(r"\.\.\.|\*\*|//|[<>=!]=|[-+*/%<>()\[\]:,@=]")
_SPACE = re.compile(r"\s*")
#: An escape by code point, as in Python, or by a letter.
_ESCAPE = re.compile(r"``|\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))", re.A | re.S)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
#: Quoted names do not count towards the length of an expression, since models have long names.
_QUOTED_NAME = re.compile(r"`[^`]*`")
_QUOTED = re.compile(rf"{_QUOTED_NAME.pattern}|{_TEXT.pattern}")
#: Longer names are always quoted.
_MAX_BARE_CHARS = 200
#: Syntax errors by first character, with a hint.
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
    """The kind of a token."""

    NUMBER = "number"
    TEXT = "string"
    WORD = "word"
    NAME = "quoted name"
    #: Includes ``and``, ``or`` and ``not``.
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
    """``value``: the number, the unescaped string or name, the word, or the sign."""

    kind: TokenKind
    value: Any
    position: int
    end: int


def quote(name: str) -> str:
    """A value's name as printed and accepted by the parser: bare if that is unambiguous, else in backquotes.

    Within backquotes, backquotes and backslashes are doubled, and unprintable characters are escaped as in Python:
    ``\\n``, ``\\x1b``, ``\\u202e``. Words of the language and of the commands are quoted too: functions, which a
    following parenthesis would call, and the keywords of ``break`` and ``watch``.
    """
    if _WORD.fullmatch(name) and name not in _ALWAYS_QUOTED and len(name) <= _MAX_BARE_CHARS:
        return name
    return backquote(name)


def backquote(name: str) -> str:
    """The name in backquotes, even if it could be bare."""
    text = name.replace("\\", "\\\\").replace("`", "``")
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"`{text}`"


def parse_quoted_name(text: str, start: int) -> tuple[str, int]:
    """Parse a quoted name that begins at ``start``, the inverse of :func:`quote`; returns the name and its end.

    Raises:
        ExpressionError: the closing backquote is missing, or an escape is unknown.
    """
    match = _NAME.match(text, start)
    if match is None:
        raise ExpressionError(text, start, *_SYNTAX_PROBLEMS["`"])
    return _unescape(match), match.end()


def mask_quoted(text: str) -> str:
    """The text with quoted parts masked, of the same length, for searches outside of quotes."""
    return _QUOTED.sub(lambda match: "_" * len(match[0]), text)


def tokenize(text: str) -> list[Token]:
    """All tokens of an expression, an end token last.

    Raises:
        ExpressionError: an invalid character or number, or an unclosed quote.
    """
    length = len(text) if len(text) <= MAX_EXPRESSION_CHARS else len(_QUOTED_NAME.sub("", text))
    if length > MAX_EXPRESSION_CHARS:
        raise ExpressionError(
            text, MAX_EXPRESSION_CHARS, f"the expression has {length} characters, more than {MAX_EXPRESSION_CHARS}"
        )
    tokens = []
    position = _skip_space(text, 0)
    while position < len(text):
        tokens.append(_read_token(text, position))
        position = _skip_space(text, tokens[-1].end)
    return [*tokens, Token(TokenKind.END, "", len(text), len(text))]


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match
    return match.end()


def _read_token(text: str, position: int) -> Token:
    for pattern, kind in _KINDS:
        match = pattern.match(text, position)
        if match is not None:
            kind_ = TokenKind.SIGN if match[0] in OPERATOR_WORDS else kind
            return Token(kind_, _TOKEN_VALUES[kind](match), position, match.end())
    raise _syntax_error(text, position)


def _syntax_error(text: str, position: int) -> ExpressionError:
    """The error for a character that begins no token."""
    char = text[position]
    if char != ".":
        hint = "a name with such characters is written between backquotes, as in `a:0`"
        return ExpressionError(text, position, *_SYNTAX_PROBLEMS.get(char, (f"unexpected {char!r}", hint)))
    word = _WORD.match(text, position + 1)
    prefix = re.search(r"[^\W\d]\w*$", text[:position])
    hint = "a name with a dot in it is written between backquotes"
    if word and word.group() in FUNCTIONS:
        hint = f"write {word.group()}({prefix.group() if prefix else 'x'})"
    elif word and prefix:
        hint = f"if the name is '{prefix.group()}.{word.group()}', write it between backquotes"
    return ExpressionError(text, position, "values have no attributes", hint)


def _number(match: re.Match[str]) -> int | float:
    text, digits, end = match.string, match[0], match.end()
    has_attribute = text.startswith(".", end) and not text.startswith("...", end)
    value: int | float
    try:
        if has_attribute or _WORD.match(text, end) or text[end : end + 1].isdigit():
            raise ValueError
        if digits[:2].lower() in ("0x", "0b", "0o"):
            value = int(digits, 0)
        else:
            value = int(digits) if digits.replace("_", "").isdecimal() else float(digits)
    except ValueError:
        raise ExpressionError(text, match.start(), "a number that cannot be read") from None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError(text, match.start(), f"a whole number of more than {MAX_BITS} bits")
    return value


def _unescape(quoted: re.Match[str]) -> str:
    """The contents of quotes with escapes and doubled backquotes replaced."""
    quote_char = quoted[0][0]

    def unescape_one(match: re.Match[str]) -> str:
        if match[0] == "``":
            return "`" if quote_char == "`" else "``"
        letter = match[4]
        if letter is None:
            number = int(match[match.lastindex or 0], 16)
            if number <= sys.maxunicode:
                return chr(number)
            letter = "U"
        if letter not in _ESCAPES:
            position = quoted.start() + 1 + match.start()
            problem = f"an unknown escape '\\{letter}'"
            raise ExpressionError(quoted.string, position, problem, "write '\\\\' for a backslash")
        return _ESCAPES[letter]

    return _ESCAPE.sub(unescape_one, quoted[0][1:-1])


_TOKEN_VALUES: dict[TokenKind, Callable[[re.Match[str]], Any]] = {
    TokenKind.NAME: _unescape,
    TokenKind.TEXT: _unescape,
    TokenKind.NUMBER: _number,
    TokenKind.WORD: re.Match.group,
    TokenKind.SIGN: re.Match.group,
}
