"""State of the graph view of the focused loop: visible part, expanded nodes, cursor, level of detail."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....debugger.describe.frame_text import position_text
from ....debugger.graphview.build_view import build_graph_view
from ....debugger.graphview.focus_subgraph import focus_subgraph
from ....debugger.graphview.graph_view import GraphBox, GraphView
from ....debugger.graphview.node_overlay import FramesByLoop, NodeOverlay, find_next_box
from ....runtime.graph import Loop, Node, bodies
from ..formatting import escape_unprintable, value_text
from ..pseudo_code import model_pseudo_code
from ..stop_view import ScreenState, graph_of_frame
from .canvas import RenderedGraph, draw_graph
from .layout import BOX_DETAILS, DetailLevel, GraphLayout, layout_graph


def _frames_by_loop(state: ScreenState) -> FramesByLoop:
    """The frames of a stop, including the loop that ended last."""
    return {frame.loop: frame for frame in (*state.view.frames, state.frame)}


@dataclass(eq=False)
class GraphState:
    """The graph view of a stop. ``cursor``: the key of the box at the cursor (:attr:`GraphBox.key`); ``window_size``:
    columns and rows of the window; ``min_level``: the level if none fits; ``requested_level``: a level that the user
    fixed."""

    screen_state: ScreenState
    min_level: DetailLevel = DetailLevel.VALUES
    expanded: set[Node] = field(default_factory=set)
    cursor: object = None
    window_size: tuple[int, int] = (0, 0)
    requested_level: DetailLevel | None = None
    _picture_cache: dict[tuple[Loop | None, frozenset[Node]], GraphView] = field(default_factory=dict)
    _layout_cache: dict[tuple[GraphView, DetailLevel], GraphLayout] = field(default_factory=dict)
    _visible_part: GraphView | None = None
    _frames: FramesByLoop = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._frames = _frames_by_loop(self.screen_state)
        self.select_next_node()

    def show_state(self, state: ScreenState) -> None:
        """Show another stop; the cursor moves to the next node, if there is a box for it."""
        has_moved = state.view is not self.screen_state.view or state.frame is not self.screen_state.frame
        self.screen_state, self._frames = state, _frames_by_loop(state)
        if has_moved:
            self.select_next_node()

    @property
    def full_picture(self) -> GraphView:
        """The complete picture of the focused loop."""
        loop = self.screen_state.frame.loop
        key = (loop, frozenset(self.expanded))
        if key not in self._picture_cache:
            graph = graph_of_frame(self.screen_state.frame, self.screen_state.main_graph)
            self._picture_cache[key] = build_graph_view(
                graph, loop, model_pseudo_code(self.screen_state.main_graph).formatter, self.expanded
            )
        return self._picture_cache[key]

    @property
    def visible_picture(self) -> GraphView:
        """The visible part: all, or the neighbourhood of the cursor."""
        full = self.full_picture
        if self._visible_part is None or (self._visible_part is not full and self._visible_part.full_view is not full):
            index = full.find_box(self.cursor)
            self._visible_part = focus_subgraph(full, 0 if index is None else index)
        return self._visible_part

    @property
    def level(self) -> DetailLevel:
        """The level of detail: the requested one, or the highest that fits the window, independent of values."""
        if self.requested_level is not None:
            return self.requested_level
        return next(
            (level for level in reversed(DetailLevel) if level >= self.min_level and self._level_fits(level)),
            self.min_level,
        )

    def _level_fits(self, level: DetailLevel) -> bool:
        """Whether a level fits the window. One-row boxes may exceed its height; taller boxes are used only if the whole
        loop is visible, since the boxes of a part change from stop to stop."""
        width, height = self.window_size
        if BOX_DETAILS[level].rows == 1:
            return self._layout_at_level(level).width <= width
        if self.visible_picture is not self.full_picture:
            return False
        layout = self._layout_at_level(level)
        return layout.width <= width and layout.height <= height

    @property
    def graph_layout(self) -> GraphLayout:
        """The layout at the current level."""
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
        """The index of the box at the cursor."""
        index = self.visible_picture.find_box(self.cursor)
        return 0 if index is None else index

    @property
    def cursor_box(self) -> GraphBox | None:
        """The box at the cursor."""
        boxes = self.visible_picture.boxes
        return boxes[self.cursor_index] if boxes else None

    def render(self) -> RenderedGraph:
        """Draw the visible picture."""
        return draw_graph(self.graph_layout, self._frames, self.cursor_index if self.visible_picture.boxes else None)

    # -- the cursor

    def select_next_node(self) -> None:
        """Move the cursor to the next node or the If that contains it; otherwise keep it, if possible."""
        frame = self._frames.get(self.screen_state.frame.loop)
        index = None if frame is None else find_next_box(self.full_picture, frame)
        if index is not None:
            self.set_cursor(self.full_picture.boxes[index].key)
        elif self.full_picture.find_box(self.cursor) is None and self.full_picture.boxes:
            self.set_cursor(self.full_picture.boxes[0].key)

    def set_cursor(self, key: object) -> None:
        """Move the cursor to a box; a large graph shows another part if neighbours of the box are hidden."""
        self.cursor = key
        part = self._visible_part
        index = None if part is None or part.full_view is not self.full_picture else part.find_box(key)
        if part is None or index is None or index in part.hidden_neighbours:
            self._visible_part = None

    def select_box(self, box: int) -> None:
        """Move the cursor to a visible box."""
        self.set_cursor(self.visible_picture.boxes[box].key)

    def move_cursor(self, right: int, down: int) -> None:
        """Move the cursor to the nearest box in a direction; sideways within the layer, if possible."""
        boxes = self.graph_layout.placed_boxes
        if not boxes:
            return
        current = boxes[self.cursor_index]
        x, y = current.left + current.width / 2, current.top + current.height / 2
        candidates = []
        for k, box in enumerate(boxes):
            dx, dy = box.left + box.width / 2 - x, box.top + box.height / 2 - y
            forward = dx * right + dy * down
            distance = forward + abs(dx) / 8 if down else forward + abs(dy) * current.width
            if forward > 0 and k != self.cursor_index:
                candidates.append((distance, k))
        if candidates:
            self.select_box(min(candidates)[1])
        else:
            self._move_past_edge(1 if right + down > 0 else -1)

    def _move_past_edge(self, direction: int) -> None:
        """Move from the edge of a part to the next hidden box (-1: the previous one)."""
        full, visible = self.full_picture, {box.key for box in self.visible_picture.boxes}
        k = full.find_box(self.cursor)
        hidden = [] if k is None else [box.key for box in full.boxes[k + 1 :] if box.key not in visible]
        if direction < 0:
            hidden = [] if k is None else [box.key for box in reversed(full.boxes[:k]) if box.key not in visible]
        if hidden:
            self.set_cursor(hidden[0])

    def toggle_expanded(self) -> bool:
        """Expand or collapse the loop or the If at the cursor; False if there is none."""
        node = None if self.cursor_box is None else self.cursor_box.node
        if node is None or not bodies(node):
            return False
        self.expanded ^= {node}
        self._visible_part = None
        return True

    # -- texts

    def title_text(self) -> str:
        """The title: ``main ▸ outer ▸ inner, in iteration 3 / 10``."""
        frame = self.screen_state.frame
        limit = "" if frame.trip_count is None else f" / {frame.trip_count}"
        title = escape_unprintable(frame.path) + ("" if frame.loop is None else f", {position_text(frame)}{limit}")
        title += "" if self.screen_state.has_loops else "   the model has no loop"
        visible, full = self.visible_picture, self.full_picture
        if visible is full:
            return title
        arcs = "" if not full.arcs else f", {len(visible.arcs)} of {len(full.arcs)} back edges"
        return f"{title}   near the cursor: {len(visible.boxes)} of {len(full.boxes)} boxes{arcs}"

    def detail_text(self, overlay: NodeOverlay) -> str:
        """The full description of the box at the cursor."""
        box = self.cursor_box
        if box is None:
            return "nothing to show"
        node = "" if box.node is None else box.node.describe()
        value = value_text(overlay.values[self.cursor_index], 60) if self.cursor_index in overlay.values else ""
        hidden = self.visible_picture.hidden_neighbours.get(self.cursor_index, 0)
        note = f"{hidden} neighbours not shown: the cursor there shows them" if hidden else ""
        return escape_unprintable("   ".join(filter(None, (box.description, node or str(box.kind), value, note))))
