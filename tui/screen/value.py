"""The value at the cursor in a few lines: its type, what is in it, how it went, who makes and who reads it.

Only what a stop has in memory is told; nothing large is read for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...debugger.statistics.tensor import TensorRef, tensor_of
from ...debugger.text import statistics_of
from ...debugger.words.flow import defining_line, readers_of
from ...debugger.words.listing import code
from ...debugger.words.names import quote
from ...runtime.graph import Value
from ...runtime.text import counted, size_text
from .cells import type_of, valued
from .evolution import spark
from .inspected import fact_lines
from .lines import Line, Role, Span, fit, line
from .plots import heat, odd_apart
from .program import program
from .targets import Of, ValueTarget, declared_text
from .text import dtype_name, number_text, printable, value_text
from .view import Shown

#: The cells of a label.
_LABEL = 10
#: So many elements are drawn, or written, at most, and the cells of one that is written.
_DRAWN, _WRITTEN, _NUMBER = 1 << 14, 48, 10


def value_lines(shown: Shown, target: ValueTarget, width: int, height: int) -> list[Line]:
    """What is known of a value at a stop, in lines of ``width`` cells; its elements and how it went where there is room
    for them in ``height`` lines."""
    there, value = target.find(shown.view)
    told, around = [line(*_head(target, there, value))], list(_around(shown, target, width))
    if not there:
        return [*told, line((target.absent(shown.view), Role.DIM)), *around]
    told += _holds(value, width)
    spare = max(0, height - len(told) - len(around))
    went = list(_went(shown, target, value, width))
    # The picture of the elements has a row, and what is left is for numbers.
    rows = spare - len(went) - 1
    more = [*went, *_elements(value, width, rows)] if rows >= 0 else went
    return [*told, *more[:spare], *around]


def _head(target: ValueTarget, there: bool, value: Any) -> list[Span]:
    """``h   float32 [1,256]   256 elements, 1 KB   carried``"""
    short = target.declared.short if target.declared is not None else ""
    spans: list[Span] = [(printable(short) or quote(target.name), Role.NAME)]
    tensor = tensor_of(value) if there and isinstance(value, np.ndarray | np.generic | TensorRef) else None
    if tensor is not None:
        shape = ",".join(map(str, tensor.shape))
        spans.append((f"   {dtype_name(tensor.dtype)} [{shape}]", Role.PLAIN))
        if tensor.size != 1:
            spans.append((f"   {counted(tensor.size, 'element')}, {size_text(tensor.nbytes)}", Role.DIM))
    else:
        kind = type_of(value) if there else declared_text(target.declared)
        spans.append((f"   {kind}" if kind else "", Role.DIM))
    if target.of is not Of.BODY:
        spans.append((f"   {target.of}", Role.DIM))
    return spans


def _holds(value: Any, width: int) -> Iterator[Line]:
    """What is in it: one element itself, of more their statistics."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.size == 1 or value.dtype.kind in "OUST":
        yield _row("value", valued(fit(value_text(value, width - _LABEL), width - _LABEL), Role.VALUE))
        return
    tensor = tensor_of(value)
    found = statistics_of(tensor if isinstance(value, np.generic) else value)
    if found is not None:
        yield from fact_lines(tensor, found, None, None, width)


def _elements(value: Any, width: int, rows: int) -> Iterator[Line]:
    """All in a picture, and the first ones in numbers, in so many rows."""
    if not isinstance(value, np.ndarray | np.generic | TensorRef) or value.dtype.kind not in "fiu":
        return
    tensor = tensor_of(value)
    if not 1 < tensor.size <= _DRAWN:
        return
    yield _row("elements", *heat([tensor], width - _LABEL)[0])
    each = max(1, (width - _LABEL) // _NUMBER)
    written = tensor.flat(0, min(tensor.size, _WRITTEN, each * rows)).tolist()
    for at in range(0, len(written), each):
        told = "".join(f"{number_text(one):<{_NUMBER}}" for one in written[at : at + each])
        more = "" if at + each < len(written) or len(written) == tensor.size else "…"
        yield _row(f"  [{at}]", (told.rstrip(), Role.VALUE), (more, Role.DIM))


def _went(shown: Shown, target: ValueTarget, value: Any, width: int) -> Iterator[Line]:
    """How it went, of what is carried."""
    found = target.view(shown.view)
    history = None if found is None else found.frame.history.get(target.name)
    if history is not None and len(history) > 1:
        yield _row("history", *odd_apart(spark(history, width - _LABEL, str(getattr(value, "dtype", "")))))


def _around(shown: Shown, target: ValueTarget, width: int) -> Iterator[Line]:
    """Who makes it and who reads it."""
    source, value = program(shown.main), target.declared
    if value is None:
        return
    view = target.view(shown.view)
    values = {} if view is None else view.values
    iteration = 0 if view is None else view.frame.iteration

    def read(other: Value) -> tuple[bool, Any]:
        return other.name in values, values.get(other.name)

    one = defining_line(source, value, iteration, read)
    if one is None:
        return
    room = width - _LABEL
    if view is not None and target.name in view.edited:
        yield _row("made by", ("set by hand", Role.PLAIN))
    else:
        carried = one.node is not None and value not in one.values and view is not None and view.frame.loop is one.loop
        told = f"   in iteration {iteration - 1}" if carried else ""
        text = fit(f"{one.number}  {code(one).strip()}", room - len(told))
        yield _row("made by", (text, Role.PLAIN), (told, Role.DIM))
        if one.node is not None:
            yield _row("", (fit(one.node.describe(), room), Role.DIM))
    lines = readers_of(source, value)
    told = "; ".join(f"{reader.number}  {code(reader).strip()}" for reader in lines)
    yield _row("read by", (fit(told or "no line", room), Role.PLAIN if told else Role.DIM))


def _row(label: str, *spans: Span) -> Line:
    return line((f"{label:<{_LABEL}}", Role.DIM), *spans)
