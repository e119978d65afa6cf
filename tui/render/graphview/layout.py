"""Cell layout of a graph: positions of boxes, paths of wires and back edges.

Depends on names and declared types only, so that it is stable between stops. Wires between two layers run in tracks:
overlapping wires get separate rows, and a column is not shared by a wire from above and a wire to below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise

from rich.cells import cell_len

from ....debugger.graphview.graph_view import BackEdgeArc, BoxKind, GraphBox, GraphView
from ....debugger.graphview.layered_layout import LayeredLayout, compute_layout
from ....runtime.graph import TensorType
from ..formatting import escape_unprintable, type_text
from ..styled_text import shorten_name
from ..value_cells import value_type_text

Point = tuple[int, int]


class DetailLevel(IntEnum):
    """Contents of a box: sign; name; name above value; name, operator and value in one row; with the result type below;
    with the pseudo-code line; longer texts in a frame."""

    SIGNS = 0
    NAMES = 1
    NARROW = 2
    VALUES = 3
    TYPES = 4
    LINES = 5
    FRAMES = 6


@dataclass(frozen=True)
class BoxDetail:
    """The rows of a collapsed box, and the cells of each part, 0 if hidden. With several rows, the first and the
    last are borders and hold the parts without a row of their own."""

    rows: int = 1
    name: int = 0
    operator: int = 0
    value: int = 0
    type: int = 0
    line: int = 0

    @property
    def inner_rows(self) -> int:
        """The rows between the borders."""
        return max(0, self.rows - 2)


BOX_DETAILS = {
    DetailLevel.SIGNS: BoxDetail(),
    DetailLevel.NAMES: BoxDetail(1, 18),
    DetailLevel.NARROW: BoxDetail(2, 18, value=8),
    DetailLevel.VALUES: BoxDetail(1, 18, 12, 10),
    DetailLevel.TYPES: BoxDetail(2, 18, 12, 10, 16),
    DetailLevel.LINES: BoxDetail(3, 18, 12, 14, 16, 26),
    DetailLevel.FRAMES: BoxDetail(4, 24, 18, 22, 20, 40),
}
#: Text of an undeclared type; the width of most types.
UNKNOWN_TYPE_TEXT, _TYPE_CELLS = type_text(None, None), 11
#: Width of a loop's progress after its name.
_PROGRESS_CELLS = 12
#: The gap between boxes, and the width of a passing wire.
_BOX_GAP_CELLS, _BEND_CELLS = 3, 2
#: Largest width of an arc label.
ARC_LABEL_CELLS = 18
#: Sign before a name, by kind of box.
KIND_SIGNS = {
    BoxKind.CARRIED: "↻",
    BoxKind.RESULT: "↻",
    BoxKind.SLICED: "▤",
    BoxKind.ITERATION: "#",
    BoxKind.SCAN: "≡",
    BoxKind.CONDITION: "◆",
    BoxKind.LOOP: "⟳",
    BoxKind.IF: "?",
}


@dataclass(frozen=True, eq=False)
class PlacedBox:
    """A box in cells: top left corner, size, label of its first row without the value; ``children``: the pictures
    inside it with their positions."""

    left: int
    top: int
    width: int
    height: int
    label: str
    children: tuple[tuple[Point, GraphLayout], ...] = ()

    @property
    def right(self) -> int:
        """The column after the last cell."""
        return self.left + self.width


@dataclass(eq=False)
class GraphLayout:
    """A picture in cells. ``wires``: by wire and reader, the corners of the path; ``arcs``: back edges with the
    corners of their paths and label positions. Points are (column, row)."""

    picture: GraphView
    level: DetailLevel
    placed_boxes: list[PlacedBox] = field(default_factory=list)
    wires: list[dict[int, list[Point]]] = field(default_factory=list)
    arcs: list[tuple[BackEdgeArc, list[Point], Point]] = field(default_factory=list)
    width: int = 0
    height: int = 0


def box_label(box: GraphBox, level: DetailLevel) -> str:
    """The text in the first row of a box, without its value."""
    sign, detail = KIND_SIGNS.get(box.kind, ""), BOX_DETAILS[level]
    if not detail.name:
        return sign or "·"
    name = shorten_name(escape_unprintable(box.name), detail.name)
    operator = shorten_name(escape_unprintable(box.op), detail.operator) if detail.operator else ""
    return " ".join(filter(None, (sign, name, operator)))


def type_width(box: GraphBox, detail: BoxDetail) -> int:
    """The width of a box's result type and the gap after it: that of the declared type, at least the usual width if its
    shape is not fully known."""
    if not detail.type:
        return 0
    declared = box.values[0].type if box.values else None
    shape = declared.shape if isinstance(declared, TensorType) else None
    fixed = shape is not None and all(isinstance(dim, int) for dim in shape)
    return min(detail.type, max(cell_len(value_type_text(None, declared)), 0 if fixed else _TYPE_CELLS)) + 2


def layout_graph(picture: GraphView, level: DetailLevel) -> GraphLayout:
    """Compute the positions of a picture's boxes, wires and back edges."""
    return _LayoutBuilder(picture, level).graph_layout


