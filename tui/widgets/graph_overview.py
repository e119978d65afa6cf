"""Pane with the graph of the loop in focus: it follows each step, and the cursor in the source."""

from __future__ import annotations

from textual import on
from textual.message import Message

from ...runtime.graph import Node
from ..render.graphview.layout import DetailLevel
from ..render.graphview.state import GraphState
from ..render.pane_layout import UNLIMITED_LINES, SpaceRequest
from ..render.stop_view import ScreenState
from .graph import GraphWidget

#: With fewer lines the edges between boxes are not visible.
_MIN_LINES = 12


class GraphOverview(GraphWidget, can_focus=False):
    """Chooses the level of detail by its size."""

    class NodeSelected(Message):
        """The box of a node was clicked."""

        def __init__(self, node: Node) -> None:
            super().__init__()
            self.node = node

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.border_title, self.border_subtitle = "Graph", "G: alone"
        self._screen_state: ScreenState | None = None
        self._node: Node | None = None
        self._graph_state: GraphState | None = None

    def space_request(self, state: ScreenState) -> SpaceRequest | None:
        """The minimum and maximum number of lines."""
        return SpaceRequest(_MIN_LINES, UNLIMITED_LINES)

    def follow_cursor(self, state: ScreenState, node: Node | None) -> None:
        """Follow a new stop, or the cursor to the line of another node."""
        if state is self._screen_state and node is self._node:
            return
        self._screen_state, self._node = state, node
        if self.display:
            self.update_if_outdated()

    def update_if_outdated(self) -> None:
        """Draw the current stop."""
        width = self.size.width
        if self._screen_state is None or not width:
            return
        if self._graph_state is None:
            self._graph_state = GraphState(self._screen_state, DetailLevel.NAMES)
        elif self._graph_state.screen_state is not self._screen_state:
            self._graph_state.show_state(self._screen_state)
        if self._node is not None and self._graph_state.full_picture.find_box(self._node) is not None:
            self._graph_state.set_cursor(self._node)
        self._graph_state.window_size = (width, self.size.height)
        self.show_graph(self._graph_state.render().lines, self._graph_state.graph_layout)
        if self._graph_state.visible_picture.boxes:
            self.scroll_to_box(self._graph_state.cursor_index)

    @on(GraphWidget.GraphResized)
    def handle_graph_resized(self, message: GraphWidget.GraphResized) -> None:
        """Adapt the level of detail to the size."""
        message.stop()
        self.update_if_outdated()

    @on(GraphWidget.BoxClicked)
    def handle_box_clicked(self, message: GraphWidget.BoxClicked) -> None:
        """Go to the source line of the clicked node."""
        message.stop()
        box = None if self._graph_state is None else self._graph_state.visible_picture.boxes[message.box]
        if box is not None and box.node is not None:
            self.post_message(self.NodeSelected(box.node))
