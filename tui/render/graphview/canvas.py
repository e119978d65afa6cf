"""A picture as lines of a pane: boxes, the wires between them and back edges, with what a stop says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from ....debugger.graphview.graph_view import INPUT_KINDS, OUTPUT_KINDS, BoxKind, GraphBox, GraphView
from ....debugger.graphview.node_overlay import GraphFrameStates, NodeOverlay, build_overlay
from ..formatting import NOT_FINITE_SYMBOL, escape_unprintable
from ..styled_text import Role, Span, StyledLine, pad_to_width, shorten_name, truncate
from ..value_cells import NOT_COMPUTED_SIGN, short_value, value_type_text
from .layout import (
    ARC_LABEL_CELLS,
    BOX_DETAILS,
    UNKNOWN_TYPE_TEXT,
    BoxDetail,
    DetailLevel,
    GraphLayout,
    PlacedBox,
    Point,
    path_segments,
)

#: Which neighbours a cell of a line goes to.
_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
_BOX_DRAWING = {
    _UP: "│", _DOWN: "│", _LEFT: "─", _RIGHT: "─", _UP | _DOWN: "│", _LEFT | _RIGHT: "─", _UP | _RIGHT: "└",
    _UP | _LEFT: "┘", _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐", _UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤",
    _LEFT | _RIGHT | _DOWN: "┬", _LEFT | _RIGHT | _UP: "┴", _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip
#: Later ones lie above.
_ROLE_Z_ORDER = (Role.DIM, Role.ARC, Role.DECIDES, Role.ERROR, Role.READER, Role.MAKER)
#: The box of a scan output tells how much it has: so many signs at most.
_SCAN_COUNT_SIGN = "▪"


@dataclass(frozen=True, eq=False)
class RenderedGraph:
    """A picture as it is seen: its lines, and where each box of the outermost picture begins and ends."""

    lines: Sequence[StyledLine]
    marks: NodeOverlay
    width: int


def draw_graph(places: GraphLayout, moments: GraphFrameStates, cursor: int | None = None) -> RenderedGraph:
    """Draw a picture. ``cursor``: the box whose wires are lit."""
    canvas = _GraphCanvas()
    marks = canvas.draw_picture(places, moments, (0, 0), cursor)
    return RenderedGraph(canvas.to_lines(places.width, places.height), marks, places.width)


@dataclass(eq=False)
class _GraphCanvas:
    """Cells, by row and column, and texts above them."""

    cells: dict[Point, tuple[int, Role]] = field(default_factory=dict)
    texts: dict[int, dict[int, Span]] = field(default_factory=dict)

    def draw_picture(
        self, places: GraphLayout, moments: GraphFrameStates, at: Point, cursor: int | None
    ) -> NodeOverlay:
        """Draw a picture at a place; what is lit lies above the rest."""
        picture = places.picture
        marks = build_overlay(picture, moments)
        ways = [
            (_wire_role(picture, marks, wire.source, reader, cursor), way)
            for wire, found in zip(picture.wires, places.wires, strict=True)
            for reader, way in found.items()
        ]
        ways += [(_arc_role(picture, marks, arc.source, arc.target, cursor), way) for arc, way, _ in places.arcs]
        for role, way in sorted(ways, key=lambda one: _ROLE_Z_ORDER.index(one[0])):
            self.draw_path(way, at, role)
        for arc, way, label in places.arcs:
            role = _arc_role(picture, marks, arc.source, arc.target, cursor)
            end = way[-1]
            self.draw_text(at, end, ("▼", role))
            self.draw_text(at, label, (_arc_label(picture, marks, arc.source, arc.target), role))
        for k, chip in enumerate(places.placed_boxes):
            self.draw_box(k, chip, picture, places.level, marks, at, cursor)
            for corner, inner in chip.children:
                self.draw_picture(inner, moments, (at[0] + corner[0], at[1] + corner[1]), None)
        return marks

    def draw_path(self, way: Sequence[Point], at: Point, role: Role) -> None:
        """Draw a line through its corners."""
        # From and to a box it goes on.
        steps = [(way[0], _UP), (way[-1], _DOWN)]
        for begin, end in path_segments(way):
            steps += _path_cells(begin, end)
        left, top = at
        for (x, y), bits in steps:
            cell = (left + x, top + y)
            before = self.cells.get(cell)
            self.cells[cell] = (bits | before[0] if before else bits, role)

    def draw_text(self, at: Point, place: Point, span: Span) -> None:
        """Put a text above lines."""
        self.texts.setdefault(at[1] + place[1], {})[at[0] + place[0]] = span

    def draw_box(
        self,
        k: int,
        chip: PlacedBox,
        picture: GraphView,
        level: DetailLevel,
        marks: NodeOverlay,
        at: Point,
        cursor: int | None,
    ) -> None:
        """Draw a box."""
        box, role, detail = picture.boxes[k], _box_role(k, picture.boxes[k], marks), BOX_DETAILS[level]
        words = _first_row_text(k, box, chip, detail, marks, picture.hidden_neighbours.get(k, 0))
        left, right = ("(", ")") if box.kind in INPUT_KINDS else ("<", ">") if box.kind in OUTPUT_KINDS else ("[", "]")
        left, right = ("▐", "▌") if k == cursor else (left, right)
        left = "▶" if k == marks.next_box else left
        if chip.height == 1:
            text = f"{left}{pad_to_width(words, chip.width - 2)}{right}"
            self.draw_text(at, (chip.left, chip.top), (text, Role.CHOSEN if k == cursor else role))
            return
        words = truncate(words, chip.width - 4)
        head = f"┌{left}{words}{right}{'─' * (chip.width - cell_len(words) - 4)}┐"
        self.draw_text(at, (chip.left, chip.top), (head, Role.CHOSEN if k == cursor else role))
        for row in range(1, chip.height - 1):
            self.draw_text(at, (chip.left, chip.top + row), ("│", role))
            self.draw_text(at, (chip.right - 1, chip.top + row), ("│", role))
        rows = _detail_rows(k, box, chip.width - 4, detail, marks)
        for row, text in enumerate(rows[: detail.inner_rows], 1):
            self.draw_text(at, (chip.left + 2, chip.top + row), (text, role))
        foot = "".join([f" {text} " for text in rows[detail.inner_rows :]])
        foot += "─" * (chip.width - 2 - cell_len(foot))
        self.draw_text(at, (chip.left, chip.top + chip.height - 1), (f"└{foot}┘", role))

    def to_lines(self, width: int, height: int) -> list[StyledLine]:
        """The rows, each as spans."""
        rows: list[dict[int, Span]] = [{} for _ in range(height)]
        for (column, row), (bits, role) in self.cells.items():
            if 0 <= row < height:
                rows[row][column] = (_BOX_DRAWING.get(bits, " "), role)
        for row, found in self.texts.items():
            if 0 <= row < height:
                for column, (text, role) in found.items():
                    for k in range(column, column + cell_len(text)):
                        rows[row].pop(k, None)
                    rows[row][column] = (text, role)
        return [_row_to_line(row) for row in rows]


def _path_cells(begin: Point, end: Point) -> list[tuple[Point, int]]:
    """The cells of a straight line, and which neighbours each goes to."""
    (x, y), (to_x, to_y) = begin, end
    if x == to_x:
        low, high = sorted((y, to_y))
        return [((x, row), (_UP if row > low else 0) | (_DOWN if row < high else 0)) for row in range(low, high + 1)]
    low, high = sorted((x, to_x))
    return [((k, y), (_LEFT if k > low else 0) | (_RIGHT if k < high else 0)) for k in range(low, high + 1)]


def _row_to_line(row: Mapping[int, Span]) -> StyledLine:
    """Cells as spans, neighbours of one role as one."""
    spans: list[Span] = []
    end = 0
    for column in sorted(row):
        text, role = row[column]
        if column > end:
            spans.append((" " * (column - end), Role.PLAIN))
        if spans and spans[-1][1] is role and column == end:
            spans[-1] = (spans[-1][0] + text, role)
        else:
            spans.append((text, role))
        end = column + cell_len(text)
    return StyledLine(tuple(spans))


def _wire_role(picture: GraphView, marks: NodeOverlay, source: int, reader: int, cursor: int | None) -> Role:
    if cursor == reader:
        return Role.MAKER
    if cursor == source:
        return Role.READER
    if source in marks.non_finite and reader in marks.non_finite:
        return Role.ERROR
    return (
        Role.DECIDES
        if picture.boxes[source].affects_condition and picture.boxes[reader].affects_condition
        else Role.DIM
    )


def _arc_role(picture: GraphView, marks: NodeOverlay, source: int, target: int, cursor: int | None) -> Role:
    if cursor in (source, target):
        return Role.MAKER if cursor == target else Role.READER
    return Role.ERROR if source in marks.non_finite else Role.ARC


def _box_role(k: int, box: GraphBox, marks: NodeOverlay) -> Role:
    if k in marks.non_finite:
        return Role.ERROR
    if k == marks.next_box:
        return Role.MARK
    if k in marks.skipped:
        return Role.DIM
    if box.affects_condition:
        return Role.DECIDES
    return Role.ARC if box.kind is BoxKind.RESULT else Role.PLAIN


def _first_row_text(k: int, box: GraphBox, chip: PlacedBox, detail: BoxDetail, marks: NodeOverlay, hidden: int) -> str:
    """The first row of a box: its words, and in a box of one row its value, where there is room for one."""
    words = chip.label
    if not detail.name:
        return NOT_FINITE_SYMBOL if k in marks.non_finite else words
    if detail.rows == 1:
        told = _progress_text(k, box, marks)
        if not told and detail.value and box.kind is not BoxKind.LOOP:
            told = _box_value_text(k, detail.value, marks)
        words = f"{words} {told}" if told else words
    more = f" +{hidden}" if hidden else ""
    return f"{escape_unprintable(truncate(words, chip.width - 2 - len(more)))}{more}"


def _detail_rows(k: int, box: GraphBox, width: int, detail: BoxDetail, marks: NodeOverlay) -> list[str]:
    """The rows below the first: the line of pseudo-code, the type of what the box makes with its value."""
    if detail.rows == 1:
        return []
    kind = (
        value_type_text(marks.values.get(k), box.values[0].type if box.values else None)
        if detail.type
        else UNKNOWN_TYPE_TEXT
    )
    kind = "" if kind == UNKNOWN_TYPE_TEXT else f"{truncate(kind, width - detail.value - 2)}  "
    value = _progress_text(k, box, marks) or _box_value_text(k, width - cell_len(kind), marks)
    rows = [box.description, f"{kind}{value}"] if detail.line else [f"{kind}{value}"]
    return [truncate(escape_unprintable(text), width) for text in rows]


def _progress_text(k: int, box: GraphBox, marks: NodeOverlay) -> str:
    """How far a loop is, how much a scan output has; nothing of other boxes."""
    if k in marks.loop_progress:
        return marks.loop_progress[k].removeprefix("iteration ")
    if box.kind is BoxKind.SCAN and k in marks.scan_counts:
        count, _ = marks.scan_counts[k]
        return f"{_SCAN_COUNT_SIGN * min(count, 4)}{'…' if count > 4 else ''}{count}"
    return ""


def _box_value_text(k: int, width: int, marks: NodeOverlay) -> str:
    """What a box holds, without its shape."""
    return short_value(marks.values[k], width, False) if k in marks.values else NOT_COMPUTED_SIGN


def _arc_label(picture: GraphView, marks: NodeOverlay, source: int, target: int) -> str:
    """What an arc carries now."""
    name = shorten_name(escape_unprintable(picture.boxes[target].name), ARC_LABEL_CELLS // 2)
    value = (
        ""
        if source not in marks.values
        else f" {short_value(marks.values[source], ARC_LABEL_CELLS - 3 - cell_len(name))}"
    )
    return truncate(f"{name}{value} ", ARC_LABEL_CELLS)
