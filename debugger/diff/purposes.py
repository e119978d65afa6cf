"""What becomes of the values of a graph, by numbers: the same on both sides where the same is done with it, to the end.

That is to what comes after a value what its number (halves.py) is to what comes before it: in a chain of nodes that are
alike, one of which is gone, either tells where it stood, and only both tell that this is not known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ...runtime.graph import Node, Value
from .halves import Half, Table
from .normal import COMMUTE


class Purposes:
    """Of one graph's values. ``ends``: what is given out, and as what."""

    def __init__(self, half: Half, table: Table, nodes: Sequence[Node], ends: Iterable[tuple[Value, Hashable]]) -> None:
        self._half = half
        self._table = table
        self._uses: dict[Value, list[int]] = {}
        self._known: dict[Value, int] = {}
        for value, end in ends:
            self._use(value, ("end", end))
        for node in reversed(nodes):
            if node.op_type != "Identity":
                self._read(node)

    def of(self, value: Value | None) -> int | None:
        """What becomes of a value; None where nothing reads it."""
        origin = None if value is None else self._half.origin(value)
        if origin is None or origin not in self._uses:
            return None
        if origin not in self._known:
            self._known[origin] = self._table.of(("purpose", *sorted(self._uses[origin])))
        return self._known[origin]

    def of_all(self, values: Iterable[Value | None]) -> tuple[int | None, ...] | None:
        """What becomes of several values; None where nothing reads any of them."""
        found = tuple(self.of(value) for value in values)
        return found if any(one is not None for one in found) else None

    def _read(self, node: Node) -> None:
        form = self._half.form(node)
        results = self.of_all(node.outputs)
        for place, operand in enumerate(form.operands):
            if operand is not None:
                where = None if form.word in COMMUTE else place
                self._use(operand.value, (form.word, where, operand.turned, results))
        for value in self._half.captured(node):
            self._use(value, (form.word, "inside", results))

    def _use(self, value: Value, what: Hashable) -> None:
        self._uses.setdefault(self._half.origin(value), []).append(self._table.of(("use", what)))
