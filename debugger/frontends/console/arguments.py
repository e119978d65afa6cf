"""Parsing of command arguments."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from ....runtime.errors import UsageError, one_line
from ....runtime.text import escape_unprintable

#: The largest number in a command: sums of a few fit into the engine's counters.
_MAX_INTEGER = 10**18 - 1
#: Length of a path in an error message.
_SHOWN_PATH_CHARS = 80


def parse_integer(text: str, default: int | None = None, label: str = "a number") -> int:
    """Parse an integer argument.

    Raises:
        UsageError: it is no integer.
    """
    if not text and default is not None:
        return default
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise UsageError(
            f"{label} is needed, not '{text}'" if text else f"{label} is needed", expected=label, got=text or None
        )
    if len(text) > len(str(_MAX_INTEGER)):
        raise UsageError(
            f"{text} is too large; {_MAX_INTEGER} is the most", expected=f"at most {_MAX_INTEGER}", got=text
        )
    return int(text)


def reject_arguments(rest: str, name: str) -> None:
    """Reject arguments of a command that takes none.

    Raises:
        UsageError: there are some.
    """
    if rest:
        raise UsageError(f"{name} takes nothing after it, not '{rest}'", name=name, got=rest)


def parse_path(text: str) -> Path:
    """Parse a path; ``~`` is the home folder.

    Raises:
        UsageError: the path is invalid: it is too long, or there is no such home folder.
    """
    try:
        path = Path(text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, RuntimeError, ValueError) as error:
        message = error.strerror if isinstance(error, OSError) else one_line(error)
        excerpt = text if len(text) <= _SHOWN_PATH_CHARS else f"{text[:_SHOWN_PATH_CHARS]}…"
        raise UsageError(
            f"'{escape_unprintable(excerpt)}' cannot be the name of a file: {message}", name=text
        ) from None
    return path
