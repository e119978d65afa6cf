"""Sanitizes all messages to editors and pages: strings from files lose characters that end lines, reverse text or move
a terminal's cursor. Callers need not escape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self

from ...runtime.text import escape_lines, escape_unprintable


class MultilineText(str):
    """A text of several lines in a message, whose lines are escaped. Any other string is sent as one line."""

    def __new__(cls, lines: Iterable[str] = ()) -> Self:
        return super().__new__(cls, escape_lines(lines))


def sanitize(value: Any) -> Any:
    """Sanitize a message or a part of one; ``value``: JSON data and :class:`MultilineText`."""
    match value:
        case MultilineText():
            return value
        case str():
            return escape_unprintable(value)
        case Mapping():
            return {name: sanitize(part) for name, part in value.items()}
        case list() | tuple():
            return [sanitize(part) for part in value]
    return value


def sanitized_json(message: Mapping[str, Any]) -> str:
    """A sanitized message as JSON."""
    text = json.dumps(message, ensure_ascii=False)
    # Without unprintable characters and without JSON's own escapes, no part of it needs any.
    if text.isprintable() and "\\" not in text:
        return text
    return json.dumps(sanitize(message), ensure_ascii=False)
