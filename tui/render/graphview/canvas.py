"""Draws a graph layout as lines of a pane: boxes, wires and back edges, with an overlay of a stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from ....debugger.graphview.graph_view import INPUT_KINDS, OUTPUT_KINDS, BoxKind, GraphBox, GraphView
from ....debugger.graphview.node_overlay import FramesByLoop, NodeOverlay, build_overlay
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

#: Direction bits of a line cell.
_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
_BOX_DRAWING = {
    _UP: "│", _DOWN: "│", _LEFT: "─", _RIGHT: "─", _UP | _DOWN: "│", _LEFT | _RIGHT: "─", _UP | _RIGHT: "└",
    _UP | _LEFT: "┘", _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐", _UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤",
    _LEFT | _RIGHT | _DOWN: "┬", _LEFT | _RIGHT | _UP: "┴", _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip
#: Later roles are drawn on top.
_ROLE_Z_ORDER = (Role.DIM, Role.ARC, Role.DECIDES, Role.ERROR, Role.READER, Role.MAKER)
#: Sign for the elements of a scan output, in its box.
_SCAN_COUNT_SIGN = "▪"


@dataclass(frozen=True, eq=False)
class RenderedGraph:
    """A drawn picture: its lines, the overlay of the outermost picture, and its width."""

    lines: Sequence[StyledLine]
    marks: NodeOverlay
    width: int


def draw_graph(layout: GraphLayout, frames: FramesByLoop, cursor: int | None = None) -> RenderedGraph:
    """Draw a picture. ``cursor``: the box whose wires are highlighted."""
    canvas = _GraphCanvas()
    marks = canvas.draw_picture(layout, frames, (0, 0), cursor)
    return RenderedGraph(canvas.to_lines(layout.width, layout.height), marks, layout.width)


@dataclass(eq=False)
class _GraphCanvas:
    """Line cells by position, and texts that cover them."""

    cells: dict[Point, tuple[int, Role]] = field(default_factory=dict)
    texts: dict[int, dict[int, Span]] = field(default_factory=dict)

    def draw_picture(self, layout: GraphLayout, frames: FramesByLoop, origin: Point, cursor: int | None) -> NodeOverlay:
        """Draw a picture at an origin; highlighted lines are on top."""
        picture = layout.picture
        marks = build_overlay(picture, frames)
        lines = [
            (_wire_role(picture, marks, wire.source, reader, cursor), path)
            for wire, wire_paths in zip(picture.wires, layout.wires, strict=True)
            for reader, path in wire_paths.items()
        ]
        lines += [(_arc_role(picture, marks, arc.source, arc.target, cursor), path) for arc, path, _ in layout.arcs]
        for role, path in sorted(lines, key=lambda item: _ROLE_Z_ORDER.index(item[0])):
            self.draw_path(path, origin, role)
        for arc, path, label in layout.arcs:
            role = _arc_role(picture, marks, arc.source, arc.target, cursor)
            end = path[-1]
            self.draw_text(origin, end, ("▼", role))
            self.draw_text(origin, label, (_arc_label(picture, marks, arc.source, arc.target), role))
        for k, chip in enumerate(layout.placed_boxes):
            self.draw_box(k, chip, picture, layout.level, marks, origin, cursor)
            for corner, inner in chip.children:
                self.draw_picture(inner, frames, (origin[0] + corner[0], origin[1] + corner[1]), None)
        return marks

    def draw_path(self, path: Sequence[Point], origin: Point, role: Role) -> None:
        """Draw a line through the corners of a path."""
        # The ends continue to the boxes.
        steps = [(path[0], _UP), (path[-1], _DOWN)]
        for begin, end in path_segments(path):
            steps += _path_cells(begin, end)
        left, top = origin
        for (x, y), bits in steps:
            cell = (left + x, top + y)
            previous = self.cells.get(cell)
            self.cells[cell] = (bits | previous[0] if previous else bits, role)

    def draw_text(self, origin: Point, position: Point, span: Span) -> None:
        """Place a text over lines."""
        self.texts.setdefault(origin[1] + position[1], {})[origin[0] + position[0]] = span

    def draw_box(
        self,
        k: int,
        chip: PlacedBox,
        picture: GraphView,
        level: DetailLevel,
        marks: NodeOverlay,
        origin: Point,
        cursor: int | None,
    ) -> None:
        """Draw a box with its rows and border."""
        box, role, detail = picture.boxes[k], _box_role(k, picture.boxes[k], marks), BOX_DETAILS[level]
        label = _first_row_text(k, box, chip, detail, marks, picture.hidden_neighbours.get(k, 0))
        left, right = ("(", ")") if box.kind in INPUT_KINDS else ("<", ">") if box.kind in OUTPUT_KINDS else ("[", "]")
        left, right = ("▐", "▌") if k == cursor else (left, right)
        left = "▶" if k == marks.next_box else left
        if chip.height == 1:
            text = f"{left}{pad_to_width(label, chip.width - 2)}{right}"
            self.draw_text(origin, (chip.left, chip.top), (text, Role.CHOSEN if k == cursor else role))
            return
        label = truncate(label, chip.width - 4)
        head = f"┌{left}{label}{right}{'─' * (chip.width - cell_len(label) - 4)}┐"
        self.draw_text(origin, (chip.left, chip.top), (head, Role.CHOSEN if k == cursor else role))
        for row in range(1, chip.height - 1):
            self.draw_text(origin, (chip.left, chip.top + row), ("│", role))
            self.draw_text(origin, (chip.right - 1, chip.top + row), ("│", role))
        rows = _detail_rows(k, box, chip.width - 4, detail, marks)
        for row, text in enumerate(rows[: detail.inner_rows], 1):
            self.draw_text(origin, (chip.left + 2, chip.top + row), (text, role))
        bottom = "".join([f" {text} " for text in rows[detail.inner_rows :]])
        bottom += "─" * (chip.width - 2 - cell_len(bottom))
        self.draw_text(origin, (chip.left, chip.top + chip.height - 1), (f"└{bottom}┘", role))

    def to_lines(self, width: int, height: int) -> list[StyledLine]:
        """The canvas as styled lines."""
        rows: list[dict[int, Span]] = [{} for _ in range(height)]
        for (column, row), (bits, role) in self.cells.items():
            if 0 <= row < height:
                rows[row][column] = (_BOX_DRAWING.get(bits, " "), role)
        for row, texts in self.texts.items():
            if 0 <= row < height:
                for column, (text, role) in texts.items():
                    for k in range(column, column + cell_len(text)):
                        rows[row].pop(k, None)
                    rows[row][column] = (text, role)
        return [_row_to_line(row) for row in rows]


def _path_cells(begin: Point, end: Point) -> list[tuple[Point, int]]:
    """The cells of a straight line with their direction bits."""
    (x, y), (to_x, to_y) = begin, end
    if x == to_x:
        low, high = sorted((y, to_y))
        return [((x, row), (_UP if row > low else 0) | (_DOWN if row < high else 0)) for row in range(low, high + 1)]
    low, high = sorted((x, to_x))
    return [((k, y), (_LEFT if k > low else 0) | (_RIGHT if k < high else 0)) for k in range(low, high + 1)]


def _row_to_line(row: Mapping[int, Span]) -> StyledLine:
    """Join neighbouring cells of one role to spans."""
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
    """The first row of a box: its label, and its value in a one-row box if there is space."""
    label = chip.label
    if not detail.name:
        return NOT_FINITE_SYMBOL if k in marks.non_finite else label
    if detail.rows == 1:
        value = _progress_text(k, box, marks)
        if not value and detail.value and box.kind is not BoxKind.LOOP:
            value = _box_value_text(k, detail.value, marks)
        label = f"{label} {value}" if value else label
    suffix = f" +{hidden}" if hidden else ""
    return f"{escape_unprintable(truncate(label, chip.width - 2 - len(suffix)))}{suffix}"


def _detail_rows(k: int, box: GraphBox, width: int, detail: BoxDetail, marks: NodeOverlay) -> list[str]:
    """The rows below the first: the pseudo-code line, and the type with the value."""
    if detail.rows == 1:
        return []
    type_label = (
        value_type_text(marks.values.get(k), box.values[0].type if box.values else None)
        if detail.type
        else UNKNOWN_TYPE_TEXT
    )
    type_label = "" if type_label == UNKNOWN_TYPE_TEXT else f"{truncate(type_label, width - detail.value - 2)}  "
    value = _progress_text(k, box, marks) or _box_value_text(k, width - cell_len(type_label), marks)
    rows = [box.description, f"{type_label}{value}"] if detail.line else [f"{type_label}{value}"]
    return [truncate(escape_unprintable(text), width) for text in rows]


def _progress_text(k: int, box: GraphBox, marks: NodeOverlay) -> str:
    """The progress of a loop or the count of a scan output; empty for other boxes."""
    if k in marks.loop_progress:
        return marks.loop_progress[k].removeprefix("iteration ")
    if box.kind is BoxKind.SCAN and k in marks.scan_counts:
        count, _ = marks.scan_counts[k]
        return f"{_SCAN_COUNT_SIGN * min(count, 4)}{'…' if count > 4 else ''}{count}"
    return ""


def _box_value_text(k: int, width: int, marks: NodeOverlay) -> str:
    """The value of a box, without its shape."""
    return short_value(marks.values[k], width, False) if k in marks.values else NOT_COMPUTED_SIGN


def _arc_label(picture: GraphView, marks: NodeOverlay, source: int, target: int) -> str:
    """The name and the current value of a back edge."""
    name = shorten_name(escape_unprintable(picture.boxes[target].name), ARC_LABEL_CELLS // 2)
    value = (
        ""
        if source not in marks.values
        else f" {short_value(marks.values[source], ARC_LABEL_CELLS - 3 - cell_len(name))}"
    )
    return truncate(f"{name}{value} ", ARC_LABEL_CELLS)
