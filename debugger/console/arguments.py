"""Reading what stands behind the word of a command."""

from __future__ import annotations

import re

from ...runtime.errors import UsageError

#: The largest number that a command takes: sums of a few still fit into the engine's counters.
_MOST = 10**18 - 1


def number(text: str, default: int | None = None, what: str = "a number") -> int:
    """A whole number that a command takes.

    Raises:
        UsageError: it is none.
    """
    if not text and default is not None:
        return default
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise UsageError(f"{what} is needed, not '{text}'" if text else f"{what} is needed")
    if len(text) > len(str(_MOST)):
        raise UsageError(f"{text} is too large; {_MOST} is the most")
    return int(text)


def no_more(rest: str, name: str) -> None:
    """Refuse arguments of a command that takes none.

    Raises:
        UsageError: there are some.
    """
    if rest:
        raise UsageError(f"{name} takes nothing after it, not '{rest}'")
