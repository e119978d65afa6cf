"""Values as an editor asks for them: by reference, part by part. References are good until the session moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....runtime.errors import LoopdbgError
from ....runtime.text import printable
from ...expression.language import show
from ...statistics.tensor import TensorRef
from ...text import dtype_name

#: Of a tensor so many elements are told where nobody asks for a part of it.
_PAGE = 1000
#: How wide the text of a value is.
_WIDTH = 120


@dataclass(frozen=True)
class Item:
    """One value with a name. ``assigns``: what is written before ``=`` to set it; empty where it cannot be set."""

    name: str
    value: Any
    assigns: str = ""
    type: str = ""


Children = Callable[[int, int | None], Iterator[Item]]


@dataclass(frozen=True)
class _Kept:
    children: Children
    items: dict[str, Item]


class Variables:
    """What references stand for."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        # Never used again within a connection: what an editor still holds of the last stop stands for nothing.
        self._numbers = itertools.count(1)

    def forget(self) -> None:
        """The session moves: all references are over."""
        self._kept.clear()

    def keep(self, children: Children) -> int:
        """A reference for what has these children."""
        number = next(self._numbers)
        self._kept[number] = _Kept(children, {})
        return number

    def of(self, reference: int, start: int = 0, count: int | None = None) -> list[dict[str, Any]] | None:
        """The children of a reference, those from ``start`` on; None where it is over."""
        kept = self._kept.get(reference)
        if kept is None:
            return None
        found = []
        for item in kept.children(start, count):
            kept.items[item.name] = item
            found.append(self.told(item))
        return found

    def item(self, reference: int, name: str) -> Item | None:
        """A child by its name as it was sent, without what cannot be printed; None where two are sent alike."""
        kept = self._kept.get(reference)
        if kept is None:
            return None
        found = _named_alike(kept.items, name)
        if not found:
            kept.items.update((item.name, item) for item in kept.children(0, None))
            found = _named_alike(kept.items, name)
        return found[0] if len(found) == 1 else None

    def told(self, item: Item) -> dict[str, Any]:
        """A value as the protocol has it."""
        text, kind, children, size = self._described(item)
        told: dict[str, Any] = {"name": item.name, "value": text, "type": item.type or kind, "variablesReference": 0}
        if item.assigns:
            told["evaluateName"] = item.assigns
        else:
            told["presentationHint"] = {"attributes": ["readOnly"]}
        if children is not None:
            told["variablesReference"] = self.keep(children)
            if size is not None:
                told["indexedVariables"] = size
        return told

    def _described(self, item: Item) -> tuple[str, str, Children | None, int | None]:
        """Its text, its type, its children, and how many elements it has."""
        value = item.value
        if isinstance(value, Mapping):
            return f"{len(value)} values", "", _named(value), None
        if isinstance(value, list | tuple):
            return show(list(value), _WIDTH), f"sequence of {len(value)}", _elements(item), len(value)
        try:
            kind = _type(value)
            text = show(value if not isinstance(value, TensorRef) else np.asarray(value), _WIDTH)
        except LoopdbgError as error:
            return f"<{error}>", "", None, None
        shape = getattr(value, "shape", ())
        if not shape or not shape[0]:
            return text, kind, None, None
        return text, kind, _elements(item), int(shape[0])


def _named_alike(items: Mapping[str, Item], name: str) -> list[Item]:
    return [item for item in items.values() if printable(item.name) == name]


def _type(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return "none" if value is None else type(value).__name__
    return f"{dtype_name(dtype)}[{', '.join(map(str, value.shape))}]"


def _named(values: Mapping[str, Any]) -> Children:
    def children(start: int, count: int | None) -> Iterator[Item]:
        stop = None if count is None else start + count
        return (Item(name, value) for name, value in itertools.islice(values.items(), start, stop))

    return children


def _elements(item: Item) -> Children:
    """The parts of a tensor along its first axis, or the elements of a sequence."""

    def children(start: int, count: int | None) -> Iterator[Item]:
        whole = item.value if isinstance(item.value, list | tuple) else np.asarray(item.value)
        stop = min(len(whole), start + (_PAGE if count is None else max(0, count)))
        for k in range(max(0, start), stop):
            yield Item(f"[{k}]", whole[k], _part(item.assigns, k))

    return children


def _part(name: str, k: int) -> str:
    """How a part of what has a name is written: ``h[0]``, and of that ``h[0, 3]``."""
    if not name:
        return ""
    return f"{name[:-1]}, {k}]" if name.endswith("]") else f"{name}[{k}]"
