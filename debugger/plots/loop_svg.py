"""A loop, or a whole model, as a picture for a file or a page: boxes in layers, and back edges as arcs outside."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop, Node
from ...runtime.graph.producers import ProducerMap
from ...runtime.text import did_you_mean, escape_unprintable
from ..describe.node_text import NodeFormatter
from ..frame_protocol import FrameProtocol
from ..graphview.build_view import build_graph_view
from ..graphview.focus_subgraph import focus_subgraph
from ..graphview.graph_view import INPUT_KINDS, BackEdgeArc, BoxKind, GraphBox, GraphView, GraphWire
from ..graphview.layered_layout import compute_layout
from ..graphview.node_overlay import GraphFrameStates, NodeOverlay, build_overlay, frame_states
from ..value_text import value_text
from .vector_drawing import CHARACTER_WIDTH_PX, DrawnPath, DrawnRect, DrawnText, VectorDrawing

#: In pixels: between boxes beside and below each other, around texts in a box, around all of it, a line of text.
_BOX_GAP_X_PX, _BOX_GAP_Y_PX, _BOX_PADDING_PX, _MARGIN_PX, _LINE_HEIGHT_PX = 22.0, 36.0, 8.0, 16.0, 16.0
#: Between two arcs, and what a wire takes that passes by boxes.
_ARC_GAP_PX, _WIRE_GAP_PX = 16.0, 10.0
#: So many characters of a name or a line of code, and of a value.
_NAME_MAX_CHARS, _VALUE_MAX_CHARS = 28, 26
#: So many of a scan output's elements are seen as sheets.
_MAX_SHEETS, _SHEET_OFFSET_PX = 5, 3.0
#: What colours mean, by style.
_LEGEND = (
    ("enters", "comes from outside"),
    ("decides", "decides whether it goes on"),
    ("arc", "back edge"),
    ("next", "▶ runs next"),
    ("odd", "NaN or infinite"),
)


def loop_svg(
    graph: Graph, loop: Loop | None, frame: FrameProtocol | None = None, *, opened: Collection[Node] = ()
) -> str:
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
    return draw_loop(graph, loop, {} if frame is None else frame_states(frame), opened).svg()


def draw_loop(
    graph: Graph, loop: Loop | None, moments: GraphFrameStates, opened: Collection[Node] = (), name: str | None = None
) -> VectorDrawing:
    """What :func:`loop_svg` writes, as a drawing; ``moments``: how the frames stand that run; ``name``: of a large body
    only what is near this value.

    Raises:
        UsageError: nothing in the body has that name.
    """
    picture = build_graph_view(
        graph if loop is None else loop.body, loop, NodeFormatter(ProducerMap.for_graph(graph)), opened
    )
    return draw_graph_view(
        picture if name is None else focus_subgraph(picture, _find_named_box(picture, name)), moments
    )


def _find_named_box(picture: GraphView, name: str) -> int:
    """The box of a value, or of a node."""
    by_name: dict[str, int] = {}
    for k, box in enumerate(picture.boxes):
        names = [one for value in box.values for one in value.names] + ([] if box.node is None else [box.node.name])
        for one in names:
            by_name.setdefault(one, k)
    if name not in by_name:
        raise UsageError(
            f"nothing is called '{escape_unprintable(name)}' in this graph{did_you_mean(name, list(by_name))}"
        )
    return by_name[name]


def draw_graph_view(picture: GraphView, moments: GraphFrameStates) -> VectorDrawing:
    """A picture as a drawing, with its title and what its colours mean."""
    scene = _PositionedGraph(picture, moments)
    drawing = VectorDrawing(scene.width + 2 * _MARGIN_PX, 0)
    drawing.elements.append(
        DrawnText(_MARGIN_PX, _MARGIN_PX + _LINE_HEIGHT_PX / 2, _view_title(picture, moments), bold=True)
    )
    top = _MARGIN_PX + 1.5 * _LINE_HEIGHT_PX
    scene.draw(drawing, _MARGIN_PX, top)
    used = {part.style for part in drawing.elements}
    x, y = _MARGIN_PX, top + scene.height + _LINE_HEIGHT_PX
    for style, told in _LEGEND:
        if style in used:
            drawing.elements.append(DrawnText(x, y, told, style))
            x += (len(told) + 2) * CHARACTER_WIDTH_PX
    drawing.width, drawing.height = max(drawing.width, x), y + _MARGIN_PX
    return drawing


def _view_title(picture: GraphView, moments: GraphFrameStates) -> str:
    if picture.loop is None:
        return "main graph"
    moment = moments.get(picture.loop)
    of = "" if moment is None or moment.trip_count is None else f" of {moment.trip_count}"
    told = "" if moment is None else f", {moment.position_text}{of}"
    return escape_unprintable(f"{picture.loop.op_type} '{picture.loop.name}'{told}")


@dataclass(frozen=True, eq=False)
class _NodeStyle:
    """What a box looks like: its lines of text, each with a style, and its size."""

    lines: tuple[tuple[str, str], ...]
    width: float
    height: float
    subgraphs: tuple[_PositionedGraph, ...] = ()


class _PositionedGraph:
    """A picture with places in pixels."""

    def __init__(self, picture: GraphView, moments: GraphFrameStates) -> None:
        self._view = picture
        self._overlay = build_overlay(picture, moments)
        self._node_styles = [_node_style(k, box, self._overlay, moments) for k, box in enumerate(picture.boxes)]
        self._layout = compute_layout(picture, [face.width for face in self._node_styles], _BOX_GAP_X_PX, _WIRE_GAP_PX)
        self._labels = {arc: _arc_label(arc, picture, self._overlay) for arc in picture.arcs}
        # The leftmost is the outermost: then none crosses what comes down from another box.
        self._arcs = sorted(picture.arcs, key=lambda arc: self._layout.centers[arc.source])
        self._arc_padding = _ARC_GAP_PX * (len(self._arcs) + 1) if self._arcs else 0.0
        self._incoming = self._find_incoming()
        self._compute_positions()

    def _find_incoming(self) -> dict[int, list[int]]:
        """By box, the wires that come to it, from left to right."""
        coming: dict[int, list[tuple[float, int]]] = {}
        layers = self._layout
        for k, wire in enumerate(self._view.wires):
            for reader in wire.readers:
                item = layers.item_above(k, wire.source, layers.ranks[reader] - 1)
                coming.setdefault(reader, []).append((layers.centers[item], k))
        return {reader: [k for _, k in sorted(found)] for reader, found in coming.items()}

    def _compute_positions(self) -> None:
        faces, layers = self._node_styles, self._layout
        self._layer_heights = [
            max([faces[k].height for k in layer if k < len(faces)], default=_LINE_HEIGHT_PX) for layer in layers.layers
        ]
        self._layer_tops, y = [], self._arc_padding
        for height in self._layer_heights:
            self._layer_tops.append(y)
            y += height + _BOX_GAP_Y_PX
        bottom = max(y - _BOX_GAP_Y_PX, self._arc_padding)
        sizes = [face.width for face in faces] + [0.0] * (len(layers.centers) - len(faces))
        left = min([c - w / 2 for c, w in zip(layers.centers, sizes, strict=True)], default=0.0)
        self._centers = [c - left for c in layers.centers]
        self._right = max([c + w / 2 for c, w in zip(self._centers, sizes, strict=True)], default=0.0)
        self._bottom = bottom
        labels = max([len(text) for text in self._labels.values()], default=0) * CHARACTER_WIDTH_PX
        self.width = self._right + (labels + _ARC_GAP_PX + self._arc_padding if self._arcs else 0)
        self.height = bottom + self._arc_padding

    def _box_top(self, item: int) -> float:
        """Where a box begins; lower layers of unequal boxes begin at one height."""
        return self._layer_tops[self._layout.ranks[item]]

    def draw(self, drawing: VectorDrawing, x: float, y: float) -> None:
        """Put it into a drawing, wires below boxes."""
        for k, wire in enumerate(self._view.wires):
            self._draw_wire(drawing, k, wire, x, y)
        for k, arc in enumerate(self._arcs):
            self._draw_arc(drawing, k, arc, x, y)
        for k, box in enumerate(self._view.boxes):
            self._draw_box(drawing, k, box, x, y)

    # -- wires and arcs

    def _draw_wire(self, drawing: VectorDrawing, k: int, wire: GraphWire, x: float, y: float) -> None:
        layers = self._layout
        begin = (x + self._centers[wire.source], y + self._box_top(wire.source) + self._node_styles[wire.source].height)
        # What is coloured lies above what is not.
        styles = sorted((self._wire_style(wire, reader) != "wire", reader) for reader in wire.readers)
        for _, reader in styles:
            to = (x + self._port_x(reader, k), y + self._box_top(reader))
            joins = (self._view.boxes[wire.source].name, self._view.boxes[reader].name)
            path = [begin, *self._wire_corners(k, layers.ranks[reader], x, y), to]
            drawing.elements.append(
                DrawnPath(path, self._wire_style(wire, reader), tooltip=(wire.value.name,), endpoints=joins)
            )

    def _wire_corners(self, wire: int, until: int, x: float, y: float) -> Iterator[tuple[float, float]]:
        """The corners of a wire at the layers that it passes by, down to one."""
        found = self._layout.bends[wire]
        for item, ranks in groupby([rank for rank in found if rank < until], key=found.__getitem__):
            passed = list(ranks)
            at = x + self._centers[item]
            yield at, y + self._layer_tops[passed[0]]
            yield at, y + self._layer_tops[passed[-1]] + self._layer_heights[passed[-1]]

    def _port_x(self, reader: int, wire: int) -> float:
        """Where a wire comes to a box: those that come from the left on the left."""
        coming = self._incoming[reader]
        at = coming.index(wire)
        face = self._node_styles[reader]
        return self._centers[reader] + ((at + 1) / (len(coming) + 1) - 0.5) * min(
            face.width - 2 * _BOX_PADDING_PX, 120.0
        )

    def _wire_style(self, wire: GraphWire, reader: int) -> str:
        boxes, odd = self._view.boxes, self._overlay.non_finite
        if wire.source in odd and reader in odd:
            return "odd"
        return "decides" if boxes[wire.source].affects_condition and boxes[reader].affects_condition else "wire"

    def _draw_arc(self, drawing: VectorDrawing, k: int, arc: BackEdgeArc, x: float, y: float) -> None:
        out = _ARC_GAP_PX * (len(self._arcs) - k)
        low, high = y + self._bottom + out, y + self._arc_padding - out
        beside = x + self.width - self._arc_padding + out
        start, end = x + self._centers[arc.source], x + self._centers[arc.target]
        points = [
            (start, y + self._box_top(arc.source) + self._node_styles[arc.source].height), (start, low), (beside, low),
            (beside, high), (end, high), (end, y + self._box_top(arc.target)),
        ]  # fmt: skip
        boxes = self._view.boxes
        odd = arc.source in self._overlay.non_finite
        style = (
            "odd"
            if odd
            else "decides"
            if boxes[arc.target].affects_condition and boxes[arc.source].affects_condition
            else "arc"
        )
        joins = (boxes[arc.source].name, boxes[arc.target].name)
        drawing.elements.append(
            DrawnPath(points, style, curved=False, stroke_width=1.6, tooltip=(self._labels[arc],), endpoints=joins)
        )
        drawing.elements.append(
            DrawnText(x + self._right + _BOX_PADDING_PX, low - _LINE_HEIGHT_PX / 2, self._labels[arc], style)
        )

    # -- boxes

    def _draw_box(self, drawing: VectorDrawing, k: int, box: GraphBox, x: float, y: float) -> None:
        face = self._node_styles[k]
        left, top = x + self._centers[k] - face.width / 2, y + self._box_top(k)
        style, marks = _box_style(k, box, self._overlay), self._overlay
        if box.kind is BoxKind.SCAN:
            for sheet in reversed(range(1, min(marks.scan_counts.get(k, (0, ()))[0], _MAX_SHEETS))):
                drawing.elements.append(
                    DrawnRect(
                        left + sheet * _SHEET_OFFSET_PX,
                        top + sheet * _SHEET_OFFSET_PX,
                        face.width,
                        face.height,
                        style,
                        stacked=True,
                    )
                )
        told = [box.description] if box.node is None else [box.description, box.node.describe()]
        drawing.elements.append(
            DrawnRect(left, top, face.width, face.height, style, 12 if box.kind in INPUT_KINDS else 3,
                 2.6 if k == marks.next_box else 1.2, k in marks.skipped, tooltip=told)
        )  # fmt: skip
        for row, (text, kind) in enumerate(face.lines):
            middle = top + _BOX_PADDING_PX / 2 + (row + 0.5) * _LINE_HEIGHT_PX
            drawing.elements.append(DrawnText(left + _BOX_PADDING_PX, middle, text, kind, bold=row == 0))
        if k == marks.next_box:
            drawing.elements.append(DrawnText(left - 4, top + face.height / 2, "▶", "next", "end"))
        at = left + _BOX_PADDING_PX
        for scene in face.subgraphs:
            scene.draw(drawing, at, top + _BOX_PADDING_PX + len(face.lines) * _LINE_HEIGHT_PX)
            at += scene.width + _BOX_GAP_X_PX


def _box_style(k: int, box: GraphBox, marks: NodeOverlay) -> str:
    if k in marks.non_finite:
        return "odd"
    if k == marks.next_box:
        return "next"
    if box.affects_condition:
        return "decides"
    if box.kind is BoxKind.RESULT:
        return "arc"
    return "enters" if box.kind in INPUT_KINDS else "plain"


def _node_style(k: int, box: GraphBox, marks: NodeOverlay, moments: GraphFrameStates) -> _NodeStyle:
    lines = [(_shorten_middle(box.name, _NAME_MAX_CHARS), "text"), (_subtitle(k, box, marks), "dim")]
    if k in marks.values and box.kind is not BoxKind.SCAN:
        style = "odd" if k in marks.non_finite else "dim" if k in marks.stale else "next"
        lines.append((_value_label(marks.values[k]), style))
    inside = tuple(_PositionedGraph(picture, moments) for picture in box.subgraphs)
    width = max(len(text) for text, _ in lines) * CHARACTER_WIDTH_PX + 2 * _BOX_PADDING_PX
    height = len(lines) * _LINE_HEIGHT_PX + _BOX_PADDING_PX
    if inside:
        width = max(width, sum(scene.width + _BOX_GAP_X_PX for scene in inside) - _BOX_GAP_X_PX + 2 * _BOX_PADDING_PX)
        height += max(scene.height for scene in inside) + _BOX_PADDING_PX
    return _NodeStyle(tuple(lines), width, height, inside)


def _subtitle(k: int, box: GraphBox, marks: NodeOverlay) -> str:
    """The second line of a box: what makes it what it is."""
    if box.kind is BoxKind.SCAN and k in marks.scan_counts:
        count, shape = marks.scan_counts[k]
        return f"scan output, {count} so far [{','.join(map(str, shape))}]"
    if k in marks.loop_progress:
        return f"{escape_unprintable(box.op)}, {marks.loop_progress[k]}"
    if box.kind is BoxKind.SLICED:
        return _shorten_middle(box.description.partition(" = ")[2], _NAME_MAX_CHARS)
    if box.kind is BoxKind.CONDITION:
        return _shorten_middle(box.description.removeprefix("goes on "), _NAME_MAX_CHARS)
    if box.node is None:
        return str(box.kind)
    return (
        escape_unprintable(box.op)
        if box.kind is not BoxKind.NODE
        else _shorten_middle(box.description.partition(" = ")[2] or box.op, _NAME_MAX_CHARS)
    )


def _arc_label(arc: BackEdgeArc, picture: GraphView, marks: NodeOverlay) -> str:
    """What an arc carries now: at a boundary what the next iteration gets."""
    name = _shorten_middle(picture.boxes[arc.target].name, _NAME_MAX_CHARS)
    value = marks.values.get(arc.source)
    return name if arc.source not in marks.values else f"{name} ← {_value_label(value)}"


def _value_label(value: Any) -> str:
    return _shorten_middle(value_text(value, _VALUE_MAX_CHARS), _VALUE_MAX_CHARS + 8)


def _shorten_middle(text: str, most: int) -> str:
    """A text as it is printed; of a longer one the middle is left out."""
    text = escape_unprintable(text)
    tail = most // 2 - 1
    return text if len(text) <= most else f"{text[: most - tail - 1]}…{text[len(text) - tail :]}"