class _LayoutBuilder:
    def __init__(self, picture: GraphView, level: DetailLevel) -> None:
        self.picture, self.level = picture, level
        self.graph_layout = GraphLayout(picture, level)
        self.children = [[layout_graph(subgraph, level) for subgraph in box.subgraphs] for box in picture.boxes]
        self.labels = [box_label(box, level) for box in picture.boxes]
        self.sizes = [self._box_size(k) for k in range(len(picture.boxes))]
        self.layers = compute_layout(picture, [width for width, _ in self.sizes], _BOX_GAP_CELLS, _BEND_CELLS)
        self.lefts = _item_left_columns(self.layers, [width for width, _ in self.sizes])
        self.arcs = sorted(picture.arcs, key=lambda arc: self.layers.centers[arc.source])
        #: By wire, the column at its source; by box and wire, the column at the reader.
        self.out_columns: dict[int, int] = {}
        self.in_columns: dict[tuple[int, int], int] = {}
        #: By layer, the wires that go from it to the next, except those in side lanes.
        self.passing_wires: dict[int, list[int]] = {}
        self._assign_ports()
        self._stack_layers()
        self._route_arcs()

    def _box_size(self, k: int) -> Point:
        box, children, detail = self.picture.boxes[k], self.children[k], BOX_DETAILS[self.level]
        label_width, height = cell_len(self.labels[k]), detail.rows
        if detail.rows > 1:
            line = min(detail.line, cell_len(escape_unprintable(box.description))) if detail.line else 0
            width = max(label_width, line, type_width(box, detail) + detail.value) + 4
        elif box.kind is BoxKind.LOOP:
            width = label_width + 2 + (_PROGRESS_CELLS if detail.name else 0)
        else:
            width = label_width + 2 + (detail.value + 1 if detail.value else 0)
        if children:
            width = max(width, sum(child.width + 2 for child in children) + 2)
            height = max(2, height) + max(child.height for child in children)
        return max(3, width), height

    # -- columns of ports

    def _assign_ports(self) -> None:
        layers = self.layers
        outgoing: dict[int, list[int]] = {}
        for k, wire in enumerate(self.picture.wires):
            outgoing.setdefault(wire.source, []).append(k)
        for box, wires in outgoing.items():
            for k, column in zip(wires, _spread_ports(self.lefts[box], self.sizes[box][0], len(wires)), strict=True):
                self.out_columns[k] = column
        tops: dict[int, dict[int, int]] = {}
        for k, wire in enumerate(self.picture.wires):
            first = layers.ranks[wire.source]
            last = max([layers.ranks[reader] for reader in wire.readers], default=first)
            for rank in range(first, last):
                if not layers.is_routed_in_lane(k, rank):
                    self.passing_wires.setdefault(rank, []).append(k)
                    tops.setdefault(rank, {})[self._wire_column(k, rank)] = k
        incoming: dict[int, list[tuple[int, int]]] = {}
        for k, wire in enumerate(self.picture.wires):
            for reader in wire.readers:
                incoming.setdefault(reader, []).append((self._wire_column(k, layers.ranks[reader] - 1), k))
        for box, entries in incoming.items():
            self._assign_input_columns(box, sorted(entries), tops.get(layers.ranks[box] - 1, {}))

    def _wire_column(self, wire: int, rank: int) -> int:
        """The column in which a wire passes or leaves a layer."""
        bends = self.layers.bends[wire]
        return self.lefts[bends[rank]] if rank in bends else self.out_columns[wire]

    def _assign_input_columns(self, box: int, wires: Sequence[tuple[int, int]], tops: dict[int, int]) -> None:
        """Assign a column of a box to each incoming wire: straight below its origin, else an unobstructed one."""
        left, width = self.lefts[box], self.sizes[box][0]
        free = list(range(left + 1, left + width - 1)) or [left]
        for k, ((above, wire), goal) in enumerate(zip(wires, _spread_ports(left, width, len(wires)), strict=True)):
            remaining = len(wires) - k - 1
            allowed = free[: len(free) - remaining] or free
            unobstructed = [column for column in allowed if tops.get(column, wire) == wire] or allowed
            best = above if above in unobstructed else min(unobstructed, key=lambda column: abs(column - goal))
            self.in_columns[box, wire] = best
            free = [column for column in free if column > best] or [best]

    # -- rows

    def _stack_layers(self) -> None:
        """Stack the layers, separated by the tracks between them."""
        layers = self.layers
        row = len(self.arcs) + 1 if self.arcs else 0
        paths: list[dict[int, list[Point]]] = [{} for _ in self.picture.wires]
        placed: list[PlacedBox | None] = [None] * len(self.picture.boxes)
        partial: list[list[Point]] = [[] for _ in self.picture.wires]
        for rank, layer in enumerate(layers.layers):
            boxes = [k for k in layer if k < len(placed)]
            height = max([self.sizes[k][1] for k in boxes], default=1)
            for k in boxes:
                placed[k] = self._place_box(k, row)
            after = row + height
            nets = self._nets_between_layers(rank)
            tracks = _assign_tracks(nets)
            below = after + max(1, max(tracks.values(), default=0) + 1)
            for wire, (top, bottoms) in nets.items():
                self._route_wire(wire, rank, top, bottoms, (row, after, below), tracks.get(wire, 0), paths, partial)
            row = below
        self.graph_layout.placed_boxes = [box for box in placed if box is not None]
        self.graph_layout.wires = paths
        self.graph_layout.height = max([box.top + box.height for box in self.graph_layout.placed_boxes], default=0)

    def _nets_between_layers(self, rank: int) -> dict[int, tuple[int, list[tuple[int, int | None]]]]:
        """The wires between a layer and the next: the column above, and the columns below with the reader, None for a
        wire that continues."""
        layers = self.layers
        nets: dict[int, tuple[int, list[tuple[int, int | None]]]] = {}
        for k in self.passing_wires.get(rank, ()):
            wire = self.picture.wires[k]
            ends: list[tuple[int, int | None]] = [
                (self.in_columns[reader, k], reader) for reader in wire.readers if layers.ranks[reader] == rank + 1
            ]
            if rank + 1 in layers.bends[k]:
                ends.append((self._wire_column(k, rank + 1), None))
            if ends:
                nets[k] = (self._wire_column(k, rank), ends)
        return nets

    def _route_wire(
        self,
        wire: int,
        rank: int,
        top: int,
        ends: Sequence[tuple[int, int | None]],
        rows: tuple[int, int, int],
        track: int,
        paths: list[dict[int, list[Point]]],
        partial: list[list[Point]],
    ) -> None:
        """Route a wire from a layer to the next."""
        row, after, below = rows
        start = partial[wire] or [(top, row + self.sizes[self.picture.wires[wire].source][1])]
        for column, reader in ends:
            turn = [] if column == top else [(top, after + track), (column, after + track)]
            if reader is None:
                partial[wire] = [*start, *turn]
            else:
                paths[wire][reader] = [*start, *turn, (column, below - 1)]

    def _place_box(self, k: int, row: int) -> PlacedBox:
        width, height = self.sizes[k]
        left = self.lefts[k]
        children, x = [], left + 2
        for child in self.children[k]:
            children.append(((x, row + 1 + BOX_DETAILS[self.level].inner_rows), child))
            x += child.width + 2
        return PlacedBox(left, row, width, height, self.labels[k], tuple(children))

    def _route_arcs(self) -> None:
        """Route back edges around the right side, the leftmost outermost. Their labels are below the boxes,
        where nothing else is drawn."""
        layout, count = self.graph_layout, len(self.arcs)
        right = max([box.right for box in layout.placed_boxes], default=0)
        for wire in layout.wires:
            right = max([right, *(x + 1 for path in wire.values() for x, _ in path)])
        starts = [
            layout.placed_boxes[arc.source].left + layout.placed_boxes[arc.source].width // 2 for arc in self.arcs
        ]
        right = max([right, *(start + ARC_LABEL_CELLS + 2 for start in starts)])
        layout.width = right + (1 + 2 * count if count else 0)
        bottom = layout.height
        for k, arc in enumerate(self.arcs):
            source, target = layout.placed_boxes[arc.source], layout.placed_boxes[arc.target]
            low, high, side = bottom + count - k, k, right + 2 * (count - k)
            start, end = starts[k], target.left + target.width // 2
            path = [
                (start, source.top + source.height), (start, low), (side, low),
                (side, high), (end, high), (end, target.top - 1),
            ]  # fmt: skip
            layout.arcs.append((arc, path, (right + 1 - ARC_LABEL_CELLS, low)))
        layout.height = bottom + (count + 1 if count else 0)


