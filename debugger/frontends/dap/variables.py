"""Values as an editor asks for them: by reference, part by part. References are good until the session moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.text import escape_unprintable
from ...expression.language import format_value
from ...statistics.tensor_ref import TensorRef
from ...value_text import dtype_name

#: Of a tensor so many elements are told where nobody asks for a part of it.
_PAGE_ELEMENTS = 1000
#: How wide the text of a value is.
_VALUE_WIDTH_CHARS = 120


@dataclass(frozen=True)
class DapVariable:
    """One value with a name. ``assigns``: what is written before ``=`` to set it; empty where it cannot be set."""

    name: str
    value: Any
    assignment_target: str = ""
    type: str = ""


ChildrenReader = Callable[[int, int | None], Iterator[DapVariable]]


@dataclass(frozen=True)
class _VariableReference:
    children: ChildrenReader
    items: dict[str, DapVariable]


class VariableReferences:
    """What references stand for."""

    def __init__(self) -> None:
        self._references: dict[int, _VariableReference] = {}
        # Never used again within a connection: what an editor still holds of the last stop stands for nothing.
        self._reference_numbers = itertools.count(1)

    def clear(self) -> None:
        """The session moves: all references are over."""
        self._references.clear()

    def add(self, children: ChildrenReader) -> int:
        """A reference for what has these children."""
        number = next(self._reference_numbers)
        self._references[number] = _VariableReference(children, {})
        return number

    def children_of(self, reference: int, start: int = 0, count: int | None = None) -> list[dict[str, Any]] | None:
        """The children of a reference, those from ``start`` on; None where it is over."""
        kept = self._references.get(reference)
        if kept is None:
            return None
        found = []
        for item in kept.children(start, count):
            kept.items[item.name] = item
            found.append(self.describe(item))
        return found

    def find_child(self, reference: int, name: str) -> DapVariable | None:
        """A child by its name as it was sent, without what cannot be printed; None where two are sent alike."""
        kept = self._references.get(reference)
        if kept is None:
            return None
        found = _items_with_sent_name(kept.items, name)
        if not found:
            kept.items.update((item.name, item) for item in kept.children(0, None))
            found = _items_with_sent_name(kept.items, name)
        return found[0] if len(found) == 1 else None

    def describe(self, item: DapVariable) -> dict[str, Any]:
        """A value as the protocol has it."""
        text, kind, children, size = self._summarize(item)
        told: dict[str, Any] = {"name": item.name, "value": text, "type": item.type or kind, "variablesReference": 0}
        if item.assignment_target:
            told["evaluateName"] = item.assignment_target
        else:
            told["presentationHint"] = {"attributes": ["readOnly"]}
        if children is not None:
            told["variablesReference"] = self.add(children)
            if size is not None:
                told["indexedVariables"] = size
        return told

    def _summarize(self, item: DapVariable) -> tuple[str, str, ChildrenReader | None, int | None]:
        """Its text, its type, its children, and how many elements it has."""
        value = item.value
        if isinstance(value, Mapping):
            return f"{len(value)} values", "", _mapping_children(value), None
        if isinstance(value, list | tuple):
            return (
                format_value(list(value), _VALUE_WIDTH_CHARS),
                f"sequence of {len(value)}",
                _element_children(item),
                len(value),
            )
        try:
            kind = _type_text(value)
            text = format_value(value if not isinstance(value, TensorRef) else np.asarray(value), _VALUE_WIDTH_CHARS)
        except LoopdbgError as error:
            return f"<{error}>", "", None, None
        shape = getattr(value, "shape", ())
        if not shape or not shape[0]:
            return text, kind, None, None
        return text, kind, _element_children(item), int(shape[0])


def _items_with_sent_name(items: Mapping[str, DapVariable], name: str) -> list[DapVariable]:
    return [item for item in items.values() if escape_unprintable(item.name) == name]


def _type_text(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return "none" if value is None else type(value).__name__
    return f"{dtype_name(dtype)}[{', '.join(map(str, value.shape))}]"


def _mapping_children(values: Mapping[str, Any]) -> ChildrenReader:
    def children(start: int, count: int | None) -> Iterator[DapVariable]:
        stop = None if count is None else start + count
        return (DapVariable(name, value) for name, value in itertools.islice(values.items(), start, stop))

    return children


def _element_children(item: DapVariable) -> ChildrenReader:
    """The parts of a tensor along its first axis, or the elements of a sequence."""

    def children(start: int, count: int | None) -> Iterator[DapVariable]:
        whole = item.value if isinstance(item.value, list | tuple) else np.asarray(item.value)
        stop = min(len(whole), start + (_PAGE_ELEMENTS if count is None else max(0, count)))
        for k in range(max(0, start), stop):
            yield DapVariable(f"[{k}]", whole[k], _element_expression(item.assignment_target, k))

    return children


def _element_expression(name: str, k: int) -> str:
    """How a part of what has a name is written: ``h[0]``, and of that ``h[0, 3]``."""
    if not name:
        return ""
    return f"{name[:-1]}, {k}]" if name.endswith("]") else f"{name}[{k}]"
