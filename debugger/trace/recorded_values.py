"""Values of a recording, read lazily from the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .probes import PortKind
from .trace_store import BoundaryRef, TraceStore

Lookup = tuple[bool, Any]
NOT_FOUND: Lookup = (False, None)


class PortValues(Mapping[str, Any]):
    """The recorded values of one kind at one boundary of a loop."""

    def __init__(self, trace: TraceStore, loop: int, ref: BoundaryRef | None, kind: PortKind) -> None:
        self._trace = trace
        self._loop = loop
        self._boundary = ref
        self._kind = kind
        self._cache: dict[str, Lookup] = {}

    def find(self, name: str) -> Lookup:
        """Whether a value was recorded, and the value."""
        if self._boundary is None:
            return NOT_FOUND
        if name not in self._cache:
            self._cache[name] = self._trace.find_value(self._boundary.id, self._loop, self._kind, name)
        return self._cache[name]

    def __getitem__(self, name: str) -> Any:
        is_present, value = self.find(name)
        if not is_present:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for kind, name in self._trace.ports(self._loop) if kind is self._kind and self.find(name)[0])

    def __len__(self) -> int:
        return sum(1 for _ in self)
