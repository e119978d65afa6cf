"""Sanitizes all messages to editors and pages: strings from files lose characters that end lines, reverse text or move
a terminal's cursor. Callers need not escape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.text import escape_lines, escape_unprintable


class MultilineText(tuple[str, ...]):
    """A text of several lines in a message. Any other string is sent as one line."""


def sanitize(value: Any) -> Any:
    """Sanitize a message or a part of one; ``value``: JSON data and :class:`MultilineText`."""
    match value:
        case MultilineText():
            return escape_lines(value)
        case str():
            return escape_unprintable(value)
        case Mapping():
            return {name: sanitize(part) for name, part in value.items()}
        case list() | tuple():
            return [sanitize(part) for part in value]
    return value
