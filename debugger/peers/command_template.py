"""The command of a peer that is a program: ``PROGRAM {model} {inputs} {outputs}``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...runtime.errors import UsageError

PLACEHOLDERS = ("{model}", "{inputs}", "{outputs}")
#: Prefix of a program that is run as a peer.
COMMAND = "cmd"
COMMAND_USAGE = f"{COMMAND}:PROGRAM {' '.join(PLACEHOLDERS)}"


def split_command(text: str, required: Sequence[str] = PLACEHOLDERS) -> list[str]:
    """Split a command into words, as a shell does; ``required``: placeholders that it must have.

    Raises:
        UsageError: it is not a command, or lacks a placeholder.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"'{text}' is no command: {str(error).lower()}") from None
    missing = [name for name in required if not any(name in word for word in words)]
    if missing or words[0] in PLACEHOLDERS:
        lack = ", ".join(missing) or "a program"
        raise UsageError(f"the command '{text}' lacks {lack}: write PROGRAM {' '.join(required)}")
    return words


def command_script_name(text: str) -> str:
    """The name of the script of a command, for reports: the last file with a suffix before the placeholders; else that
    of the program."""
    words = split_command(text)
    first = next(k for k, word in enumerate(words) if any(name in word for name in PLACEHOLDERS))
    script = next((word for word in reversed(words[1:first]) if Path(word).suffix and word[0] != "-"), words[0])
    return Path(script).name


def fill_command_placeholders(word: str, values: Mapping[str, str]) -> str:
    """Return a word of a command with its placeholders replaced."""
    for name, value in values.items():
        word = word.replace(name, value)
    return word
