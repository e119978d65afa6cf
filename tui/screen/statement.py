"""A line of the pseudo-code where there is no room for all of it: what it assigns and its operator stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ...debugger.words.names import mask
from .lines import Role, Span, cells_of, fit_middle, shortened
from .text import short_dtype

#: No name is cut to fewer cells.
_LEAST_NAME = 4
_NAME = re.compile(r"`[^`]*`|[^\W\d][\w.]*")
_CUT = "…"
#: A constant that is shown by its type, ``float32[2,3]``.
_TYPED = re.compile(r"^(b?float\d+|u?int\d+|complex\d+)(?=\[)")
_LIST = re.compile(r"\[[^\[\]]+\]")
#: The first of what is assigned, and what of it or beside it can be left out.
_FIRST = re.compile(r"^(\s*(?:`[^`]*`|[^\s,\[`]+))(?:(\[.*\])|,.*)$")
#: What is called or stands between operands, and from where on attributes follow.
_OPERATOR = re.compile(r"[^\W\d][\w.]*(?=\()|(?<= )(?:[-+*/@%<>=!&|^]+|and|or|not|if|else)(?= )|^(?:-|not\b)")
_ATTRIBUTES = re.compile(r"(?<=[(\s])[^\W\d]\w*=(?!=)")


def in_colours(spans: Sequence[Span]) -> list[Span]:
    """The spans of an assignment with what it computes taken apart: operators, operands, attributes."""
    found: list[Span] = []
    for k, (text, role) in enumerate(spans):
        computes = role is Role.PLAIN and k > 0 and spans[k - 1][0] == " = "
        found += _parts(text) if computes else [(text, role)]
    return found


def _parts(text: str) -> Iterator[Span]:
    masked = mask(text)
    attributes = _ATTRIBUTES.search(masked)
    end, at = attributes.start() if attributes else len(text), 0
    for operator in _OPERATOR.finditer(masked, 0, end):
        yield text[at : operator.start()], Role.PLAIN
        yield operator.group(), Role.OPERATOR
        at = operator.end()
    yield text[at:end], Role.PLAIN
    closing = len(text) - text.endswith(")") if attributes else end
    yield text[end:closing], Role.ATTRIBUTE
    yield text[closing:], Role.PLAIN


def fit_statement(spans: Sequence[Span], width: int) -> list[Span]:
    """The spans of an assignment, of which the last is what it computes, cut to ``width`` cells.

    Attributes go first, from the last one on; then the middles of the longest names; then operands, and all results but
    the first, and of that its indices; where no room is left for the operator, the middle of the first result.
    """
    if cells_of(spans) <= width:
        return list(spans)
    *before, (text, role) = spans
    for start in (before, _with_one_result(before)):
        room = width - cells_of(start)
        for shown in _shorter(text, room):
            if cell_len(shown) <= room:
                return [*start, (shown, role)]
    least = min(_shorter(text, 0), key=cell_len)
    start = _with_a_short_result(_with_one_result(before), width - cell_len(least))
    return fit_middle([*start, (least, role)], width)


def least_cells(spans: Sequence[Span], all_results: bool = False) -> int:
    """The cells in which the name of what is assigned, of several results the first or all, and the operator of an
    assignment are still whole."""
    *before, (text, _) = spans
    return cells_of(before if all_results else _with_one_result(before)) + min(map(cell_len, _shorter(text, 0)))


def _with_one_result(before: Sequence[Span]) -> list[Span]:
    """What is assigned, of several results the first, without its indices."""
    return [(_FIRST.sub(lambda found: f"{found[1]}[{_CUT}]" if found[2] else f"{found[1]}, {_CUT}", text), role)
            for text, role in before]  # fmt: skip


def _with_a_short_result(before: Sequence[Span], room: int) -> list[Span]:
    """What is assigned, in so many cells where its name can be cut so far."""
    longest = max(range(len(before)), key=lambda k: cell_len(before[k][0]), default=0)
    excess = cells_of(before) - room
    return [
        (shortened(text, max(_LEAST_NAME, cell_len(text) - excess)) if k == longest else text, role)
        for k, (text, role) in enumerate(before)
    ]


def _shorter(text: str, room: int) -> Iterator[str]:
    """An expression in fewer and fewer cells."""
    call = _call(text)
    if call is None:
        text = _TYPED.sub(lambda found: short_dtype(found[1]), text)
        yield text
        yield _with_short_names(text, room)
        short = _with_short_names(text, room, 1)
        yield short
        yield _LIST.sub(f"[{_CUT}]", short)
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


def _with_short_names(text: str, room: int, least: int = _LEAST_NAME) -> str:
    """The longest names cut in their middles to one length, so that the whole fits where that can be; to no fewer cells
    than ``least``."""
    names = [m for m in _NAME.finditer(text) if text[m.end() : m.end() + 1] != "("]
    excess = cell_len(text) - room
    lengths = [cell_len(m.group()) for m in names]
    most = max(lengths, default=0)
    while most > least and sum(max(0, length - most) for length in lengths) < excess:
        most -= 1
    shown, at = [], 0
    for name in names:
        shown += [text[at : name.start()], shortened(name.group(), most)]
        at = name.end()
    return "".join([*shown, text[at:]])
