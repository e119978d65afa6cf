"""The value at the cursor in a few lines: its type, what is in it, how it went, who makes and who reads it.

Only what a stop has in memory is told; nothing large is read for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...debugger.describe.line_dataflow import defining_line, readers_of
from ...debugger.describe.listing import code_text
from ...debugger.describe.value_names import quote
from ...debugger.statistics.tensor_ref import TensorRef, as_tensor_ref
from ...debugger.value_text import statistics_of
from ...runtime.graph import Value
from ...runtime.text import count_text, size_text
from .formatting import dtype_name, escape_unprintable, number_text, value_text
from .history_plots import draw_history
from .inspector_text import statistics_lines
from .pseudo_code import program_source
from .stop_view import ScreenState
from .styled_text import Role, Span, StyledLine, styled_line, truncate
from .targets import ValueKind, ValueTarget, declared_type_text
from .text_plots import heat_strips, split_non_finite
from .value_cells import value_span, value_type_text

#: The cells of a label.
_LABEL_CELLS = 10
#: So many elements are drawn, or written, at most, and the cells of one that is written.
_DRAWN_ELEMENTS_MAX, _WRITTEN_ELEMENTS_MAX, _NUMBER_CELLS = 1 << 14, 48, 10


def value_lines(shown: ScreenState, target: ValueTarget, width: int, height: int) -> list[StyledLine]:
    """What is known of a value at a stop, in lines of ``width`` cells; its elements and how it went where there is room
    for them in ``height`` lines."""
    there, value = target.find_value(shown.view)
    told, around = [styled_line(*_head_spans(target, there, value))], list(_usage_lines(shown, target, width))
    if not there:
        return [*told, styled_line((target.absence_text(shown.view), Role.DIM)), *around]
    told += _content_lines(value, width)
    spare = max(0, height - len(told) - len(around))
    went = list(_history_lines(shown, target, value, width))
    # The picture of the elements has a row, and what is left is for numbers.
    rows = spare - len(went) - 1
    more = [*went, *_element_lines(value, width, rows)] if rows >= 0 else went
    return [*told, *more[:spare], *around]


def _head_spans(target: ValueTarget, there: bool, value: Any) -> list[Span]:
    """``h   float32 [1,256]   256 elements, 1 KB   carried``"""
    short = target.graph_value.short_name if target.graph_value is not None else ""
    spans: list[Span] = [(escape_unprintable(short) or quote(target.name), Role.NAME)]
    tensor = as_tensor_ref(value) if there and isinstance(value, np.ndarray | np.generic | TensorRef) else None
    if tensor is not None:
        shape = ",".join(map(str, tensor.shape))
        spans.append((f"   {dtype_name(tensor.dtype)} [{shape}]", Role.PLAIN))
        if tensor.size != 1:
            spans.append((f"   {count_text(tensor.size, 'element')}, {size_text(tensor.nbytes)}", Role.DIM))
    else:
        kind = value_type_text(value) if there else declared_type_text(target.graph_value)
        spans.append((f"   {kind}" if kind else "", Role.DIM))
    if target.kind is not ValueKind.BODY:
        spans.append((f"   {target.kind}", Role.DIM))
    return spans


def _content_lines(value: Any, width: int) -> Iterator[StyledLine]:
    """What is in it: one element itself, of more their statistics."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.size == 1 or value.dtype.kind in "OUST":
        yield _labelled_line(
            "value", value_span(truncate(value_text(value, width - _LABEL_CELLS), width - _LABEL_CELLS), Role.VALUE)
        )
        return
    tensor = as_tensor_ref(value)
    found = statistics_of(tensor if isinstance(value, np.generic) else value)
    if found is not None:
        yield from statistics_lines(tensor, found, None, None, width)


def _element_lines(value: Any, width: int, rows: int) -> Iterator[StyledLine]:
    """All in a picture, and the first ones in numbers, in so many rows."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind not in "fiu":
        return
    tensor = as_tensor_ref(value)
    if not 1 < tensor.size <= _DRAWN_ELEMENTS_MAX:
        return
    yield _labelled_line("elements", *heat_strips([tensor], width - _LABEL_CELLS)[0])
    each = max(1, (width - _LABEL_CELLS) // _NUMBER_CELLS)
    written = tensor.copy_range(0, min(tensor.size, _WRITTEN_ELEMENTS_MAX, each * rows)).tolist()
    for at in range(0, len(written), each):
        told = "".join(f"{number_text(one):<{_NUMBER_CELLS}}" for one in written[at : at + each])
        more = "" if at + each < len(written) or len(written) == tensor.size else "…"
        yield _labelled_line(f"  [{at}]", (told.rstrip(), Role.VALUE), (more, Role.DIM))


def _history_lines(shown: ScreenState, target: ValueTarget, value: Any, width: int) -> Iterator[StyledLine]:
    """How it went, of what is carried."""
    found = target.frame_view(shown.view)
    history = None if found is None else found.frame.history.get(target.name)
    if history is not None and len(history) > 1:
        yield _labelled_line(
            "history", *split_non_finite(draw_history(history, width - _LABEL_CELLS, str(getattr(value, "dtype", ""))))
        )


def _usage_lines(shown: ScreenState, target: ValueTarget, width: int) -> Iterator[StyledLine]:
    """Who makes it and who reads it."""
    source, value = program_source(shown.main_graph), target.graph_value
    if value is None:
        return
    view = target.frame_view(shown.view)
    values = {} if view is None else view.values
    iteration = 0 if view is None else view.frame.iteration

    def read(other: Value) -> tuple[bool, Any]:
        return other.name in values, values.get(other.name)

    one = defining_line(source, value, iteration, read)
    if one is None:
        return
    room = width - _LABEL_CELLS
    if view is not None and target.name in view.edited:
        yield _labelled_line("made by", ("set by hand", Role.PLAIN))
    else:
        carried = one.node is not None and value not in one.values and view is not None and view.frame.loop is one.loop
        told = f"   in iteration {iteration - 1}" if carried else ""
        text = truncate(f"{one.number}  {code_text(one).strip()}", room - len(told))
        yield _labelled_line("made by", (text, Role.PLAIN), (told, Role.DIM))
        if one.node is not None:
            yield _labelled_line("", (truncate(one.node.describe(), room), Role.DIM))
    lines = readers_of(source, value)
    told = "; ".join(f"{reader.number}  {code_text(reader).strip()}" for reader in lines)
    yield _labelled_line("read by", (truncate(told or "no line", room), Role.PLAIN if told else Role.DIM))


def _labelled_line(label: str, *spans: Span) -> StyledLine:
    return styled_line((f"{label:<{_LABEL_CELLS}}", Role.DIM), *spans)
