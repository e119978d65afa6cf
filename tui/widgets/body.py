"""The body of the loop in focus, as a program: what runs next, and the values beside what ran."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import overload

from rich.cells import cell_len

from ...debugger.session.snapshot import NodeSnapshot
from ...runtime.frame import NodeState
from ...runtime.graph import Graph, Loop
from ..screen.cells import NOT_YET, short_value
from ..screen.lines import Line, Role, Span, fit_spans, pad
from ..screen.listing import Item, Kind, listing
from ..screen.text import printable
from ..screen.view import FrameView, Shown, graph_of
from .pane import Pane

NEXT, FAILED, SKIPPED = "▶", "✗", "–"
_INDENT = 2
_GUTTER = 2
#: Where several outputs have fewer cells each, the first one is shown, and how many more there are.
_LEAST_VALUE = 10


class Body(Pane):
    """The listing of a body; ``▶`` the node that runs next, ``·`` not computed yet, ``–`` in the branch not taken."""

    def __init__(self, id: str) -> None:
        super().__init__("Body", id)
        self._listed: tuple[Graph, Loop | None, int | None, tuple[Item, ...]] | None = None

    def build(self, shown: Shown, width: int, height: int) -> Sequence[Line]:
        frame = shown.frame.frame
        graph = graph_of(frame, shown.main)
        known = self._listed
        if known is None or known[0] is not graph or known[2] != frame.trip_count:
            known = (graph, frame.loop, frame.trip_count, listing(graph, frame.loop, frame.trip_count))
            self._listed = known
        name = printable(frame.name)
        self.set_title(f"Body of loop '{name}'" if frame.loop else f"Main graph {name}", _whose(shown))
        return BodyLines(_wrapped(known[3], width), shown, width)

    def follow(self) -> None:
        if isinstance(self.lines, BodyLines) and self.lines.marked is not None:
            self.show_line(self.lines.marked)


def _wrapped(items: Sequence[Item], width: int) -> list[Item]:
    """The items with notes, which are sentences, broken into lines."""
    broken: list[Item] = []
    for item in items:
        if item.kind is Kind.NOTE:
            lines = textwrap.wrap(item.left, max(20, width - _GUTTER), subsequent_indent="  ")
            broken += [Item(Kind.NOTE, text) for text in lines]
        else:
            broken.append(item)
    return broken


def _whose(shown: Shown) -> str:
    """Which iteration the values beside the nodes are of."""
    frame = shown.frame.frame
    if frame.loop is None:
        return ""
    if shown.depth is None or frame.at_boundary:
        return f"values of iteration {frame.iteration - 1}" if frame.iteration else "no iteration ran yet"
    return f"values of iteration {frame.iteration}, so far"


class BodyLines(Sequence[Line]):
    """The lines of a listing with states and values; a line is made when it is looked at, since bodies can be long.

    ``marked``: the line that runs next, or where the loop ends.
    """

    def __init__(self, items: Sequence[Item], shown: Shown, width: int) -> None:
        self._items = items
        self._shown = shown
        self._width = width
        self._view: FrameView = shown.frame
        self._nodes = self._view.frame.nodes
        frame = self._view.frame
        self._between = frame.loop is not None and (frame.at_boundary or shown.depth is None)
        self.marked = self._find()
        self._left, self._right, self._value = self._columns()

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if index >= len(self):
            raise IndexError(index)
        return self._line(index, self._items[index])

    def _find(self) -> int | None:
        if self._shown.depth is None:
            return None
        for k, item in enumerate(self._items):
            node = self._node(item)
            if node is not None and node.state is NodeState.NEXT:
                return k
        frame = self._view.frame
        if frame.loop is None:
            return None
        # Between the last node and the next iteration, or where the loop ends.
        wanted = Kind.END if frame.stopped_by is not None else Kind.BOUNDARY
        return next((k for k, item in enumerate(self._items) if item.kind is wanted), len(self._items) - 1)

    def _node(self, item: Item) -> NodeSnapshot | None:
        return self._nodes[item.node] if 0 <= item.node < len(self._nodes) else None

    def _columns(self) -> tuple[int, int, int]:
        """Widths of the columns: names, calls, values."""
        rows = [item for item in self._items if item.kind in (Kind.NODE, Kind.SLICE)]
        left = max((_INDENT * item.depth + cell_len(item.left) for item in rows), default=0)
        right = max((cell_len(item.right) for item in rows), default=0)
        room = self._width - _GUTTER - len(" = ") - len("  ")
        value = max(10, min(14, room * 3 // 10))
        left = min(left, max(8, room * 3 // 10))
        right = max(4, min(right, room - left - value))
        return left, right, max(0, room - left - right)

    def _line(self, index: int, item: Item) -> Line:
        current = index == self.marked
        sign = (FAILED if self._shown.failed and self._innermost else NEXT) if current else " "
        gutter: Span = (f"{sign} ", Role.ERROR if sign == FAILED else Role.MARK)
        spans = [gutter, *self._spans(item, index)]
        return Line(fit_spans(spans, self._width), current)

    @property
    def _innermost(self) -> bool:
        return self._shown.frame is self._shown.view.top

    def _spans(self, item: Item, index: int) -> list[Span]:
        skipped = self._skipped(item)
        if item.kind in (Kind.NODE, Kind.SLICE):
            return self._columned(item, skipped)
        indent = " " * (_INDENT * item.depth)
        text = f"{item.left} = {item.right}" if item.right else item.left
        role = Role.PLAIN
        if item.kind is Kind.END:
            text = self._end(text)
        elif item.kind is Kind.NOTE or skipped:
            role = Role.DIM
        elif item.kind is Kind.HEAD:
            role = Role.NAME
        spans: list[Span] = [(indent + text, role)]
        comment = f"  # {item.comment}" if item.comment else ""
        if comment and _GUTTER + cell_len(indent + text + comment) <= self._width:
            spans.append((comment, Role.DIM))
        return spans

    def _end(self, text: str) -> str:
        frame = self._view.frame
        if frame.stopped_by is None:
            return text
        why = str(frame.stopped_by).replace("_", " ")
        return f"ended after {frame.iteration} iteration{'' if frame.iteration == 1 else 's'}: {why}"

    def _columned(self, item: Item, skipped: bool) -> list[Span]:
        left = pad(" " * (_INDENT * item.depth) + item.left, self._left)
        value, role = (SKIPPED, Role.DIM) if skipped else self._beside(item)
        spans: list[Span] = [
            (left, Role.DIM if skipped else Role.NAME),
            (" = ", Role.DIM),
            (pad(item.right, self._right), Role.DIM if skipped else Role.PLAIN),
        ]
        if self._value >= 3:
            spans += [("  ", Role.PLAIN), (pad(value, self._value), role)]
        return spans

    def _beside(self, item: Item) -> tuple[str, Role]:
        node = self._node(item)
        computed = node is None or node.state is NodeState.DONE or self._between
        values = self._view.values
        there = [name for name in item.names if name in values]
        if not computed or not there:
            return NOT_YET, Role.DIM
        role = Role.PLAIN if self._between else Role.VALUE
        each = (self._value - 2 * (len(there) - 1)) // len(there)
        if len(there) > 1 and each < _LEAST_VALUE:
            more = f" +{len(there) - 1}"
            return short_value(values[there[0]], self._value - len(more)) + more, role
        return ", ".join(short_value(values[name], each) for name in there), role

    def _skipped(self, item: Item) -> bool:
        node = self._node(item)
        if node is not None and node.state is NodeState.SKIPPED:
            return True
        if not item.branches or (node is not None and node.state is NodeState.NEXT):
            return False
        # At a boundary the values tell which branch the iteration took; inside one, the If must have run already.
        for name, word in item.branches:
            taken = self._view.values.get(name)
            if taken is not None and taken.size == 1 and bool(taken.reshape(-1)[0]) != word:
                return True
        return False
