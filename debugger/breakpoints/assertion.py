"""Assertions: conditions that must hold at every boundary of a loop, ``EXPRESSION`` or ``EXPRESSION in LOOP``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from ...runtime.errors import UsageError
from ...runtime.safe_file_reading import read_text
from ..describe.value_names import mask_quoted
from ..expression.expression import Expression, ExpressionError, parse

#: The clause that selects a loop, at the end of a text.
IN_LOOP_CLAUSE = re.compile(r"(?:^|\s+)in\s+(?P<loop>\S+)\s*$")


def split_loop_clause(text: str) -> tuple[str, str]:
    """The expression of an assertion, and the clause ``in LOOP`` after it ("": none)."""
    match = IN_LOOP_CLAUSE.search(mask_quoted(text))
    return (text, "") if match is None else (text[: match.start()], text[match.start() :].strip())


def parse_assertion(text: str) -> Expression:
    """The expression of an assertion.

    Raises:
        ExpressionError: it is not valid.
    """
    return parse(split_loop_clause(text)[0])


def violation_location(text: str) -> str:
    """The location, in the syntax of ``break``, that stops where an assertion does not hold."""
    expression, clause = split_loop_clause(text)
    return f"if not ({expression}) {clause}".rstrip()


def read_invariants(path: str | os.PathLike[str]) -> list[str]:
    """The assertions in a file of invariants: one a line; empty lines and lines that begin with ``#`` are left out.

    Raises:
        UsageError: the file cannot be read, has no assertion, or a line is not valid.
    """
    try:
        lines = read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}", name=str(path)) from None
    texts = {number: line.strip() for number, line in enumerate(lines, 1)}
    texts = {number: text for number, text in texts.items() if text and not text.startswith("#")}
    if not texts:
        raise UsageError(f"{path}: has no assertion; each line is one, as 'all(x >= 0) in LOOP'", name=str(path))
    for number, text in texts.items():
        try:
            parse_assertion(text)
        except ExpressionError as error:
            raise UsageError(f"{path}, line {number}: {error}", name=str(path)) from None
    return list(texts.values())


def expand_assertion_files(texts: Iterable[str]) -> list[str]:
    """Assertions with those of files in place of ``@FILE``.

    Raises:
        UsageError: as for :func:`read_invariants`.
    """
    return [line for text in texts for line in (read_invariants(text[1:]) if text.startswith("@") else [text])]
