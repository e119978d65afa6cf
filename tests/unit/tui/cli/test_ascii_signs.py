"""On a terminal that knows only ASCII, each symbol of our own texts has a replacement with the same meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopdbg.tui.cli import terminal

assert terminal  # registers the encoding error handler
ROOT = Path(__file__).parents[4]
#: Modules whose texts handle their own symbols.
_OF_TEXT = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(path: Path) -> Iterator[str]:
    """The string literals of a file except docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    message = set()
    for node in ast.walk(tree):
        body = node.body if isinstance(node, _OF_TEXT) else []
        message |= {id(line.value) for line in body if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in message:
            yield node.value


@pytest.mark.parametrize("folder", ["tui", "debugger", "runtime"])
def test_symbols_have_ascii_replacements(folder: str) -> None:
    unknown: dict[str, str] = {}
    seen = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        for text in texts(path):
            seen += 1
            # Each symbol is one cell on the screen, and so is its replacement.
            if "?" not in text and (plain := text.encode("ascii", "loopdbg-screen").decode()) and "?" in plain:
                unknown[text] = str(path.relative_to(ROOT))
            assert len(text.encode("ascii", "loopdbg-screen")) == len(text)
    assert seen > 100 and unknown == {}


def test_output_streams_replace_symbols() -> None:
    assert "→ Δ ✓ …".encode("ascii", "loopdbg") == b"-> d + ..."
