"""Read-only commands allowed while the session is busy."""

from __future__ import annotations

from typing import Any

from ..debugger.expression.expression import parse
from ..debugger.frontends.console.command_registry import find_command, split_command
from ..debugger.frontends.console.console import Console
from ..runtime.errors import UsageError
from ..runtime.text import count_text

#: Commands and ``info`` topics that need no stop.
_QUERY_COMMANDS = ("help", "echo")
_INFO_TOPICS = ("breakpoints", "displays")


class _OutputCollector:
    """Console proxy that collects the output."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.output: list[str] = []

    def write_line(self, line: str) -> None:
        """Collect a line of output."""
        self.output.append(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._console, name)


def _reads_values(line: str, console: Console) -> bool:
    """Whether a line that is no command is an expression that reads values, which change during the run."""
    try:
        names = parse(line).names
    except UsageError:
        return False
    table = console.session.controller.symbols
    return names != {line} or any(line in table.names_in_scope(k) for k in (-1, *(item.index for item in table.loops)))


def answer_query(line: str, console: Console) -> list[str] | None:
    """Run a line that needs no stop and return its output; None if it needs one.

    Raises:
        UsageError: the line is invalid.
    """
    word, rest = split_command(line)
    try:
        command = find_command(word)
    except UsageError:
        if _reads_values(line, console):
            return None
        raise
    if command.name == "info" and rest and "loops".startswith(rest):
        return [f"{path}: {count_text(count, 'iteration')} so far" for path, count in console.session.progress.items()]
    topic = command.name == "info" and bool(rest) and any(name.startswith(rest) for name in _INFO_TOPICS)
    if command.name not in _QUERY_COMMANDS and not topic:
        return None
    collector = _OutputCollector(console)
    command.run(collector, rest)
    return collector.output
