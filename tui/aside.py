"""What the console answers while something runs: commands that read nothing which moves."""

from __future__ import annotations

from typing import Any

from ..debugger.console.command import find, split
from ..debugger.console.console import Console
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


def answer(line: str, console: Console) -> list[str] | None:
    """What a line says that needs no stop; None where it needs one.

    Raises:
        UsageError: the line makes no sense.
    """
    word, rest = split(line)
    command = find(word)
    if command.name == "info" and rest and "loops".startswith(rest):
        return [f"{path}: {counted(count, 'iteration')} so far" for path, count in console.session.progress.items()]
    topic = command.name == "info" and bool(rest) and any(name.startswith(rest) for name in _TOPICS)
    if command.name not in _COMMANDS and not topic:
        return None
    listener = _Listener(console)
    command.run(listener, rest)
    return listener.said
