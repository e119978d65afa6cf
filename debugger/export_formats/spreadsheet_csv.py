"""Rows of ``.csv`` files for people, spreadsheets and line-based programs.

Names and texts from files are escaped as in a terminal, so that none adds a line. A text that a spreadsheet would take
for a formula (``=HYPERLINK(...)``, ``@SUM(...)``) gets a leading apostrophe. Numbers are unchanged. Programs that need
the unescaped names of the model read ``.parquet``, ``.npz`` or JSON instead.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import IO, Any

from ...runtime.text import escape_unprintable

#: Prefixes of formulas in spreadsheet programs.
_FORMULA_PREFIXES = ("=", "+", "-", "@")


def row_writer(file: IO[str]) -> Callable[[Iterable[Any]], object]:
    """A function that writes a row to a file opened with ``newline=""``."""
    write = csv.writer(file).writerow
    return lambda row: write(_escape_cell(value) if isinstance(value, str) else value for value in row)


def unescape_cell(text: str) -> str:
    """Remove the apostrophe that escapes a formula prefix."""
    return text[1:] if text.startswith(tuple(f"'{sign}" for sign in _FORMULA_PREFIXES)) else text


def _escape_cell(text: str) -> str:
    text = escape_unprintable(text)
    return f"'{text}" if text.startswith(_FORMULA_PREFIXES) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
