"""Variables of the protocol: values by reference, with children. References are valid until the session moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.text import escape_unprintable
from ...expression.expression import format_value
from ...statistics.tensor_statistics import TensorRef
from ...value_text import dtype_name, value_text

#: Number of elements of a tensor that are sent by default.
_PAGE_ELEMENTS = 1000
#: Width of the text of a value.
_VALUE_WIDTH_CHARS = 120


@dataclass(frozen=True)
class DapVariable:
    """A named value. ``assignment_target``: text before ``=`` to set it; empty if it cannot be set."""

    name: str
    value: Any
    assignment_target: str = ""
    type: str = ""


#: Reads the children from an index on, at most a number of them.
ChildrenReader = Callable[[int, int | None], Iterable[DapVariable]]


@dataclass(frozen=True)
class _VariableReference:
    children: ChildrenReader | Sequence[DapVariable]
    items: dict[str, DapVariable]


class VariableReferences:
    """The table of references."""

    def __init__(self) -> None:
        self._references: dict[int, _VariableReference] = {}
        # Numbers are never reused in a connection, so stale references of an editor stay invalid.
        self._reference_numbers = itertools.count(1)

    def clear(self) -> None:
        """Invalidate all references when the session moves."""
        self._references.clear()

    def add(self, children: ChildrenReader | Sequence[DapVariable]) -> int:
        """Create a reference with children."""
        number = next(self._reference_numbers)
        self._references[number] = _VariableReference(children, {})
        return number

    def children_of(self, reference: int, start: int = 0, count: int | None = None) -> list[dict[str, Any]] | None:
        """The children of a reference from ``start`` on; None if it is invalid."""
        entry = self._references.get(reference)
        if entry is None:
            return None
        if isinstance(entry.children, Sequence):
            start = max(0, start)
            items: Iterable[DapVariable] = entry.children[start : None if count is None else start + count]
        else:
            items = entry.children(start, count)
        children = []
        for item in items:
            entry.items[item.name] = item
            children.append(self.describe(item))
        return children

    def find_child(self, reference: int, name: str) -> DapVariable | None:
        """A child by its sanitized name; None if the name is ambiguous."""
        entry = self._references.get(reference)
        if entry is None:
            return None
        matches = _items_by_sent_name(entry.items, name)
        if not matches:
            self.children_of(reference)
            matches = _items_by_sent_name(entry.items, name)
        return matches[0] if len(matches) == 1 else None

    def describe(self, item: DapVariable) -> dict[str, Any]:
        """The protocol's description of a value."""
        value = item.value
        children: ChildrenReader | None = None
        size: int | None = None
        if isinstance(value, Mapping):
            text, type_, children = f"{len(value)} values", "", _mapping_children(value)
        elif isinstance(value, list | tuple):
            text, type_ = format_value(list(value), _VALUE_WIDTH_CHARS), f"sequence of {len(value)}"
            children, size = _element_children(item), len(value)
        else:
            dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
            type_ = "none" if value is None else type(value).__name__
            try:
                if dtype is not None:
                    type_ = f"{dtype_name(dtype)}[{', '.join(map(str, shape))}]"
                shown = np.asarray(value) if isinstance(value, TensorRef) else value
                format_text = value_text if not shape and dtype is not None else format_value
                text = format_text(shown, _VALUE_WIDTH_CHARS)
            except LoopdbgError as error:
                text, type_, shape = f"<{error}>", "", ()
            if shape and shape[0]:
                children, size = _element_children(item), int(shape[0])
        body: dict[str, Any] = {"name": item.name, "value": text, "type": item.type or type_, "variablesReference": 0}
        if item.assignment_target:
            body["evaluateName"] = item.assignment_target
        else:
            body["presentationHint"] = {"attributes": ["readOnly"]}
        if children is not None:
            body["variablesReference"] = self.add(children)
            if size is not None:
                body["indexedVariables"] = size
        return body


def _items_by_sent_name(items: Mapping[str, DapVariable], name: str) -> list[DapVariable]:
    return [item for item in items.values() if escape_unprintable(item.name) == name]


def _mapping_children(values: Mapping[str, Any]) -> ChildrenReader:
    def children(start: int, count: int | None) -> Iterator[DapVariable]:
        stop = None if count is None else start + count
        return (DapVariable(name, value) for name, value in itertools.islice(values.items(), start, stop))

    return children


def _element_children(item: DapVariable) -> ChildrenReader:
    """The slices of a tensor along its first axis, or the elements of a sequence."""

    def children(start: int, count: int | None) -> Iterator[DapVariable]:
        elements = item.value if isinstance(item.value, list | tuple) else np.asarray(item.value)
        stop = min(len(elements), start + (_PAGE_ELEMENTS if count is None else max(0, count)))
        for k in range(max(0, start), stop):
            yield DapVariable(f"[{k}]", elements[k], _element_expression(item.assignment_target, k))

    return children


def _element_expression(name: str, k: int) -> str:
    """The expression of an element of a value: ``h[0]``, and of its element ``h[0, 3]``."""
    if not name:
        return ""
    return f"{name[:-1]}, {k}]" if name.endswith("]") else f"{name}[{k}]"
