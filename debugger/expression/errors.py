"""What goes wrong with an expression, and how it is pointed at."""

from __future__ import annotations

import unicodedata

from ...runtime.errors import UsageError
from ...runtime.text import escape_unprintable

#: How much of a long expression a message shows around the character it is about.
_EXCERPT_CHARS = 72
#: What is wrong, and what to do about it, take at most so many characters each.
_MAX_MESSAGE_CHARS = 400


class ScopeError(UsageError):
    """A name has no value here, or none in the iteration asked for."""


class UnknownNameError(ScopeError):
    """There is no such name at all."""


class ExpressionError(UsageError):
    """An expression that cannot be read, or cannot be computed here.

    ``text`` is the expression and ``position`` the index of the character that the error is about. ``problem`` says
    what is wrong and ``hint``, where there is one, what to do; ``message``, which is also the text of the exception, is
    all of it in one line.
    """

    def __init__(self, text: str, position: int, problem: str, hint: str = "") -> None:
        self.problem = _truncate(escape_unprintable(problem))
        self.text = text
        self.position = min(max(position, 0), len(text))
        self.hint = _truncate(escape_unprintable(hint))
        shown, _ = _excerpt(text, self.position)
        where = f"{self.problem} at column {self.position + 1} of '{shown}'" if text.strip() else self.problem
        self.message = where + (f"; {self.hint}" if hint else "")
        super().__init__(self.message)

    def caret_text(self) -> str:
        """Two lines for a console: the expression, and a caret under the character with what is wrong."""
        shown, column = _excerpt(self.text, self.position)
        before = " " * sum(_column_width(c) for c in shown[:column])
        return f"{shown}\n{before}^ {self.problem}" + (f"; {self.hint}" if self.hint else "")


class NoValueError(ExpressionError, ScopeError):
    """An expression that reads what has no value here, though there is such a name."""


class EvaluationProblem(Exception):
    """Something that cannot be computed; whoever knows the place makes an :class:`ExpressionError` of it."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def _excerpt(text: str, position: int) -> tuple[str, int]:
    """The part of a text around a position on one line, control characters as escapes, and the position in it."""
    start, end = 0, len(text)
    if end > _EXCERPT_CHARS:
        start = min(max(position - _EXCERPT_CHARS // 2, 0), end - _EXCERPT_CHARS)
        end = start + _EXCERPT_CHARS
    before = ("…" if start else "") + escape_unprintable(text[start:position])
    return before + escape_unprintable(text[position:end]) + ("…" if end < len(text) else ""), len(before)


def _truncate(text: str) -> str:
    """Names can be of any length."""
    return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1] + "…"


def _column_width(char: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
