"""A line of the pseudo-code where there is no room for all of it: what it assigns and its operator stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ...debugger.describe.value_names import mask_quoted
from .formatting import short_dtype
from .styled_text import Role, Span, shorten_name, spans_width, truncate_middle

#: No name is cut to fewer cells.
_NAME_MIN_CELLS = 4
_NAME_PATTERN = re.compile(r"`[^`]*`|[^\W\d][\w.]*")
_ELLIPSIS = "…"
#: A constant that is shown by its type, ``float32[2,3]``.
_TYPED_CONSTANT_PATTERN = re.compile(r"^(b?float\d+|u?int\d+|complex\d+)(?=\[)")
_LIST_PATTERN = re.compile(r"\[[^\[\]]+\]")
#: The first of what is assigned, and what of it or beside it can be left out.
_FIRST_RESULT_PATTERN = re.compile(r"^(\s*(?:`[^`]*`|[^\s,\[`]+))(?:(\[.*\])|,.*)$")
#: What is called or stands between operands, and from where on attributes follow.
_OPERATOR_PATTERN = re.compile(r"[^\W\d][\w.]*(?=\()|(?<= )(?:[-+*/@%<>=!&|^]+|and|or|not|if|else)(?= )|^(?:-|not\b)")
_ATTRIBUTES_PATTERN = re.compile(r"(?<=[(\s])[^\W\d]\w*=(?!=)")


def color_statement(spans: Sequence[Span]) -> list[Span]:
    """The spans of an assignment with what it computes taken apart: operators, operands, attributes."""
    found: list[Span] = []
    for k, (text, role) in enumerate(spans):
        computes = role is Role.PLAIN and k > 0 and spans[k - 1][0] == " = "
        found += _expression_spans(text) if computes else [(text, role)]
    return found


def _expression_spans(text: str) -> Iterator[Span]:
    masked = mask_quoted(text)
    attributes = _ATTRIBUTES_PATTERN.search(masked)
    end, at = attributes.start() if attributes else len(text), 0
    for operator in _OPERATOR_PATTERN.finditer(masked, 0, end):
        yield text[at : operator.start()], Role.PLAIN
        yield operator.group(), Role.OPERATOR
        at = operator.end()
    yield text[at:end], Role.PLAIN
    closing = len(text) - text.endswith(")") if attributes else end
    yield text[end:closing], Role.ATTRIBUTE
    yield text[closing:], Role.PLAIN


def shorten_statement(spans: Sequence[Span], width: int) -> list[Span]:
    """The spans of an assignment, of which the last is what it computes, cut to ``width`` cells.

    Attributes go first, from the last one on; then the middles of the longest names; then operands, and all results but
    the first, and of that its indices; where no room is left for the operator, the middle of the first result.
    """
    if spans_width(spans) <= width:
        return list(spans)
    *before, (text, role) = spans
    for start in (before, _keep_first_result(before)):
        room = width - spans_width(start)
        for shown in _shorter_forms(text, room):
            if cell_len(shown) <= room:
                return [*start, (shown, role)]
    least = min(_shorter_forms(text, 0), key=cell_len)
    start = _shorten_result(_keep_first_result(before), width - cell_len(least))
    return truncate_middle([*start, (least, role)], width)


def min_statement_cells(spans: Sequence[Span], all_results: bool = False) -> int:
    """The cells in which the name of what is assigned, of several results the first or all, and the operator of an
    assignment are still whole."""
    *before, (text, _) = spans
    return spans_width(before if all_results else _keep_first_result(before)) + min(
        map(cell_len, _shorter_forms(text, 0))
    )


def _keep_first_result(before: Sequence[Span]) -> list[Span]:
    """What is assigned, of several results the first, without its indices."""

    def shortened(found: re.Match[str]) -> str:
        return f"{found[1]}[{_ELLIPSIS}]" if found[2] else f"{found[1]}, {_ELLIPSIS}"

    return [(_FIRST_RESULT_PATTERN.sub(shortened, text), role) for text, role in before]


def _shorten_result(before: Sequence[Span], room: int) -> list[Span]:
    """What is assigned, in so many cells where its name can be cut so far."""
    longest = max(range(len(before)), key=lambda k: cell_len(before[k][0]), default=0)
    excess = spans_width(before) - room
    return [
        (shorten_name(text, max(_NAME_MIN_CELLS, cell_len(text) - excess)) if k == longest else text, role)
        for k, (text, role) in enumerate(before)
    ]


def _shorter_forms(text: str, room: int) -> Iterator[str]:
    """An expression in fewer and fewer cells."""
    call = _parse_call(text)
    if call is None:
        text = _TYPED_CONSTANT_PATTERN.sub(lambda found: short_dtype(found[1]), text)
        yield text
        yield _shorten_names(text, room)
        short = _shorten_names(text, room, 1)
        yield short
        yield _LIST_PATTERN.sub(f"[{_ELLIPSIS}]", short)
        return
    head, parts = call
    kept = list(parts)
    while kept and _is_attribute(kept[-1]):
        del kept[-1]
        text = f"{head}({', '.join([*kept, _ELLIPSIS])})"
        yield text
    yield _shorten_names(text, room)
    while kept:
        del kept[-1]
        yield _shorten_names(f"{head}({', '.join([*kept, _ELLIPSIS])})", room)


def _parse_call(text: str) -> tuple[str, list[str]] | None:
    """What is called, and with what; None where the expression is no call."""
    masked = mask_quoted(text)
    head, opened, _ = masked.partition("(")
    if not opened or not masked.endswith(")") or not _NAME_PATTERN.fullmatch(head):
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


def _shorten_names(text: str, room: int, least: int = _NAME_MIN_CELLS) -> str:
    """The longest names cut in their middles to one length, so that the whole fits where that can be; to no fewer cells
    than ``least``."""
    names = [m for m in _NAME_PATTERN.finditer(text) if text[m.end() : m.end() + 1] != "("]
    excess = cell_len(text) - room
    lengths = [cell_len(m.group()) for m in names]
    most = max(lengths, default=0)
    while most > least and sum(max(0, length - most) for length in lengths) < excess:
        most -= 1
    shown, at = [], 0
    for name in names:
        shown += [text[at : name.start()], shorten_name(name.group(), most)]
        at = name.end()
    return "".join([*shown, text[at:]])
