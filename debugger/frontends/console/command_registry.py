"""Registry of console commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....runtime.errors import UsageError
from ....runtime.text import did_you_mean

#: Runs a command with a :class:`~.console.Console` and the rest of the line.
CommandHandler = Callable[[Any, str], None]


@dataclass(frozen=True)
class ConsoleCommand:
    """One command. ``usage``: its syntax; ``summary``: one line; ``completion_kind``: completion of its arguments."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    summary: str
    run: CommandHandler
    completion_kind: str = ""


#: Every command by name, in the order of the help.
COMMANDS: dict[str, ConsoleCommand] = {}
ALIASES: dict[str, str] = {}
_COMMAND_WORD = re.compile(r"[A-Za-z][\w-]*")


def command(usage: str, summary: str, *aliases: str, takes: str = "") -> Callable[..., CommandHandler]:
    """Register a function as a command; ``takes``: one of the kinds of :mod:`.completion`."""

    def register(run: CommandHandler) -> CommandHandler:
        name = usage.split()[0]
        COMMANDS[name] = ConsoleCommand(name, aliases, usage, summary, run, takes)
        for alias in aliases:
            ALIASES[alias] = name
        return run

    return register


class QuitRequest(Exception):
    """The ``quit`` command; ``status``: the exit status."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


def split_command(text: str) -> tuple[str, str]:
    """The command word of a line, and the rest."""
    match = _COMMAND_WORD.match(text)
    word = match[0] if match else text.split()[0]
    return word, text[len(word) :].strip()


def resolves_to_command(word: str, name: str) -> bool:
    """Whether a word resolves to the command with a name."""
    try:
        return find_command(word).name == name
    except UsageError:
        return False


def find_command(word: str, more: Mapping[str, ConsoleCommand] = MappingProxyType({})) -> ConsoleCommand:
    """The command of a word: its name, an alias, or a unique prefix; ``more``: additional commands of a console.

    Raises:
        UsageError: there is none, or the prefix is ambiguous.
    """
    name = ALIASES.get(word, word)
    commands = {**COMMANDS, **more}
    if name in commands:
        return commands[name]
    matches = [name_ for name_ in commands if name_.startswith(word)]
    if len(matches) == 1:
        return commands[matches[0]]
    if matches:
        raise UsageError(f"'{word}' may be {', '.join(matches)}", name=word, expected=", ".join(matches))
    hint = did_you_mean(word, [*commands, *ALIASES], "{}", 2) or "; help lists the commands"
    raise UsageError(f"there is no command '{word}'{hint}", name=word)
