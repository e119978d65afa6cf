"""Command lines on the documentation pages have options and arguments that the program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest

import source_checks
from loopdbg.runtime.errors import LoopdbgError
from loopdbg.tui.cli import _choose_command

ROOT = source_checks.ROOT
PAGES = [
    path for pattern in ("*.md", "docs/**/*.md", "editors/**/*.md", "sample_models/*.md") for path in ROOT.glob(pattern)
]
_FENCE = re.compile(r"^```(?:console|sh|text|yaml|)\n(.*?)^```$", re.S | re.M)
_COMMAND = re.compile(r"^(?:\$ |- run: )?(loopdbg .*?)(?:\s+#\s.*)?$", re.M)


def command_lines() -> Iterator[tuple[str, str]]:
    for page in sorted(PAGES):
        if page.name != "CHANGELOG.md":
            for block in _FENCE.findall(page.read_text("utf-8")):
                yield from ((page.relative_to(ROOT).as_posix(), line) for line in _COMMAND.findall(block))


def words_of(line: str) -> list[str]:
    """The arguments, up to a redirection or a pipe."""
    words = shlex.split(line)[1:]
    return words[: next((k for k, word in enumerate(words) if word in ("<", ">", "|", "&")), len(words))]


def test_command_lines_are_found() -> None:
    assert len({page for page, _ in command_lines()}) > 10


@pytest.mark.parametrize(("page", "line"), list(dict.fromkeys(command_lines())))
def test_command_line_is_valid(page: str, line: str) -> None:
    command, rest = _choose_command(words_of(line))
    try:
        command.parser().parse(rest)
    except LoopdbgError as error:
        pytest.fail(f"{page}: {line}: {error}")
