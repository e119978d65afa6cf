"""Draws a loop or a model as SVG: boxes in layers, and back edges as outer arcs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ...runtime.errors import UsageError
from ...runtime.graph import Graph, Loop, Node
from ...runtime.graph.producers import ProducerMap
from ...runtime.text import did_you_mean, escape_unprintable
from ..describe.frame_text import position_text
from ..describe.node_text import NodeFormatter
from ..frame_protocol import FrameProtocol
from ..graphview.build_view import build_graph_view
from ..graphview.focus_subgraph import focus_subgraph
from ..graphview.graph_view import INPUT_KINDS, BackEdgeArc, BoxKind, GraphBox, GraphView, GraphWire
from ..graphview.layered_layout import compute_layout
from ..graphview.node_overlay import FramesByLoop, NodeOverlay, build_overlay, frames_by_loop
from ..value_text import value_text
from .vector_drawing import CHARACTER_WIDTH_PX, DrawnPath, DrawnRect, DrawnText, VectorDrawing

#: Horizontal and vertical gaps of boxes, box padding, margin, and line height.
_BOX_GAP_X_PX, _BOX_GAP_Y_PX, _BOX_PADDING_PX, _MARGIN_PX, _LINE_HEIGHT_PX = 22.0, 36.0, 8.0, 16.0, 16.0
#: The gap between arcs, and the width of a wire between boxes.
_ARC_GAP_PX, _WIRE_GAP_PX = 16.0, 10.0
#: The maximum length of names and code lines, and of values.
_NAME_MAX_CHARS, _VALUE_MAX_CHARS = 28, 26
#: The maximum number of stacked sheets for the elements of a scan output, and their offset.
_MAX_SHEETS, _SHEET_OFFSET_PX = 5, 3.0
#: The meaning of colours, by style.
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
    """Draw a loop of a model as an SVG document, for a file or a page.

    The body is drawn in layers, from its inputs (carried values, slices, captures) to its outputs, with back edges as
    outer arcs and scan outputs as stacks. ``graph``: the model's main graph (``model.graph``); ``loop``: one of
    :func:`~...runtime.graph.loops`, None for the main graph. ``frame``: a frame of a session or a recording
    (``session.frame``) of the loop or inside it: adds the values of boxes and back edges, marks the next node, and
    draws the path of NaN in red. ``opened``: the loops and Ifs to expand.

    >>> from loopdbg.debugger.plots.loop_svg import loop_svg
    >>> text = loop_svg(model.graph, session.frame.loop, session.frame)
    >>> text[:42]
    '<svg xmlns="http://www.w3.org/2000/svg" vi'
    """
    return draw_loop(graph, loop, {} if frame is None else frames_by_loop(frame), opened).svg()


def draw_loop(
    graph: Graph, loop: Loop | None, frames: FramesByLoop, opened: Collection[Node] = (), name: str | None = None
) -> VectorDrawing:
    """The drawing of :func:`loop_svg`; ``frames``: of the running frames; ``name``: restrict a large body to the
    neighbourhood of this value.

    Raises:
        UsageError: the body has no such name.
    """
    view = build_graph_view(
        graph if loop is None else loop.body, loop, NodeFormatter(ProducerMap.for_graph(graph)), opened
    )
    return draw_graph_view(view if name is None else focus_subgraph(view, _find_named_box(view, name)), frames)


def _find_named_box(view: GraphView, name: str) -> int:
    """The box of a value or a node."""
    by_name: dict[str, int] = {}
    for k, box in enumerate(view.boxes):
        names = [alias for value in box.values for alias in value.names] + ([] if box.node is None else [box.node.name])
        for alias in names:
            by_name.setdefault(alias, k)
    if name not in by_name:
        raise UsageError(
            f"nothing is called '{escape_unprintable(name)}' in this graph{did_you_mean(name, list(by_name))}",
            name=name,
        )
    return by_name[name]


def draw_graph_view(view: GraphView, frames: FramesByLoop) -> VectorDrawing:
    """Draw a view with its title and colour legend."""
    graph = _PositionedGraph(view, frames)
    drawing = VectorDrawing(graph.width + 2 * _MARGIN_PX, 0)
    drawing.elements.append(
        DrawnText(_MARGIN_PX, _MARGIN_PX + _LINE_HEIGHT_PX / 2, _view_title(view, frames), bold=True)
    )
    top = _MARGIN_PX + 1.5 * _LINE_HEIGHT_PX
    graph.draw(drawing, _MARGIN_PX, top)
    used = {part.style for part in drawing.elements}
    x, y = _MARGIN_PX, top + graph.height + _LINE_HEIGHT_PX
    for style, text in _LEGEND:
        if style in used:
            drawing.elements.append(DrawnText(x, y, text, style))
            x += (len(text) + 2) * CHARACTER_WIDTH_PX
    drawing.width, drawing.height = max(drawing.width, x), y + _MARGIN_PX
    return drawing


def _view_title(view: GraphView, frames: FramesByLoop) -> str:
    if view.loop is None:
        return "main graph"
    frame = frames.get(view.loop)
    limit = "" if frame is None or frame.trip_count is None else f" of {frame.trip_count}"
    position = "" if frame is None else f", {position_text(frame)}{limit}"
    return escape_unprintable(f"{view.loop.op_type} '{view.loop.name}'{position}")


@dataclass(frozen=True, eq=False)
class _NodeStyle:
    """The styled lines of a box, its size and its expanded subgraphs."""

    lines: tuple[tuple[str, str], ...]
    width: float
    height: float
    subgraphs: tuple[_PositionedGraph, ...] = ()


class _PositionedGraph:
    """A view with positions in pixels."""

    def __init__(self, view: GraphView, frames: FramesByLoop) -> None:
        self._view = view
        self._overlay = build_overlay(view, frames)
        self._node_styles = [_node_style(k, box, self._overlay, frames) for k, box in enumerate(view.boxes)]
        self._layout = compute_layout(view, [s.width for s in self._node_styles], _BOX_GAP_X_PX, _WIRE_GAP_PX)
        self._labels = {arc: _arc_label(arc, view, self._overlay) for arc in view.arcs}
        # The leftmost arc is the outermost, so that arcs do not cross.
        self._arcs = sorted(view.arcs, key=lambda arc: self._layout.centers[arc.source])
        self._arc_padding = _ARC_GAP_PX * (len(self._arcs) + 1) if self._arcs else 0.0
        self._incoming = self._find_incoming()
        self._compute_positions()

    def _find_incoming(self) -> dict[int, list[int]]:
        """By box, the incoming wires from left to right."""
        incoming: dict[int, list[tuple[float, int]]] = {}
        layers = self._layout
        for k, wire in enumerate(self._view.wires):
            for reader in wire.readers:
                item = layers.wire_item_in_layer(k, wire.source, layers.ranks[reader] - 1)
                incoming.setdefault(reader, []).append((layers.centers[item], k))
        return {reader: [k for _, k in sorted(entries)] for reader, entries in incoming.items()}

    def _compute_positions(self) -> None:
        boxes, layout = self._node_styles, self._layout
        self._layer_heights = [
            max([boxes[k].height for k in layer if k < len(boxes)], default=_LINE_HEIGHT_PX) for layer in layout.layers
        ]
        self._layer_tops, y = [], self._arc_padding
        for height in self._layer_heights:
            self._layer_tops.append(y)
            y += height + _BOX_GAP_Y_PX
        bottom = max(y - _BOX_GAP_Y_PX, self._arc_padding)
        widths = [s.width for s in boxes] + [0.0] * (len(layout.centers) - len(boxes))
        left = min([c - w / 2 for c, w in zip(layout.centers, widths, strict=True)], default=0.0)
        self._centers = [c - left for c in layout.centers]
        self._right = max([c + w / 2 for c, w in zip(self._centers, widths, strict=True)], default=0.0)
        self._bottom = bottom
        labels = max([len(text) for text in self._labels.values()], default=0) * CHARACTER_WIDTH_PX
        self.width = self._right + (labels + _ARC_GAP_PX + self._arc_padding if self._arcs else 0)
        self.height = bottom + self._arc_padding

    def _box_top(self, item: int) -> float:
        """The top of a box; the boxes of a layer are top-aligned."""
        return self._layer_tops[self._layout.ranks[item]]

    def draw(self, drawing: VectorDrawing, x: float, y: float) -> None:
        """Add the elements to a drawing, wires below boxes."""
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
        # Coloured wires are drawn above plain ones.
        styles = sorted((self._wire_style(wire, reader) != "wire", reader) for reader in wire.readers)
        for _, reader in styles:
            to = (x + self._port_x(reader, k), y + self._box_top(reader))
            endpoints = (self._view.boxes[wire.source].name, self._view.boxes[reader].name)
            path = [begin, *self._wire_corners(k, layers.ranks[reader], x, y), to]
            drawing.elements.append(
                DrawnPath(path, self._wire_style(wire, reader), tooltip=(wire.value.name,), endpoints=endpoints)
            )

    def _wire_corners(self, wire: int, end: int, x: float, y: float) -> Iterator[tuple[float, float]]:
        """The corners of a wire at the layers it passes, up to layer ``end``."""
        bends = self._layout.bends[wire]
        for item, ranks in groupby([rank for rank in bends if rank < end], key=bends.__getitem__):
            layers = list(ranks)
            corner_x = x + self._centers[item]
            yield corner_x, y + self._layer_tops[layers[0]]
            yield corner_x, y + self._layer_tops[layers[-1]] + self._layer_heights[layers[-1]]

    def _port_x(self, reader: int, wire: int) -> float:
        """The x coordinate where a wire enters a box, in the order of incoming wires."""
        incoming = self._incoming[reader]
        index = incoming.index(wire)
        style = self._node_styles[reader]
        return self._centers[reader] + ((index + 1) / (len(incoming) + 1) - 0.5) * min(
            style.width - 2 * _BOX_PADDING_PX, 120.0
        )

    def _wire_style(self, wire: GraphWire, reader: int) -> str:
        boxes, non_finite = self._view.boxes, self._overlay.non_finite
        if wire.source in non_finite and reader in non_finite:
            return "odd"
        return "decides" if boxes[wire.source].affects_condition and boxes[reader].affects_condition else "wire"

    def _draw_arc(self, drawing: VectorDrawing, k: int, arc: BackEdgeArc, x: float, y: float) -> None:
        offset = _ARC_GAP_PX * (len(self._arcs) - k)
        low, high = y + self._bottom + offset, y + self._arc_padding - offset
        outside = x + self.width - self._arc_padding + offset
        start, end = x + self._centers[arc.source], x + self._centers[arc.target]
        points = [
            (start, y + self._box_top(arc.source) + self._node_styles[arc.source].height), (start, low), (outside, low),
            (outside, high), (end, high), (end, y + self._box_top(arc.target)),
        ]  # fmt: skip
        boxes = self._view.boxes
        non_finite = arc.source in self._overlay.non_finite
        style = (
            "odd"
            if non_finite
            else "decides"
            if boxes[arc.target].affects_condition and boxes[arc.source].affects_condition
            else "arc"
        )
        endpoints = (boxes[arc.source].name, boxes[arc.target].name)
        drawing.elements.append(
            DrawnPath(points, style, curved=False, stroke_width=1.6, tooltip=(self._labels[arc],), endpoints=endpoints)
        )
        drawing.elements.append(
            DrawnText(x + self._right + _BOX_PADDING_PX, low - _LINE_HEIGHT_PX / 2, self._labels[arc], style)
        )

    # -- boxes

    def _draw_box(self, drawing: VectorDrawing, k: int, box: GraphBox, x: float, y: float) -> None:
        node_style = self._node_styles[k]
        left, top = x + self._centers[k] - node_style.width / 2, y + self._box_top(k)
        style, overlay = _box_style(k, box, self._overlay), self._overlay
        if box.kind is BoxKind.SCAN:
            for sheet in reversed(range(1, min(overlay.scan_counts.get(k, (0, ()))[0], _MAX_SHEETS))):
                drawing.elements.append(
                    DrawnRect(
                        left + sheet * _SHEET_OFFSET_PX,
                        top + sheet * _SHEET_OFFSET_PX,
                        node_style.width,
                        node_style.height,
                        style,
                        stacked=True,
                    )
                )
        tooltip = [box.description] if box.node is None else [box.description, box.node.describe()]
        drawing.elements.append(
            DrawnRect(left, top, node_style.width, node_style.height, style, 12 if box.kind in INPUT_KINDS else 3,
                 2.6 if k == overlay.next_box else 1.2, k in overlay.skipped, tooltip=tooltip)
        )  # fmt: skip
        for row, (text, kind) in enumerate(node_style.lines):
            middle = top + _BOX_PADDING_PX / 2 + (row + 0.5) * _LINE_HEIGHT_PX
            drawing.elements.append(DrawnText(left + _BOX_PADDING_PX, middle, text, kind, bold=row == 0))
        if k == overlay.next_box:
            drawing.elements.append(DrawnText(left - 4, top + node_style.height / 2, "▶", "next", "end"))
        graph_x = left + _BOX_PADDING_PX
        for graph in node_style.subgraphs:
            graph.draw(drawing, graph_x, top + _BOX_PADDING_PX + len(node_style.lines) * _LINE_HEIGHT_PX)
            graph_x += graph.width + _BOX_GAP_X_PX


def _box_style(k: int, box: GraphBox, overlay: NodeOverlay) -> str:
    if k in overlay.non_finite:
        return "odd"
    if k == overlay.next_box:
        return "next"
    if box.affects_condition:
        return "decides"
    if box.kind is BoxKind.RESULT:
        return "arc"
    return "enters" if box.kind in INPUT_KINDS else "plain"


def _node_style(k: int, box: GraphBox, overlay: NodeOverlay, frames: FramesByLoop) -> _NodeStyle:
    lines = [(_shorten_middle(box.name, _NAME_MAX_CHARS), "text"), (_box_subtitle(k, box, overlay), "dim")]
    if k in overlay.values and box.kind is not BoxKind.SCAN:
        style = "odd" if k in overlay.non_finite else "dim" if k in overlay.stale else "next"
        lines.append((_value_label(overlay.values[k]), style))
    graphs = tuple(_PositionedGraph(view, frames) for view in box.subgraphs)
    width = max(len(text) for text, _ in lines) * CHARACTER_WIDTH_PX + 2 * _BOX_PADDING_PX
    height = len(lines) * _LINE_HEIGHT_PX + _BOX_PADDING_PX
    if graphs:
        width = max(width, sum(graph.width + _BOX_GAP_X_PX for graph in graphs) - _BOX_GAP_X_PX + 2 * _BOX_PADDING_PX)
        height += max(graph.height for graph in graphs) + _BOX_PADDING_PX
    return _NodeStyle(tuple(lines), width, height, graphs)


def _box_subtitle(k: int, box: GraphBox, overlay: NodeOverlay) -> str:
    """The second line of a box."""
    if box.kind is BoxKind.SCAN and k in overlay.scan_counts:
        count, shape = overlay.scan_counts[k]
        return f"scan output, {count} so far [{','.join(map(str, shape))}]"
    if k in overlay.loop_progress:
        return f"{escape_unprintable(box.op)}, {overlay.loop_progress[k]}"
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


def _arc_label(arc: BackEdgeArc, view: GraphView, overlay: NodeOverlay) -> str:
    """The name and the current value of a back edge."""
    name = _shorten_middle(view.boxes[arc.target].name, _NAME_MAX_CHARS)
    value = overlay.values.get(arc.source)
    return name if arc.source not in overlay.values else f"{name} ← {_value_label(value)}"


def _value_label(value: Any) -> str:
    return _shorten_middle(value_text(value, _VALUE_MAX_CHARS), _VALUE_MAX_CHARS + 8)


def _shorten_middle(text: str, limit: int) -> str:
    """An escaped text, with the middle of a longer one left out."""
    text = escape_unprintable(text)
    tail = limit // 2 - 1
    return text if len(text) <= limit else f"{text[: limit - tail - 1]}…{text[len(text) - tail :]}"
