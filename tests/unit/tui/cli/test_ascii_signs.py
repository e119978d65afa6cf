"""Where a terminal knows only ASCII, each sign of our own texts has another that says the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopdbg.tui.cli import terminal

assert terminal  # which registers how errors of encoding are met
ROOT = Path(__file__).parents[4]
#: What has a text of its own around it.
_OF_TEXT = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(path: Path) -> Iterator[str]:
    """The strings of a file that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    message = set()
    for node in ast.walk(tree):
        body = node.body if isinstance(node, _OF_TEXT) else []
        message |= {id(line.value) for line in body if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in message:
            yield node.value


@pytest.mark.parametrize("folder", ["tui", "debugger", "runtime"])
def test_signs_have_plain_ones(folder: str) -> None:
    unknown: dict[str, str] = {}
    seen = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        for text in texts(path):
            seen += 1
            # Each sign is one cell on the screen, and stays one.
            if "?" not in text and (plain := text.encode("ascii", "loopdbg-screen").decode()) and "?" in plain:
                unknown[text] = str(path.relative_to(ROOT))
            assert len(text.encode("ascii", "loopdbg-screen")) == len(text)
    assert seen > 100 and unknown == {}


def test_the_streams_have_them_too() -> None:
    assert "→ Δ ✓ …".encode("ascii", "loopdbg") == b"-> d + ..."
