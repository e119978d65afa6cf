"""A line of the pseudo-code where there is no room for all of it: what it assigns and its operator stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ...debugger.words.names import mask
from .lines import Span, cells_of, fit_middle

#: No name is cut to fewer cells.
_LEAST_NAME = 4
_NAME = re.compile(r"`[^`]*`|[^\W\d][\w.]*")
_CUT = "…"


def fit_statement(spans: Sequence[Span], width: int) -> list[Span]:
    """The spans of an assignment, of which the last is what it computes, cut to ``width`` cells.

    Attributes go first, from the last one on; then the middles of the longest names; then operands, and all results but
    the first.
    """
    if cells_of(spans) <= width:
        return list(spans)
    *before, (text, role) = spans
    for start in (before, _with_one_result(before)):
        room = width - cells_of(start)
        for shown in _shorter(text, room):
            if cell_len(shown) <= room:
                return [*start, (shown, role)]
    return fit_middle(spans, width)


def _with_one_result(before: Sequence[Span]) -> list[Span]:
    """What is assigned, of several results the first."""
    return [(f"{text.partition(',')[0]}, {_CUT}" if "," in text else text, role) for text, role in before]


def _shorter(text: str, room: int) -> Iterator[str]:
    """An expression in fewer and fewer cells."""
    call = _call(text)
    if call is None:
        yield _with_short_names(text, room)
        return
    head, parts = call
    kept = list(parts)
    while kept and _is_attribute(kept[-1]):
        del kept[-1]
        text = f"{head}({', '.join([*kept, _CUT])})"
        yield text
    yield _with_short_names(text, room)
    while kept:
        del kept[-1]
        yield _with_short_names(f"{head}({', '.join([*kept, _CUT])})", room)


def _call(text: str) -> tuple[str, list[str]] | None:
    """What is called, and with what; None where the expression is no call."""
    masked = mask(text)
    head, opened, _ = masked.partition("(")
    if not opened or not masked.endswith(")") or not _NAME.fullmatch(head):
        return None
    parts, depth, begun = [], 0, len(head) + 1
    for k in range(begun, len(text) - 1):
        depth += (masked[k] in "([{") - (masked[k] in ")]}")
        if depth < 0:
            return None
        if masked[k] == "," and not depth:
            parts.append(text[begun:k].strip())
            begun = k + 1
    return text[: len(head)], [*parts, text[begun:-1].strip()]


def _is_attribute(part: str) -> bool:
    return re.match(r"\w+=(?!=)", part) is not None


def _with_short_names(text: str, room: int) -> str:
    """The longest names cut in their middles to one length, so that the whole fits where that can be."""
    names = [m for m in _NAME.finditer(text) if text[m.end() : m.end() + 1] != "("]
    excess = cell_len(text) - room
    lengths = [cell_len(m.group()) for m in names]
    most = max(lengths, default=0)
    while most > _LEAST_NAME and sum(max(0, length - most) for length in lengths) < excess:
        most -= 1
    shown, at = [], 0
    for name in names:
        shown += [text[at : name.start()], _cut(name.group(), most)]
        at = name.end()
    return "".join([*shown, text[at:]])


def _cut(name: str, cells: int) -> str:
    if cell_len(name) <= cells:
        return name
    end = cells // 2
    return f"{name[: cells - 1 - end]}{_CUT}{name[len(name) - end :]}"
