"""Parser of console lines: a command, or an expression to print."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ....runtime.errors import UsageError
from ....runtime.text import did_you_mean
from ...expression.expression import ExpressionError, parse
from .command_registry import ALIASES, COMMANDS, ConsoleCommand, find_command, split_command

#: A line with the form of a command: a word, optionally followed by a blank and arguments.
_COMMAND_LINE = re.compile(r"(?P<word>[A-Za-z][\w-]*)(?P<more>\s.*)?")
#: A line with the form of an assignment.
_ASSIGNMENT = re.compile(r"(?P<name>`[^`]+`|\w+)\s*(?:\[.*\])?\s*=(?!=)")


def parse_line(line: str, names: Collection[str], more: Mapping[str, ConsoleCommand]) -> tuple[ConsoleCommand, str]:
    """The command of a line, and its arguments; ``print`` and the line for an expression.

    A command's name and aliases take precedence over a value of that name, unless ``[`` or ``@`` follows immediately; a
    value takes precedence over a prefix of a command's name.
    ``names``: names of values in scope; ``more``: additional commands of this console.

    Raises:
        UsageError: the line is neither.
    """
    word, rest = split_command(line)
    commands = {**COMMANDS, **more}
    name = ALIASES.get(word, word)
    if name in commands and line[len(word) : len(word) + 1] not in ("[", "@"):
        return commands[name], rest
    try:
        expression = parse(line)
    except ExpressionError as error:
        return _resolve_command(line, word, names, more, error), rest
    if expression.names <= set(names):
        return COMMANDS["print"], line
    return _resolve_unknown_name(line, commands, names)


def _resolve_command(
    line: str, word: str, names: Collection[str], more: Mapping[str, ConsoleCommand], error: UsageError
) -> ConsoleCommand:
    """The command of a line that is no expression; ``error``: the syntax error as an expression."""
    assignment = _ASSIGNMENT.match(line)
    if assignment is not None and assignment["name"].strip("`") in names:
        raise UsageError(f"'{line}' is no command; set {line} changes a value, == compares", name=line)
    if word in names or not _COMMAND_LINE.fullmatch(line):
        raise error
    return find_command(word, more)


def _resolve_unknown_name(
    line: str, commands: Mapping[str, ConsoleCommand], names: Collection[str]
) -> tuple[ConsoleCommand, str]:
    """The command of a line that is an expression with unknown names."""
    word, rest = split_command(line)
    if not _COMMAND_LINE.fullmatch(line):
        return COMMANDS["print"], line
    try:
        return find_command(word, commands), rest
    except UsageError:
        if rest:
            return COMMANDS["print"], line
        hint = "" if any(name.startswith(line) for name in commands) else did_you_mean(line, names)
        if not hint:
            raise
        raise UsageError(f"there is no command and no value '{line}'{hint}", name=line) from None
