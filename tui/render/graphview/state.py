"""The graph of the loop in focus, as a screen stands at it: which part, what is open, where the cursor is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....debugger.describe.frame_text import position_text
from ....debugger.graphview.build_view import build_graph_view
from ....debugger.graphview.focus_subgraph import focus_subgraph
from ....debugger.graphview.graph_view import GraphBox, GraphView
from ....debugger.graphview.node_overlay import GraphFrameState, GraphFrameStates, NodeOverlay, find_next_box
from ....debugger.session.snapshot import FrameSnapshot
from ....runtime.frame import NodeState
from ....runtime.graph import Graph, If, Loop, Node, Value, bodies
from ..formatting import escape_unprintable, value_text
from ..pseudo_code import program_source
from ..stop_view import FrameView, ScreenState, graph_of
from .canvas import RenderedGraph, draw_graph
from .layout import BOX_DETAILS, DetailLevel, GraphLayout, layout_graph


def nodes_in_frame(graph: Graph) -> list[Node]:
    """The nodes of a body in the order of a frame's: those inside Ifs included, but not those of loops inside."""
    found: list[Node] = []
    for node in graph.nodes:
        found.append(node)
        if isinstance(node, If):
            for _, branch in bodies(node):
                found += nodes_in_frame(branch)
    return found


def node_states(frame: FrameSnapshot, main: Graph) -> dict[Node, NodeState]:
    """Where the nodes of a frame stand."""
    nodes = nodes_in_frame(graph_of(frame, main))
    return {node: entry.state for node, entry in zip(nodes, frame.nodes, strict=False)}


def frame_overlays(shown: ScreenState) -> GraphFrameStates:
    """How the frames of a stop stand; of a loop that ended last, how it ended."""
    views = [*shown.view.frames, shown.frame]
    return {view.frame.loop: _frame_overlay(view, shown) for view in views}


def _frame_overlay(view: FrameView, shown: ScreenState) -> GraphFrameState:
    frame = view.frame
    running = any(view is one for one in shown.view.frames)

    def read(value: Value) -> tuple[bool, object]:
        return value.name in frame.values, frame.values.get(value.name)

    return GraphFrameState(
        frame.iteration,
        frame.trip_count,
        frame.loop is not None and (frame.at_boundary or not running),
        running,
        False,
        "" if frame.loop is None else position_text(frame),
        node_states(frame, shown.main_graph),
        read,
        frame.back_edges,
        tuple((scan.count, scan.shape) for scan in frame.scans),
    )


