"""Rows of ``.csv`` files, whose readers are people, spreadsheets and programs that go by lines.

Names and texts out of files are written as in a terminal, so that none adds a line. One that a spreadsheet would take
for a formula (``=HYPERLINK(...)``, ``@SUM(...)``) gets an apostrophe in front. Numbers stay what they are. Programs
that need names as they are in the model read ``.parquet``, ``.npz`` or JSON, which no text in them can damage.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import IO, Any

from ...runtime.text import escape_unprintable

#: How a formula begins in one spreadsheet or another.
_FORMULA_PREFIXES = ("=", "+", "-", "@")


def row_writer(file: IO[str]) -> Callable[[Iterable[Any]], object]:
    """A function that writes a row to a file opened with ``newline=""``."""
    write = csv.writer(file).writerow
    return lambda row: write(_escape_cell(value) if isinstance(value, str) else value for value in row)


def unescape_cell(text: str) -> str:
    """A text that was written, without the apostrophe in front of what could be a formula."""
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
