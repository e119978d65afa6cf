"""What the console answers while something runs: commands that read nothing which moves."""

from __future__ import annotations

from typing import Any

from ..debugger.console.command import find, split
from ..debugger.console.console import Console
from ..debugger.expression.language import parse
from ..runtime.errors import UsageError
from ..runtime.text import counted

#: Commands, and topics of ``info``, that need no stop.
_COMMANDS = ("help", "echo")
_TOPICS = ("breakpoints", "displays")


class _Listener:
    """A console in all but what it says, which is the answer."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.said: list[str] = []

    def say(self, line: str) -> None:
        """A line of output."""
        self.said.append(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)


def _is_expression(line: str, console: Console) -> bool:
    """Whether a line that is no command reads values, which move."""
    try:
        names = parse(line).names
    except UsageError:
        return False
    places = console.session._inside.places
    return names != {line} or any(line in places.names(k) for k in (-1, *(one.index for one in places.loops)))


def answer(line: str, console: Console) -> list[str] | None:
    """What a line says that needs no stop; None where it needs one.

    Raises:
        UsageError: the line makes no sense.
    """
    word, rest = split(line)
    try:
        command = find(word)
    except UsageError:
        if _is_expression(line, console):
            return None
        raise
    if command.name == "info" and rest and "loops".startswith(rest):
        return [f"{path}: {counted(count, 'iteration')} so far" for path, count in console.session.progress.items()]
    topic = command.name == "info" and bool(rest) and any(name.startswith(rest) for name in _TOPICS)
    if command.name not in _COMMANDS and not topic:
        return None
    listener = _Listener(console)
    command.run(listener, rest)
    return listener.said
