"""The value at the cursor in a few lines: type, contents, history, producer and readers.

Uses only data that a stop has in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...debugger.describe.line_dataflow import defining_line, readers_of
from ...debugger.describe.listing import code_text
from ...debugger.describe.value_names import quote
from ...debugger.statistics.tensor_statistics import TensorRef, as_tensor_ref
from ...debugger.value_text import statistics_of
from ...runtime.graph import Value
from ...runtime.text import count_text, size_text
from .formatting import dtype_name, escape_unprintable, number_text, value_text
from .history_plots import draw_history
from .inspector_text import statistics_lines
from .pseudo_code import model_pseudo_code
from .stop_view import ScreenState
from .styled_text import Role, Span, StyledLine, styled_line, truncate
from .targets import ValueKind, ValueTarget, declared_type_text
from .text_plots import heat_strips, split_non_finite
from .value_cells import value_span, value_type_text

#: Width of a label.
_LABEL_CELLS = 10
#: Most elements that are plotted, or listed as numbers; width of a number.
_DRAWN_ELEMENTS_MAX, _WRITTEN_ELEMENTS_MAX, _NUMBER_CELLS = 1 << 14, 48, 10


def value_lines(state: ScreenState, target: ValueTarget, width: int, height: int) -> list[StyledLine]:
    """The summary of a value at a stop, in lines of ``width`` cells; elements and history if ``height`` lines have
    space for them."""
    known, value = target.find_value(state.view)
    lines, usage = [styled_line(*_head_spans(target, known, value))], list(_usage_lines(state, target, width))
    if not known:
        return [*lines, styled_line((target.absence_text(state.view), Role.DIM)), *usage]
    lines += _content_lines(value, width)
    available = max(0, height - len(lines) - len(usage))
    history = list(_history_lines(state, target, value, width))
    # One row for the heat strip, the rest for numbers.
    rows = available - len(history) - 1
    details = [*history, *_element_lines(value, width, rows)] if rows >= 0 else history
    return [*lines, *details[:available], *usage]


def _head_spans(target: ValueTarget, known: bool, value: Any) -> list[Span]:
    """``h   float32 [1,256]   256 elements, 1 KB   carried``"""
    short_name = target.graph_value.short_name if target.graph_value is not None else ""
    spans: list[Span] = [(escape_unprintable(short_name) or quote(target.name), Role.NAME)]
    tensor = as_tensor_ref(value) if known and isinstance(value, np.ndarray | np.generic | TensorRef) else None
    if tensor is not None:
        shape = ",".join(map(str, tensor.shape))
        spans.append((f"   {dtype_name(tensor.dtype)} [{shape}]", Role.PLAIN))
        if tensor.size != 1:
            spans.append((f"   {count_text(tensor.size, 'element')}, {size_text(tensor.nbytes)}", Role.DIM))
    else:
        kind = value_type_text(value) if known else declared_type_text(target.graph_value)
        spans.append((f"   {kind}" if kind else "", Role.DIM))
    if target.kind is not ValueKind.BODY:
        spans.append((f"   {target.kind}", Role.DIM))
    return spans


def _content_lines(value: Any, width: int) -> Iterator[StyledLine]:
    """The contents: a single element, or statistics."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.size == 1 or value.dtype.kind in "OUST":
        yield _labelled_line(
            "value", value_span(truncate(value_text(value, width - _LABEL_CELLS), width - _LABEL_CELLS), Role.VALUE)
        )
        return
    tensor = as_tensor_ref(value)
    stats = statistics_of(tensor if isinstance(value, np.generic) else value)
    if stats is not None:
        yield from statistics_lines(tensor, stats, None, None, width)


def _element_lines(value: Any, width: int, rows: int) -> Iterator[StyledLine]:
    """All elements as a heat strip, and the first ones as numbers in ``rows`` rows."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind not in "fiu":
        return
    tensor = as_tensor_ref(value)
    if not 1 < tensor.size <= _DRAWN_ELEMENTS_MAX:
        return
    yield _labelled_line("elements", *heat_strips([tensor], width - _LABEL_CELLS)[0])
    per_line = max(1, (width - _LABEL_CELLS) // _NUMBER_CELLS)
    numbers = tensor.copy_range(0, min(tensor.size, _WRITTEN_ELEMENTS_MAX, per_line * rows)).tolist()
    for start in range(0, len(numbers), per_line):
        text = "".join(f"{number_text(number):<{_NUMBER_CELLS}}" for number in numbers[start : start + per_line])
        ellipsis = "" if start + per_line < len(numbers) or len(numbers) == tensor.size else "…"
        yield _labelled_line(f"  [{start}]", (text.rstrip(), Role.VALUE), (ellipsis, Role.DIM))


def _history_lines(state: ScreenState, target: ValueTarget, value: Any, width: int) -> Iterator[StyledLine]:
    """The history of a carried value."""
    frame = target.find_frame(state.view)
    history = None if frame is None else frame.history.get(target.name)
    if history is not None and len(history) > 1:
        yield _labelled_line(
            "history", *split_non_finite(draw_history(history, width - _LABEL_CELLS, str(getattr(value, "dtype", ""))))
        )


def _usage_lines(state: ScreenState, target: ValueTarget, width: int) -> Iterator[StyledLine]:
    """The producer and the readers."""
    source, value = model_pseudo_code(state.main_graph), target.graph_value
    if value is None:
        return
    frame = target.find_frame(state.view)
    values = {} if frame is None else frame.values
    iteration = 0 if frame is None else frame.iteration

    def read(operand: Value) -> tuple[bool, Any]:
        return operand.name in values, values.get(operand.name)

    line = defining_line(source, value, iteration, read)
    if line is None:
        return
    available = width - _LABEL_CELLS
    if frame is not None and target.name in state.view.edited[frame.index]:
        yield _labelled_line("made by", ("set by hand", Role.PLAIN))
    else:
        carried = line.node is not None and value not in line.values and frame is not None and frame.loop is line.loop
        note = f"   in iteration {iteration - 1}" if carried else ""
        text = truncate(f"{line.number}  {code_text(line).strip()}", available - len(note))
        yield _labelled_line("made by", (text, Role.PLAIN), (note, Role.DIM))
        if line.node is not None:
            yield _labelled_line("", (truncate(line.node.describe(), available), Role.DIM))
    readers = readers_of(source, value)
    note = "; ".join(f"{reader.number}  {code_text(reader).strip()}" for reader in readers)
    yield _labelled_line("read by", (truncate(note or "no line", available), Role.PLAIN if note else Role.DIM))


def _labelled_line(label: str, *spans: Span) -> StyledLine:
    return styled_line((f"{label:<{_LABEL_CELLS}}", Role.DIM), *spans)
