"""The table of commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....runtime.errors import UsageError
from ....runtime.text import did_you_mean

#: What runs a command: a :class:`~.console.Console`, which finds it here, and the rest of its line.
CommandHandler = Callable[[Any, str], None]


@dataclass(frozen=True)
class ConsoleCommand:
    """One command. ``usage``: how it is written; ``summary``: one line; ``takes``: what completes its arguments."""

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

    def keep(run: CommandHandler) -> CommandHandler:
        name = usage.split()[0]
        COMMANDS[name] = ConsoleCommand(name, aliases, usage, summary, run, takes)
        for alias in aliases:
            ALIASES[alias] = name
        return run

    return keep


class QuitRequest(Exception):
    """The ``quit`` command; ``status`` is what the program ends with."""

    def __init__(self, status: int = 0) -> None:
        super().__init__(status)
        self.status = status


def split_command(text: str) -> tuple[str, str]:
    """The command's word of a line, and what follows it."""
    found = _COMMAND_WORD.match(text)
    word = found[0] if found else text.split()[0]
    return word, text[len(word) :].strip()


def resolves_to_command(word: str, name: str) -> bool:
    """Whether a word means the command of a name."""
    try:
        return find_command(word).name == name
    except UsageError:
        return False


def find_command(word: str, more: Mapping[str, ConsoleCommand] = MappingProxyType({})) -> ConsoleCommand:
    """The command that a word means: its name, an alias, or the beginning of only one name; ``more``: what a console
    has beside those of all.

    Raises:
        UsageError: there is none, or several begin like that.
    """
    name = ALIASES.get(word, word)
    known = {**COMMANDS, **more}
    if name in known:
        return known[name]
    begun = [one for one in known if one.startswith(word)]
    if len(begun) == 1:
        return known[begun[0]]
    if begun:
        raise UsageError(f"'{word}' may be {', '.join(begun)}")
    hint = did_you_mean(word, [*known, *ALIASES], "{}", 2) or "; help lists the commands"
    raise UsageError(f"there is no command '{word}'{hint}")
