"""The keys of a walk-through: the rows of its tables, in order, and what must be visible after each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopdbg.runtime.errors import UsageError
from loopdbg.tui.actions import parse_key

_SPAN = re.compile(r"`([^`]+)`")
_OPEN_COMMAND = re.compile(r"^loopdbg (\S+)$", re.M)


@dataclass(frozen=True)
class WalkthroughStep:
    """One row: the keys (including typed texts), and the texts on the screen afterwards."""

    line: int
    keys: tuple[str, ...]
    visible_texts: tuple[str, ...]


def key_for_span(span: str) -> str:
    """The key that a code span denotes; "" if it is a text to type."""
    try:
        return parse_key(span)
    except UsageError:
        return ""


def read_chapters(path: Path) -> Iterator[tuple[str, list[WalkthroughStep]]]:
    """The models that are opened, each with its rows."""
    model, rows = "", list[WalkthroughStep]()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        opened = _OPEN_COMMAND.match(line)
        if opened:
            if model:
                yield model, rows
            model, rows = opened[1], []
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 3:
            rows.append(WalkthroughStep(number, tuple(_SPAN.findall(cells[0])), tuple(_SPAN.findall(cells[2]))))
    yield model, rows
