"""Reading what stands behind the word of a command."""

from __future__ import annotations

import re
from pathlib import Path

from ....runtime.errors import UsageError, one_line
from ....runtime.text import escape_unprintable

#: The largest number that a command takes: sums of a few still fit into the engine's counters.
_MAX_INTEGER = 10**18 - 1
#: The characters of a path that an error shows.
_SHOWN_PATH_CHARS = 80


def parse_integer(text: str, default: int | None = None, what: str = "a number") -> int:
    """A whole number that a command takes.

    Raises:
        UsageError: it is none.
    """
    if not text and default is not None:
        return default
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise UsageError(f"{what} is needed, not '{text}'" if text else f"{what} is needed")
    if len(text) > len(str(_MAX_INTEGER)):
        raise UsageError(f"{text} is too large; {_MAX_INTEGER} is the most")
    return int(text)


def reject_arguments(rest: str, name: str) -> None:
    """Refuse arguments of a command that takes none.

    Raises:
        UsageError: there are some.
    """
    if rest:
        raise UsageError(f"{name} takes nothing after it, not '{rest}'")


def parse_path(text: str) -> Path:
    """The path that a person typed, ``~`` standing for the home folder.

    Raises:
        UsageError: the system takes no such name: it is too long, or there is no such home folder.
    """
    try:
        path = Path(text).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as problem:
        told = problem.strerror if isinstance(problem, OSError) else one_line(problem)
        shown = text if len(text) <= _SHOWN_PATH_CHARS else f"{text[:_SHOWN_PATH_CHARS]}…"
        raise UsageError(f"'{escape_unprintable(shown)}' cannot be the name of a file: {told}") from None
    return path
