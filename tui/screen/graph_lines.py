"""A picture as lines of a pane: boxes, the wires between them and back edges, with what a stop says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from ...debugger.picture.moment import Marks, Moments, marks_of
from ...debugger.picture.records import ENTERS, LEAVES, Box, Kind, Picture
from .cells import NOT_YET, short_value, type_of
from .graph_places import DETAILS, LABEL, UNKNOWN, Chip, Detail, Level, Places, Point, corners
from .lines import Line, Role, Span, fit, pad, shortened
from .text import NOT_FINITE, printable

#: Which neighbours a cell of a line goes to.
_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
_SIGNS = {
    _UP: "│", _DOWN: "│", _LEFT: "─", _RIGHT: "─", _UP | _DOWN: "│", _LEFT | _RIGHT: "─", _UP | _RIGHT: "└",
    _UP | _LEFT: "┘", _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐", _UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤",
    _LEFT | _RIGHT | _DOWN: "┬", _LEFT | _RIGHT | _UP: "┴", _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip
#: Later ones lie above.
_ORDER = (Role.DIM, Role.ARC, Role.DECIDES, Role.ERROR, Role.READER, Role.MAKER)
#: The box of a scan output tells how much it has: so many signs at most.
_STACK = "▪"


@dataclass(frozen=True, eq=False)
class GraphFace:
    """A picture as it is seen: its lines, and where each box of the outermost picture begins and ends."""

    lines: Sequence[Line]
    marks: Marks
    width: int


def paint(places: Places, moments: Moments, cursor: int | None = None) -> GraphFace:
    """Draw a picture. ``cursor``: the box whose wires are lit."""
    canvas = _Canvas()
    marks = canvas.picture(places, moments, (0, 0), cursor)
    return GraphFace(canvas.lines(places.width, places.height), marks, places.width)


@dataclass(eq=False)
class _Canvas:
    """Cells, by row and column, and texts above them."""

    cells: dict[Point, tuple[int, Role]] = field(default_factory=dict)
    texts: dict[int, dict[int, Span]] = field(default_factory=dict)

    def picture(self, places: Places, moments: Moments, at: Point, cursor: int | None) -> Marks:
        """Draw a picture at a place; what is lit lies above the rest."""
        picture = places.picture
        marks = marks_of(picture, moments)
        ways = [
            (_wire_role(picture, marks, wire.source, reader, cursor), way)
            for wire, found in zip(picture.wires, places.wires, strict=True)
            for reader, way in found.items()
        ]
        ways += [(_arc_role(picture, marks, arc.source, arc.target, cursor), way) for arc, way, _ in places.arcs]
        for role, way in sorted(ways, key=lambda one: _ORDER.index(one[0])):
            self.way(way, at, role)
        for arc, way, label in places.arcs:
            role = _arc_role(picture, marks, arc.source, arc.target, cursor)
            end = way[-1]
            self.text(at, end, ("▼", role))
            self.text(at, label, (_label(picture, marks, arc.source, arc.target), role))
        for k, chip in enumerate(places.chips):
            self.chip(k, chip, picture, places.level, marks, at, cursor)
            for corner, inner in chip.inside:
                self.picture(inner, moments, (at[0] + corner[0], at[1] + corner[1]), None)
        return marks

    def way(self, way: Sequence[Point], at: Point, role: Role) -> None:
        """Draw a line through its corners."""
        # From and to a box it goes on.
        steps = [(way[0], _UP), (way[-1], _DOWN)]
        for begin, end in corners(way):
            steps += _steps(begin, end)
        left, top = at
        for (x, y), bits in steps:
            cell = (left + x, top + y)
            before = self.cells.get(cell)
            self.cells[cell] = (bits | before[0] if before else bits, role)

    def text(self, at: Point, place: Point, span: Span) -> None:
        """Put a text above lines."""
        self.texts.setdefault(at[1] + place[1], {})[at[0] + place[0]] = span

    def chip(
        self, k: int, chip: Chip, picture: Picture, level: Level, marks: Marks, at: Point, cursor: int | None
    ) -> None:
        """Draw a box."""
        box, role, detail = picture.boxes[k], _box_role(k, picture.boxes[k], marks), DETAILS[level]
        words = _words(k, box, chip, detail, marks, picture.hidden.get(k, 0))
        left, right = ("(", ")") if box.kind in ENTERS else ("<", ">") if box.kind in LEAVES else ("[", "]")
        left, right = ("▐", "▌") if k == cursor else (left, right)
        left = "▶" if k == marks.next else left
        if chip.height == 1:
            text = f"{left}{pad(words, chip.width - 2)}{right}"
            self.text(at, (chip.left, chip.top), (text, Role.CHOSEN if k == cursor else role))
            return
        words = fit(words, chip.width - 4)
        head = f"┌{left}{words}{right}{'─' * (chip.width - cell_len(words) - 4)}┐"
        self.text(at, (chip.left, chip.top), (head, Role.CHOSEN if k == cursor else role))
        for row in range(1, chip.height - 1):
            self.text(at, (chip.left, chip.top + row), ("│", role))
            self.text(at, (chip.right - 1, chip.top + row), ("│", role))
        rows = _rows(k, box, chip.width - 4, detail, marks)
        for row, text in enumerate(rows[: detail.between], 1):
            self.text(at, (chip.left + 2, chip.top + row), (text, role))
        foot = "".join([f" {text} " for text in rows[detail.between :]])
        foot += "─" * (chip.width - 2 - cell_len(foot))
        self.text(at, (chip.left, chip.top + chip.height - 1), (f"└{foot}┘", role))

    def lines(self, width: int, height: int) -> list[Line]:
        """The rows, each as spans."""
        rows: list[dict[int, Span]] = [{} for _ in range(height)]
        for (column, row), (bits, role) in self.cells.items():
            if 0 <= row < height:
                rows[row][column] = (_SIGNS.get(bits, " "), role)
        for row, found in self.texts.items():
            if 0 <= row < height:
                for column, (text, role) in found.items():
                    for k in range(column, column + cell_len(text)):
                        rows[row].pop(k, None)
                    rows[row][column] = (text, role)
        return [_line(row) for row in rows]


def _steps(begin: Point, end: Point) -> list[tuple[Point, int]]:
    """The cells of a straight line, and which neighbours each goes to."""
    (x, y), (to_x, to_y) = begin, end
    if x == to_x:
        low, high = sorted((y, to_y))
        return [((x, row), (_UP if row > low else 0) | (_DOWN if row < high else 0)) for row in range(low, high + 1)]
    low, high = sorted((x, to_x))
    return [((k, y), (_LEFT if k > low else 0) | (_RIGHT if k < high else 0)) for k in range(low, high + 1)]


def _line(row: Mapping[int, Span]) -> Line:
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
    return Line(tuple(spans))


def _wire_role(picture: Picture, marks: Marks, source: int, reader: int, cursor: int | None) -> Role:
    if cursor == reader:
        return Role.MAKER
    if cursor == source:
        return Role.READER
    if source in marks.odd and reader in marks.odd:
        return Role.ERROR
    return Role.DECIDES if picture.boxes[source].decides and picture.boxes[reader].decides else Role.DIM


def _arc_role(picture: Picture, marks: Marks, source: int, target: int, cursor: int | None) -> Role:
    if cursor in (source, target):
        return Role.MAKER if cursor == target else Role.READER
    return Role.ERROR if source in marks.odd else Role.ARC


def _box_role(k: int, box: Box, marks: Marks) -> Role:
    if k in marks.odd:
        return Role.ERROR
    if k == marks.next:
        return Role.MARK
    if k in marks.skipped:
        return Role.DIM
    if box.decides:
        return Role.DECIDES
    return Role.ARC if box.kind is Kind.RESULT else Role.PLAIN


def _words(k: int, box: Box, chip: Chip, detail: Detail, marks: Marks, hidden: int) -> str:
    """The first row of a box: its words, and in a box of one row its value, where there is room for one."""
    words = chip.words
    if not detail.name:
        return NOT_FINITE if k in marks.odd else words
    if detail.rows == 1:
        told = _state(k, box, marks)
        if not told and detail.value and box.kind is not Kind.LOOP:
            told = _value(k, detail.value, marks)
        words = f"{words} {told}" if told else words
    more = f" +{hidden}" if hidden else ""
    return f"{printable(fit(words, chip.width - 2 - len(more)))}{more}"


def _rows(k: int, box: Box, width: int, detail: Detail, marks: Marks) -> list[str]:
    """The rows below the first: the line of pseudo-code, the type of what the box makes with its value."""
    if detail.rows == 1:
        return []
    kind = type_of(marks.values.get(k), box.values[0].type if box.values else None) if detail.type else UNKNOWN
    kind = "" if kind == UNKNOWN else f"{fit(kind, width - detail.value - 2)}  "
    value = _state(k, box, marks) or _value(k, width - cell_len(kind), marks)
    rows = [box.told, f"{kind}{value}"] if detail.line else [f"{kind}{value}"]
    return [fit(printable(text), width) for text in rows]


def _state(k: int, box: Box, marks: Marks) -> str:
    """How far a loop is, how much a scan output has; nothing of other boxes."""
    if k in marks.running:
        return marks.running[k].removeprefix("iteration ")
    if box.kind is Kind.SCAN and k in marks.count:
        count, _ = marks.count[k]
        return f"{_STACK * min(count, 4)}{'…' if count > 4 else ''}{count}"
    return ""


def _value(k: int, width: int, marks: Marks) -> str:
    """What a box holds, without its shape."""
    return short_value(marks.values[k], width, False) if k in marks.values else NOT_YET


def _label(picture: Picture, marks: Marks, source: int, target: int) -> str:
    """What an arc carries now."""
    name = shortened(printable(picture.boxes[target].name), LABEL // 2)
    value = "" if source not in marks.values else f" {short_value(marks.values[source], LABEL - 3 - cell_len(name))}"
    return fit(f"{name}{value} ", LABEL)
