"""A loop, or a whole model, as a picture for a file or a page: boxes in layers, and back edges as arcs outside."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop, Node
from ...runtime.graph.origins import Origins
from ...runtime.text import did_you_mean, printable
from ..frame import AnyFrame
from ..picture.build import picture_of
from ..picture.layers import place
from ..picture.moment import Marks, Moments, marks_of, moments_of
from ..picture.part import near
from ..picture.records import ENTERS, Arc, Box, Kind, Picture, Wire
from ..text import value_text
from ..words.node_text import Phrases
from .drawing import CHARACTER, Drawing, Path, Rect, Text

#: In pixels: between boxes beside and below each other, around texts in a box, around all of it, a line of text.
_ASIDE, _BELOW, _PAD, _MARGIN, _LINE = 22.0, 36.0, 8.0, 16.0, 16.0
#: Between two arcs, and what a wire takes that passes by boxes.
_ARC, _BEND = 16.0, 10.0
#: So many characters of a name or a line of code, and of a value.
_NAME, _VALUE = 28, 26
#: So many of a scan output's elements are seen as sheets.
_SHEETS, _SHEET = 5, 3.0
#: What colours mean, by style.
_LEGEND = (
    ("enters", "comes from outside"),
    ("decides", "decides whether it goes on"),
    ("arc", "back edge"),
    ("next", "▶ runs next"),
    ("odd", "NaN or infinite"),
)


def loop_svg(graph: Graph, loop: Loop | None, frame: AnyFrame | None = None, *, opened: Collection[Node] = ()) -> str:
    """A loop of a model as SVG, a whole document that can stand in a file or in a page.

    The body lies in layers, from what it gets (carried values, slices, captures) to what it gives; each back edge is an
    arc outside of it, and scan outputs are stacks. ``graph``: the model's main graph (``model.graph``); ``loop``: one
    of :func:`~...runtime.graph.loops`, None for the main graph. ``frame``: a frame of a session or a recording
    (``session.frame``) that is, or runs inside of, the loop's: then values stand in the boxes, what each back edge
    carries now at its arc, the node that runs next is marked, and NaN's path is red. ``opened``: loops and Ifs that are
    seen with what is inside.

    >>> from loopdbg.debugger.plots.loop_svg import loop_svg
    >>> text = loop_svg(model.graph, session.frame.loop, session.frame)
    >>> text[:42]
    '<svg xmlns="http://www.w3.org/2000/svg" vi'
    """
    return drawn(graph, loop, {} if frame is None else moments_of(frame), opened).svg()


def drawn(
    graph: Graph, loop: Loop | None, moments: Moments, opened: Collection[Node] = (), name: str | None = None
) -> Drawing:
    """What :func:`loop_svg` writes, as a drawing; ``moments``: how the frames stand that run; ``name``: of a large body
    only what is near this value.

    Raises:
        UsageError: nothing in the body has that name.
    """
    picture = picture_of(graph if loop is None else loop.body, loop, Phrases(Origins.of(graph)), opened)
    return draw(picture if name is None else near(picture, _named(picture, name)), moments)


def _named(picture: Picture, name: str) -> int:
    """The box of a value, or of a node."""
    by_name: dict[str, int] = {}
    for k, box in enumerate(picture.boxes):
        names = [one for value in box.values for one in value.names] + ([] if box.node is None else [box.node.name])
        for one in names:
            by_name.setdefault(one, k)
    if name not in by_name:
        raise UsageError(f"nothing is called '{printable(name)}' in this graph{did_you_mean(name, list(by_name))}")
    return by_name[name]


def draw(picture: Picture, moments: Moments) -> Drawing:
    """A picture as a drawing, with its title and what its colours mean."""
    scene = _Scene(picture, moments)
    drawing = Drawing(scene.width + 2 * _MARGIN, 0)
    drawing.parts.append(Text(_MARGIN, _MARGIN + _LINE / 2, _title(picture, moments), bold=True))
    top = _MARGIN + 1.5 * _LINE
    scene.draw(drawing, _MARGIN, top)
    used = {part.style for part in drawing.parts}
    x, y = _MARGIN, top + scene.height + _LINE
    for style, told in _LEGEND:
        if style in used:
            drawing.parts.append(Text(x, y, told, style))
            x += (len(told) + 2) * CHARACTER
    drawing.width, drawing.height = max(drawing.width, x), y + _MARGIN
    return drawing


def _title(picture: Picture, moments: Moments) -> str:
    if picture.loop is None:
        return "main graph"
    moment = moments.get(picture.loop)
    of = "" if moment is None or moment.trip_count is None else f" of {moment.trip_count}"
    told = "" if moment is None else f", {moment.told}{of}"
    return printable(f"{picture.loop.op_type} '{picture.loop.name}'{told}")


@dataclass(frozen=True, eq=False)
class _Face:
    """What a box looks like: its lines of text, each with a style, and its size."""

    lines: tuple[tuple[str, str], ...]
    width: float
    height: float
    inside: tuple[_Scene, ...] = ()


class _Scene:
    """A picture with places in pixels."""

    def __init__(self, picture: Picture, moments: Moments) -> None:
        self._picture = picture
        self._marks = marks_of(picture, moments)
        self._faces = [_face(k, box, self._marks, moments) for k, box in enumerate(picture.boxes)]
        self._layers = place(picture, [face.width for face in self._faces], _ASIDE, _BEND)
        self._labels = {arc: _label(arc, picture, self._marks) for arc in picture.arcs}
        # The leftmost is the outermost: then none crosses what comes down from another box.
        self._arcs = sorted(picture.arcs, key=lambda arc: self._layers.center[arc.source])
        self._arc_room = _ARC * (len(self._arcs) + 1) if self._arcs else 0.0
        self._coming = self._find_coming()
        self._find_places()

    def _find_coming(self) -> dict[int, list[int]]:
        """By box, the wires that come to it, from left to right."""
        coming: dict[int, list[tuple[float, int]]] = {}
        layers = self._layers
        for k, wire in enumerate(self._picture.wires):
            for reader in wire.readers:
                item = layers.above(k, wire.source, layers.rank[reader] - 1)
                coming.setdefault(reader, []).append((layers.center[item], k))
        return {reader: [k for _, k in sorted(found)] for reader, found in coming.items()}

    def _find_places(self) -> None:
        faces, layers = self._faces, self._layers
        self._heights = [
            max([faces[k].height for k in layer if k < len(faces)], default=_LINE) for layer in layers.layers
        ]
        self._tops, y = [], self._arc_room
        for height in self._heights:
            self._tops.append(y)
            y += height + _BELOW
        bottom = max(y - _BELOW, self._arc_room)
        sizes = [face.width for face in faces] + [0.0] * (len(layers.center) - len(faces))
        left = min([c - w / 2 for c, w in zip(layers.center, sizes, strict=True)], default=0.0)
        self._centers = [c - left for c in layers.center]
        self._right = max([c + w / 2 for c, w in zip(self._centers, sizes, strict=True)], default=0.0)
        self._bottom = bottom
        labels = max([len(text) for text in self._labels.values()], default=0) * CHARACTER
        self.width = self._right + (labels + _ARC + self._arc_room if self._arcs else 0)
        self.height = bottom + self._arc_room

    def _top(self, item: int) -> float:
        """Where a box begins; lower layers of unequal boxes begin at one height."""
        return self._tops[self._layers.rank[item]]

    def draw(self, drawing: Drawing, x: float, y: float) -> None:
        """Put it into a drawing, wires below boxes."""
        for k, wire in enumerate(self._picture.wires):
            self._draw_wire(drawing, k, wire, x, y)
        for k, arc in enumerate(self._arcs):
            self._draw_arc(drawing, k, arc, x, y)
        for k, box in enumerate(self._picture.boxes):
            self._draw_box(drawing, k, box, x, y)

    # -- wires and arcs

    def _draw_wire(self, drawing: Drawing, k: int, wire: Wire, x: float, y: float) -> None:
        layers = self._layers
        begin = (x + self._centers[wire.source], y + self._top(wire.source) + self._faces[wire.source].height)
        # What is coloured lies above what is not.
        styles = sorted((self._wire_style(wire, reader) != "wire", reader) for reader in wire.readers)
        for _, reader in styles:
            to = (x + self._port(reader, k), y + self._top(reader))
            joins = (self._picture.boxes[wire.source].name, self._picture.boxes[reader].name)
            path = [begin, *self._passing(k, layers.rank[reader], x, y), to]
            drawing.parts.append(Path(path, self._wire_style(wire, reader), told=(wire.value.name,), joins=joins))

    def _passing(self, wire: int, until: int, x: float, y: float) -> Iterator[tuple[float, float]]:
        """The corners of a wire at the layers that it passes by, down to one."""
        found = self._layers.bends[wire]
        for item, ranks in groupby([rank for rank in found if rank < until], key=found.__getitem__):
            passed = list(ranks)
            at = x + self._centers[item]
            yield at, y + self._tops[passed[0]]
            yield at, y + self._tops[passed[-1]] + self._heights[passed[-1]]

    def _port(self, reader: int, wire: int) -> float:
        """Where a wire comes to a box: those that come from the left on the left."""
        coming = self._coming[reader]
        at = coming.index(wire)
        face = self._faces[reader]
        return self._centers[reader] + ((at + 1) / (len(coming) + 1) - 0.5) * min(face.width - 2 * _PAD, 120.0)

    def _wire_style(self, wire: Wire, reader: int) -> str:
        boxes, odd = self._picture.boxes, self._marks.odd
        if wire.source in odd and reader in odd:
            return "odd"
        return "decides" if boxes[wire.source].decides and boxes[reader].decides else "wire"

    def _draw_arc(self, drawing: Drawing, k: int, arc: Arc, x: float, y: float) -> None:
        out = _ARC * (len(self._arcs) - k)
        low, high = y + self._bottom + out, y + self._arc_room - out
        beside = x + self.width - self._arc_room + out
        start, end = x + self._centers[arc.source], x + self._centers[arc.target]
        points = [
            (start, y + self._top(arc.source) + self._faces[arc.source].height), (start, low), (beside, low),
            (beside, high), (end, high), (end, y + self._top(arc.target)),
        ]  # fmt: skip
        boxes = self._picture.boxes
        odd = arc.source in self._marks.odd
        style = "odd" if odd else "decides" if boxes[arc.target].decides and boxes[arc.source].decides else "arc"
        joins = (boxes[arc.source].name, boxes[arc.target].name)
        drawing.parts.append(Path(points, style, curved=False, thick=1.6, told=(self._labels[arc],), joins=joins))
        drawing.parts.append(Text(x + self._right + _PAD, low - _LINE / 2, self._labels[arc], style))

    # -- boxes

    def _draw_box(self, drawing: Drawing, k: int, box: Box, x: float, y: float) -> None:
        face = self._faces[k]
        left, top = x + self._centers[k] - face.width / 2, y + self._top(k)
        style, marks = _box_style(k, box, self._marks), self._marks
        if box.kind is Kind.SCAN:
            for sheet in reversed(range(1, min(marks.count.get(k, (0, ()))[0], _SHEETS))):
                drawing.parts.append(
                    Rect(left + sheet * _SHEET, top + sheet * _SHEET, face.width, face.height, style, sheet=True)
                )
        told = [box.told] if box.node is None else [box.told, box.node.describe()]
        drawing.parts.append(
            Rect(left, top, face.width, face.height, style, 12 if box.kind in ENTERS else 3,
                 2.6 if k == marks.next else 1.2, k in marks.skipped, told=told)
        )  # fmt: skip
        for row, (text, kind) in enumerate(face.lines):
            middle = top + _PAD / 2 + (row + 0.5) * _LINE
            drawing.parts.append(Text(left + _PAD, middle, text, kind, bold=row == 0))
        if k == marks.next:
            drawing.parts.append(Text(left - 4, top + face.height / 2, "▶", "next", "end"))
        at = left + _PAD
        for scene in face.inside:
            scene.draw(drawing, at, top + _PAD + len(face.lines) * _LINE)
            at += scene.width + _ASIDE


def _box_style(k: int, box: Box, marks: Marks) -> str:
    if k in marks.odd:
        return "odd"
    if k == marks.next:
        return "next"
    if box.decides:
        return "decides"
    if box.kind is Kind.RESULT:
        return "arc"
    return "enters" if box.kind in ENTERS else "plain"


def _face(k: int, box: Box, marks: Marks, moments: Moments) -> _Face:
    lines = [(_cut(box.name, _NAME), "text"), (_note(k, box, marks), "dim")]
    if k in marks.values and box.kind is not Kind.SCAN:
        style = "odd" if k in marks.odd else "dim" if k in marks.old else "next"
        lines.append((_value(marks.values[k]), style))
    inside = tuple(_Scene(picture, moments) for picture in box.inside)
    width = max(len(text) for text, _ in lines) * CHARACTER + 2 * _PAD
    height = len(lines) * _LINE + _PAD
    if inside:
        width = max(width, sum(scene.width + _ASIDE for scene in inside) - _ASIDE + 2 * _PAD)
        height += max(scene.height for scene in inside) + _PAD
    return _Face(tuple(lines), width, height, inside)


def _note(k: int, box: Box, marks: Marks) -> str:
    """The second line of a box: what makes it what it is."""
    if box.kind is Kind.SCAN and k in marks.count:
        count, shape = marks.count[k]
        return f"scan output, {count} so far [{','.join(map(str, shape))}]"
    if k in marks.running:
        return f"{printable(box.op)}, {marks.running[k]}"
    if box.kind is Kind.SLICED:
        return _cut(box.told.partition(" = ")[2], _NAME)
    if box.kind is Kind.CONDITION:
        return _cut(box.told.removeprefix("goes on "), _NAME)
    if box.node is None:
        return str(box.kind)
    return printable(box.op) if box.kind is not Kind.NODE else _cut(box.told.partition(" = ")[2] or box.op, _NAME)


def _label(arc: Arc, picture: Picture, marks: Marks) -> str:
    """What an arc carries now: at a boundary what the next iteration gets."""
    name = _cut(picture.boxes[arc.target].name, _NAME)
    value = marks.values.get(arc.source)
    return name if arc.source not in marks.values else f"{name} ← {_value(value)}"


def _value(value: Any) -> str:
    return _cut(value_text(value, _VALUE), _VALUE + 8)


def _cut(text: str, most: int) -> str:
    """A text as it is printed; of a longer one the middle is left out."""
    text = printable(text)
    tail = most // 2 - 1
    return text if len(text) <= most else f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"
