"""Subscripts of sliced inputs and scan outputs in terms of the iteration number."""

from __future__ import annotations

from ...runtime.graph import ScanOutput, SlicedInput, TensorType, Value
from .node_text import rank, subscript
from .termination import TerminationRule
from .value_names import display_name, quote


def slice_line(sliced: SlicedInput, index: str | None) -> str:
    """``x = X[:, i:i+1, :]``; without an index the part of iteration 0."""
    return f"{display_name(sliced.inner)} = {slice_text(sliced, index)}"


def slice_text(sliced: SlicedInput, index: str | None) -> str:
    """``X[:, i:i+1, :]``, ``x[5-i]``: the part that an iteration gets (docs/semantics.md 6.2)."""
    size, stride = sliced.part_size, sliced.stride
    # A negative start is dim + 1 + start; with a negative stride, a part ends at the start.
    begin = sliced.start + 1 if sliced.start < 0 else sliced.start
    from_end = sliced.start < 0
    if stride < 0:
        begin -= size
    length, begin = _length_term(sliced.outer, sliced.axis, begin) if from_end else ("", begin)
    if sliced.from_trip_count:
        begin = -1
    start_text = _linear_text("trip_count" if sliced.from_trip_count else length, begin, stride, index)
    part = start_text if sliced.drop_axis else f"{start_text}:{_linear_text(length, begin + size, stride, index)}"
    index_text = subscript({sliced.axis: part}, rank(sliced.outer))
    if index_text is None:  # a negative axis and an unknown rank
        index_text = f"{part}, axis={sliced.axis}"
    return f"{display_name(sliced.outer)}[{index_text}]"


def _length_term(value: Value, axis: int, begin: int) -> tuple[str, int]:
    """``length + begin`` as a symbolic term and a constant."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    dim = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    if isinstance(dim, int):
        return "", dim + begin
    return quote(dim) if isinstance(dim, str) else f"{display_name(value)}.shape[{axis}]", begin


def _linear_text(length: str, constant: int, factor: int, index: str | None) -> str:
    """``2*i+1``, ``5-i``, ``N-1-i``."""
    term = "" if index is None or not factor else index if abs(factor) == 1 else f"{abs(factor)}*{index}"
    text = (
        f"{length}{constant:+d}" if length and constant else length or ("" if term and not constant else str(constant))
    )
    if not term:
        return text or "0"
    if factor > 0:
        return f"{term}+{text}" if text and not text.startswith("-") else f"{term}{text}"
    return f"{text}-{term}"


def scan_line(scan: ScanOutput, outer: str, index: str, rule: TerminationRule) -> tuple[str, str]:
    """The assignment that collects an element, and its comment; ``outer``: the name of the scan output."""
    result = display_name(scan.result)
    order = ", the last iteration first" if scan.reverse else ""
    constant_length = None if scan.length is None else scan.length.constant
    is_full = not rule.condition_decides and (
        scan.length is rule.trip_count_value
        if constant_length is None
        else constant_length.size == 1 and int(constant_length.reshape(())) == rule.trip_count
    )
    if scan.length is not None and not is_full:
        order += f", zeros up to length {display_name(scan.length) if constant_length is None else constant_length}"
    rank_ = rank(scan.result)
    if scan.stack:
        comment = f"scan output, new axis {scan.axis}{order}"
        if scan.axis == 0:
            return (f"{outer}.insert(0, {result})" if scan.reverse else f"{outer}.append({result})"), comment
        index_text = None if scan.reverse else subscript({scan.axis: index}, None if rank_ is None else rank_ + 1)
        return (f"{outer}[{index_text}] = {result}" if index_text else f"{outer}.append({result})"), comment
    comment = f"scan output, concatenated on axis {scan.axis}{order}"
    size = _axis_length(scan.result, scan.axis)
    if size is not None and rule.trip_count is not None and not rule.condition_decides:
        begin, factor = ((rule.trip_count - 1) * size, -size) if scan.reverse else (0, size)
        part = f"{_linear_text('', begin, factor, index)}:{_linear_text('', begin + size, factor, index)}"
        index_text = subscript({scan.axis: part}, rank_)
        if index_text:
            return f"{outer}[{index_text}] = {result}", comment
    joined = f"{result}, {outer}" if scan.reverse else f"{outer}, {result}"
    return f"{outer} = concat({joined}, axis={scan.axis})", comment


def _axis_length(value: Value, axis: int) -> int | None:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    dim = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    return dim if isinstance(dim, int) else None
