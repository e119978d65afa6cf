"""Shortening of pseudo-code lines: the assigned name and the operator are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from ...debugger.describe.value_names import mask_quoted
from .formatting import short_dtype
from .styled_text import Role, Span, shorten_name, spans_width, truncate_middle

#: Minimum length of a shortened name.
_NAME_MIN_CELLS = 4
_NAME_PATTERN = re.compile(r"`[^`]*`|[^\W\d][\w.]*")
_ELLIPSIS = "…"
#: A constant that is shown by its type, ``float32[2,3]``.
_TYPED_CONSTANT_PATTERN = re.compile(r"^(b?float\d+|u?int\d+|complex\d+)(?=\[)")
_LIST_PATTERN = re.compile(r"\[[^\[\]]+\]")
#: The first result, and the indices or further results that can be omitted.
_FIRST_RESULT_PATTERN = re.compile(r"^(\s*(?:`[^`]*`|[^\s,\[`]+))(?:(\[.*\])|,.*)$")
#: The called operator or an infix operator; the start of the attributes.
_OPERATOR_PATTERN = re.compile(r"[^\W\d][\w.]*(?=\()|(?<= )(?:[-+*/@%<>=!&|^]+|and|or|not|if|else)(?= )|^(?:-|not\b)")
_ATTRIBUTES_PATTERN = re.compile(r"(?<=[(\s])[^\W\d]\w*=(?!=)")


def color_statement(spans: Sequence[Span]) -> list[Span]:
    """Split the expression of an assignment into operators, operands and attributes."""
    result: list[Span] = []
    for k, (text, role) in enumerate(spans):
        is_expression = role is Role.PLAIN and k > 0 and spans[k - 1][0] == " = "
        result += _expression_spans(text) if is_expression else [(text, role)]
    return result


def _expression_spans(text: str) -> Iterator[Span]:
    masked = mask_quoted(text)
    attributes = _ATTRIBUTES_PATTERN.search(masked)
    end, start = attributes.start() if attributes else len(text), 0
    for operator in _OPERATOR_PATTERN.finditer(masked, 0, end):
        yield text[start : operator.start()], Role.PLAIN
        yield operator.group(), Role.OPERATOR
        start = operator.end()
    yield text[start:end], Role.PLAIN
    closing = len(text) - text.endswith(")") if attributes else end
    yield text[end:closing], Role.ATTRIBUTE
    yield text[closing:], Role.PLAIN


def shorten_statement(spans: Sequence[Span], width: int) -> list[Span]:
    """Shorten an assignment, whose last span is the expression, to ``width`` cells.

    Removes attributes first, from the last; then the middles of the longest names; then operands; then further results
    and the indices of the first; last, the middle of the first result.
    """
    if spans_width(spans) <= width:
        return list(spans)
    *target, (text, role) = spans
    for start in (target, _keep_first_result(target)):
        available = width - spans_width(start)
        for form in _shorter_forms(text, available):
            if cell_len(form) <= available:
                return [*start, (form, role)]
    shortest = min(_shorter_forms(text, 0), key=cell_len)
    start = _shorten_result(_keep_first_result(target), width - cell_len(shortest))
    return truncate_middle([*start, (shortest, role)], width)


def min_statement_cells(spans: Sequence[Span], all_results: bool = False) -> int:
    """The width in which the first result (or all results) and the operator of an assignment are complete."""
    *target, (text, _) = spans
    return spans_width(target if all_results else _keep_first_result(target)) + min(
        map(cell_len, _shorter_forms(text, 0))
    )


def _keep_first_result(target: Sequence[Span]) -> list[Span]:
    """The first result without its indices."""

    def shortened(match: re.Match[str]) -> str:
        return f"{match[1]}[{_ELLIPSIS}]" if match[2] else f"{match[1]}, {_ELLIPSIS}"

    return [(_FIRST_RESULT_PATTERN.sub(shortened, text), role) for text, role in target]


def _shorten_result(target: Sequence[Span], width: int) -> list[Span]:
    """The result in ``width`` cells, as far as its name can be shortened."""
    longest = max(range(len(target)), key=lambda k: cell_len(target[k][0]), default=0)
    excess = spans_width(target) - width
    return [
        (shorten_name(text, max(_NAME_MIN_CELLS, cell_len(text) - excess)) if k == longest else text, role)
        for k, (text, role) in enumerate(target)
    ]


def _shorter_forms(text: str, width: int) -> Iterator[str]:
    """Progressively shorter forms of an expression."""
    call = _parse_call(text)
    if call is None:
        text = _TYPED_CONSTANT_PATTERN.sub(lambda match: short_dtype(match[1]), text)
        yield text
        yield _shorten_names(text, width)
        short = _shorten_names(text, width, 1)
        yield short
        yield _LIST_PATTERN.sub(f"[{_ELLIPSIS}]", short)
        return
    head, arguments = call
    remaining = list(arguments)
    while remaining and _is_attribute(remaining[-1]):
        del remaining[-1]
        text = f"{head}({', '.join([*remaining, _ELLIPSIS])})"
        yield text
    yield _shorten_names(text, width)
    while remaining:
        del remaining[-1]
        yield _shorten_names(f"{head}({', '.join([*remaining, _ELLIPSIS])})", width)


def _parse_call(text: str) -> tuple[str, list[str]] | None:
    """The operator and the arguments of a call; None for other expressions."""
    masked = mask_quoted(text)
    head, parenthesis, _ = masked.partition("(")
    if not parenthesis or not masked.endswith(")") or not _NAME_PATTERN.fullmatch(head):
        return None
    arguments, depth, start = [], 0, len(head) + 1
    for k in range(start, len(text) - 1):
        depth += (masked[k] in "([{") - (masked[k] in ")]}")
        if depth < 0:
            return None
        if masked[k] == "," and not depth:
            arguments.append(text[start:k].strip())
            start = k + 1
    return text[: len(head)], [*arguments, text[start:-1].strip()]


def _is_attribute(part: str) -> bool:
    return re.match(r"\w+=(?!=)", part) is not None


def _shorten_names(text: str, width: int, min_cells: int = _NAME_MIN_CELLS) -> str:
    """Shorten the longest names to one length so that the text fits, if possible; to no fewer cells than
    ``min_cells``."""
    names = [match for match in _NAME_PATTERN.finditer(text) if text[match.end() : match.end() + 1] != "("]
    excess = cell_len(text) - width
    lengths = [cell_len(match.group()) for match in names]
    max_cells = max(lengths, default=0)
    while max_cells > min_cells and sum(max(0, length - max_cells) for length in lengths) < excess:
        max_cells -= 1
    parts, start = [], 0
    for name in names:
        parts += [text[start : name.start()], shorten_name(name.group(), max_cells)]
        start = name.end()
    return "".join([*parts, text[start:]])