@dataclass(eq=False)
class GraphState:
    """What is seen of the graph of a stop. ``cursor``: the key of the box that it is on (:attr:`Box.key`); ``window``:
    the columns and rows that it is seen in; ``least``: the level where even that has no room; ``asked``: the level that
    somebody asked for, whatever has room."""

    screen_state: ScreenState
    min_level: DetailLevel = DetailLevel.VALUES
    expanded: set[Node] = field(default_factory=set)
    cursor: object = None
    window_size: tuple[int, int] = (0, 0)
    requested_level: DetailLevel | None = None
    _picture_cache: dict[tuple[Loop | None, frozenset[Node]], GraphView] = field(default_factory=dict)
    _layout_cache: dict[tuple[GraphView, DetailLevel], GraphLayout] = field(default_factory=dict)
    _visible_part: GraphView | None = None
    _overlays: GraphFrameStates = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._overlays = frame_overlays(self.screen_state)
        self.select_next_node()

    def show_state(self, shown: ScreenState) -> None:
        """Another stop: the cursor goes to what runs next, where that is in sight or can be."""
        moved = shown.view is not self.screen_state.view or shown.frame is not self.screen_state.frame
        self.screen_state, self._overlays = shown, frame_overlays(shown)
        if moved:
            self.select_next_node()

    @property
    def full_picture(self) -> GraphView:
        """The picture of all of the loop in focus."""
        loop = self.screen_state.frame.frame.loop
        key = (loop, frozenset(self.expanded))
        if key not in self._picture_cache:
            graph = graph_of(self.screen_state.frame.frame, self.screen_state.main_graph)
            self._picture_cache[key] = build_graph_view(
                graph, loop, program_source(self.screen_state.main_graph).formatter, self.expanded
            )
        return self._picture_cache[key]

    @property
    def visible_picture(self) -> GraphView:
        """What of it is seen: all, or what is near the cursor."""
        whole = self.full_picture
        if self._visible_part is None or (
            self._visible_part is not whole and self._visible_part.full_view is not whole
        ):
            at = whole.find_box(self.cursor)
            self._visible_part = focus_subgraph(whole, 0 if at is None else at)
        return self._visible_part

    @property
    def level(self) -> DetailLevel:
        """How much of each box is seen: what was asked for, or as much as the window has room for. Values change
        nothing of it."""
        if self.requested_level is not None:
            return self.requested_level
        return next(
            (level for level in reversed(DetailLevel) if level >= self.min_level and self._level_fits(level)),
            self.min_level,
        )

    def _level_fits(self, level: DetailLevel) -> bool:
        """Whether the window has room. What takes one row for a box may be higher than it; more is shown only where all
        of the loop is seen: of a part the boxes would change from stop to stop."""
        width, height = self.window_size
        if BOX_DETAILS[level].rows == 1:
            return self._layout_at_level(level).width <= width
        if self.visible_picture is not self.full_picture:
            return False
        places = self._layout_at_level(level)
        return places.width <= width and places.height <= height

    @property
    def graph_layout(self) -> GraphLayout:
        """Where the boxes stand."""
        return self._layout_at_level(self.level)

    def _layout_at_level(self, level: DetailLevel) -> GraphLayout:
        key = (self.visible_picture, level)
        if key not in self._layout_cache:
            if len(self._layout_cache) > 16:
                self._layout_cache.clear()
            self._layout_cache[key] = layout_graph(*key)
        return self._layout_cache[key]

    @property
    def cursor_index(self) -> int:
        """The box that the cursor is on."""
        found = self.visible_picture.find_box(self.cursor)
        return 0 if found is None else found

    @property
    def cursor_box(self) -> GraphBox | None:
        """The box that the cursor is on."""
        boxes = self.visible_picture.boxes
        return boxes[self.cursor_index] if boxes else None

    def render(self) -> RenderedGraph:
        """What is seen now."""
        return draw_graph(self.graph_layout, self._overlays, self.cursor_index if self.visible_picture.boxes else None)

    # -- the cursor

    def select_next_node(self) -> None:
        """Put the cursor on the node that runs next, or on the If in which it stands; where none does it stays, if it
        can."""
        moment = self._overlays.get(self.screen_state.frame.frame.loop)
        found = None if moment is None else find_next_box(self.full_picture, moment)
        if found is not None:
            self.set_cursor(self.full_picture.boxes[found].key)
        elif self.full_picture.find_box(self.cursor) is None and self.full_picture.boxes:
            self.set_cursor(self.full_picture.boxes[0].key)

    def set_cursor(self, key: object) -> None:
        """Put the cursor on a box; of a large graph another part is seen where much around it is not."""
        self.cursor = key
        part = self._visible_part
        at = None if part is None or part.full_view is not self.full_picture else part.find_box(key)
        if part is None or at is None or at in part.hidden_neighbours:
            self._visible_part = None

    def select_box(self, box: int) -> None:
        """Put the cursor on a box that is seen."""
        self.set_cursor(self.visible_picture.boxes[box].key)

    def move_cursor(self, right: int, down: int) -> None:
        """The nearest box in a direction; to the side the next of the layer, where there is one."""
        chips = self.graph_layout.placed_boxes
        if not chips:
            return
        here = chips[self.cursor_index]
        x, y = here.left + here.width / 2, here.top + here.height / 2
        found = []
        for k, chip in enumerate(chips):
            dx, dy = chip.left + chip.width / 2 - x, chip.top + chip.height / 2 - y
            ahead = dx * right + dy * down
            far = ahead + abs(dx) / 8 if down else ahead + abs(dy) * here.width
            if ahead > 0 and k != self.cursor_index:
                found.append((far, k))
        if found:
            self.select_box(min(found)[1])
        else:
            self._move_past_edge(1 if right + down > 0 else -1)

    def _move_past_edge(self, way: int) -> None:
        """From the edge of a part: the next box of all (-1: the one before) that is not seen."""
        whole, seen = self.full_picture, {box.key for box in self.visible_picture.boxes}
        at = whole.find_box(self.cursor)
        hidden = [] if at is None else [box.key for box in whole.boxes[at + 1 :] if box.key not in seen]
        if way < 0:
            hidden = [] if at is None else [box.key for box in reversed(whole.boxes[:at]) if box.key not in seen]
        if hidden:
            self.set_cursor(hidden[0])

    def toggle_expanded(self) -> bool:
        """Open the loop or the If at the cursor, or close it; False where there is none."""
        node = None if self.cursor_box is None else self.cursor_box.node
        if node is None or not bodies(node):
            return False
        self.expanded ^= {node}
        self._visible_part = None
        return True

    # -- words

    def title_text(self) -> str:
        """What is shown: ``main ▸ outer ▸ inner, in iteration 3 / 10``."""
        frame = self.screen_state.frame.frame
        of = "" if frame.trip_count is None else f" / {frame.trip_count}"
        told = escape_unprintable(frame.path) + ("" if frame.loop is None else f", {position_text(frame)}{of}")
        told += "" if self.screen_state.has_loops else "   the model has no loop"
        seen, whole = self.visible_picture, self.full_picture
        if seen is whole:
            return told
        arcs = "" if not whole.arcs else f", {len(seen.arcs)} of {len(whole.arcs)} back edges"
        return f"{told}   near the cursor: {len(seen.boxes)} of {len(whole.boxes)} boxes{arcs}"

    def detail_text(self, marks: NodeOverlay) -> str:
        """All of the box at the cursor."""
        box = self.cursor_box
        if box is None:
            return "nothing to show"
        node = "" if box.node is None else box.node.describe()
        value = value_text(marks.values[self.cursor_index], 60) if self.cursor_index in marks.values else ""
        hidden = self.visible_picture.hidden_neighbours.get(self.cursor_index, 0)
        more = f"{hidden} neighbours not shown: the cursor there shows them" if hidden else ""
        return escape_unprintable("   ".join(filter(None, (box.description, node or str(box.kind), value, more))))
