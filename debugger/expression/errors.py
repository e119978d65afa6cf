"""Errors in expressions, with their position."""

from __future__ import annotations

from ...runtime.errors import UsageError
from ...runtime.text import escape_unprintable

#: Length of the excerpt of a long expression around the error in a message.
_EXCERPT_CHARS = 72
#: Maximum length of the problem and of the hint in a message.
_MAX_MESSAGE_CHARS = 400


class ScopeError(UsageError):
    """A name has no value here, or none in the requested iteration."""


class UnknownNameError(ScopeError):
    """There is no such name."""


class ExpressionError(UsageError):
    """An expression that cannot be parsed, or cannot be evaluated here.

    ``text`` is the expression and ``position`` the index of the character of the error. ``problem`` describes the error
    and ``hint``, if not empty, the remedy; ``message``, which is also the text of the exception, has both in one line.
    """

    def __init__(self, text: str, position: int, problem: str, hint: str = "") -> None:
        self.problem = _truncate(escape_unprintable(problem))
        self.text = text
        self.position = min(max(position, 0), len(text))
        self.hint = _truncate(escape_unprintable(hint))
        excerpt = _excerpt(text, self.position)
        message = f"{self.problem} at column {self.position + 1} of '{excerpt}'" if text.strip() else self.problem
        self.message = message + (f"; {self.hint}" if hint else "")
        super().__init__(self.message)


class NoValueError(ExpressionError, ScopeError):
    """An expression that reads a known name without a value here."""


class EvaluationProblem(Exception):
    """A failed computation; a caller that knows the position converts it to :class:`ExpressionError`."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


def _excerpt(text: str, position: int) -> str:
    """The part of a text around a position on one line, control characters as escapes."""
    start, end = 0, len(text)
    if end > _EXCERPT_CHARS:
        start = min(max(position - _EXCERPT_CHARS // 2, 0), end - _EXCERPT_CHARS)
        end = start + _EXCERPT_CHARS
    return ("…" if start else "") + escape_unprintable(text[start:end]) + ("…" if end < len(text) else "")


def _truncate(text: str) -> str:
    """Shorten a message, since names can be of any length."""
    return text if len(text) <= _MAX_MESSAGE_CHARS else text[: _MAX_MESSAGE_CHARS - 1] + "…"
