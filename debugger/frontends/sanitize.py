"""What leaves for an editor or a page: the one place where names and strings out of files lose what would end a line,
turn text around or move a terminal's cursor. Whatever makes a message need not think of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...runtime.text import escape_lines, escape_unprintable


class MultilineText(tuple[str, ...]):
    """A text of several lines, in a message. Any other string there is one line, whatever is in it."""


def sanitize(value: Any) -> Any:
    """A message, or a part of one, as it is sent: ``value`` is what JSON can hold, and :class:`MultilineText`."""
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