def _item_left_columns(layers: LayeredLayout, widths: Sequence[int]) -> list[int]:
    """The left column of every item, rounded without overlap, from 0 on; lanes are left of all items."""
    lefts = [0] * len(layers.centers)
    for layer in layers.layers:
        end = None
        for item in layer:
            width = widths[item] if item < len(widths) else 1
            left = round(layers.centers[item] - width / 2)
            lefts[item] = left if end is None else max(left, end + 1)
            end = lefts[item] + width
    inner = min([lefts[item] for layer in layers.layers for item in layer], default=0)
    for item, lane in layers.lanes.items():
        lefts[item] = inner - _BEND_CELLS * (lane + 1)
    leftmost = min(lefts, default=0)
    return [left - leftmost for left in lefts]


def _spread_ports(left: int, width: int, count: int) -> list[int]:
    """Evenly spaced port columns of a box."""
    inner = max(1, width - 2)
    return [left + 1 + min(inner - 1, (2 * k + 1) * inner // (2 * count)) for k in range(count)]


def _assign_tracks(nets: dict[int, tuple[int, list[tuple[int, int | None]]]]) -> dict[int, int]:
    """The row of each net that turns: no overlap, and a net that comes from above in a column turns before another goes
    down in it."""
    spans = {
        k: (min(top, *(c for c, _ in ends)), max(top, *(c for c, _ in ends)))
        for k, (top, ends) in nets.items()
        if any(column != top for column, _ in ends)
    }
    above: dict[int, set[int]] = {k: set() for k in spans}
    tops = {top: k for k, (top, _) in nets.items()}
    for k in spans:
        above[k] = {tops[c] for c, _ in nets[k][1] if c in tops and tops[c] != k and tops[c] in spans}
    rows: dict[int, int] = {}
    occupied: list[list[tuple[int, int]]] = []
    queue = sorted(spans, key=lambda k: spans[k])
    while queue:
        # Break a cycle at its first net, which then crosses another.
        k = next((net for net in queue if above[net] <= rows.keys()), queue[0])
        queue.remove(k)
        low, high = spans[k]
        row = max([rows[other] + 1 for other in above[k] if other in rows], default=0)
        while row < len(occupied) and any(a <= high + 1 and low - 1 <= b for a, b in occupied[row]):
            row += 1
        while row >= len(occupied):
            occupied.append([])
        occupied[row].append((low, high))
        rows[k] = row
    return rows


def path_segments(path: Sequence[Point]) -> list[tuple[Point, Point]]:
    """The straight segments of a path."""
    return [(a, b) for a, b in pairwise(path) if a != b]
