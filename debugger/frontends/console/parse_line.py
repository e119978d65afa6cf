"""What a line means: a command, or an expression whose value is to be printed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ....runtime.errors import UsageError
from ....runtime.text import did_you_mean
from ...expression.language import ExpressionError, parse
from .command_registry import ALIASES, COMMANDS, ConsoleCommand, find_command, split_command

#: A line that begins as commands do: with a word and a blank, or with that alone.
_COMMAND_LINE = re.compile(r"(?P<word>[A-Za-z][\w-]*)(?P<more>\s.*)?")
#: What looks like an assignment to a name.
_ASSIGNMENT = re.compile(r"(?P<name>`[^`]+`|\w+)\s*(?:\[.*\])?\s*=(?!=)")


def parse_line(line: str, names: Collection[str], more: Mapping[str, ConsoleCommand]) -> tuple[ConsoleCommand, str]:
    """The command of a line, and what stands behind its word; ``print`` and the line where that is an expression.

    A command's name and its short forms win over a value of that name, but where ``[`` or ``@`` follows at once; that
    wins over a beginning of a command's name.
    ``names``: those that values have here; ``more``: commands of this console beside those of all.

    Raises:
        UsageError: the line is neither.
    """
    word, rest = split_command(line)
    known = {**COMMANDS, **more}
    name = ALIASES.get(word, word)
    if name in known and line[len(word) : len(word) + 1] not in ("[", "@"):
        return known[name], rest
    try:
        expression = parse(line)
    except ExpressionError as problem:
        return _resolve_command(line, word, names, more, problem), rest
    if expression.names <= set(names):
        return COMMANDS["print"], line
    return _resolve_unknown_name(line, known, names)


def _resolve_command(
    line: str, word: str, names: Collection[str], more: Mapping[str, ConsoleCommand], why: UsageError
) -> ConsoleCommand:
    """The command of a line that is no expression; ``why``: what is wrong with it as one."""
    assigns = _ASSIGNMENT.match(line)
    if assigns is not None and assigns["name"].strip("`") in names:
        raise UsageError(f"'{line}' is no command; set {line} changes a value, == compares")
    if word in names or not _COMMAND_LINE.fullmatch(line):
        raise why
    return find_command(word, more)


def _resolve_unknown_name(
    line: str, known: Mapping[str, ConsoleCommand], names: Collection[str]
) -> tuple[ConsoleCommand, str]:
    """What a line means that could be an expression, but of names that no value has."""
    word, rest = split_command(line)
    if not _COMMAND_LINE.fullmatch(line):
        return COMMANDS["print"], line
    try:
        return find_command(word, known), rest
    except UsageError:
        if rest:
            return COMMANDS["print"], line
        near = "" if any(name.startswith(line) for name in known) else did_you_mean(line, names)
        if not near:
            raise
        raise UsageError(f"there is no command and no value '{line}'{near}") from None
