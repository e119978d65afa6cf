"""The graph of the loop in focus beside the other panes: it follows each step, and the cursor in the source."""

from __future__ import annotations

from textual import on
from textual.message import Message

from ...runtime.graph import Node
from ..screen.graph import GraphState
from ..screen.graph_places import Level
from ..screen.layout import ALL, Need
from ..screen.view import Shown
from .graph import GraphView

#: Fewer lines show boxes, but not where they lead.
_LEAST = 12


class Overview(GraphView, can_focus=False):
    """As much of each box as it has room for."""

    class Chosen(Message):
        """The box of a node was clicked."""

        def __init__(self, node: Node) -> None:
            super().__init__()
            self.node = node

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.border_title, self.border_subtitle = "Graph", "G: alone"
        self._shown: Shown | None = None
        self._node: Node | None = None
        self._state: GraphState | None = None

    def need(self, shown: Shown) -> Need | None:
        """The lines that it needs, and can use."""
        return Need(_LEAST, ALL)

    def look(self, shown: Shown, node: Node | None) -> None:
        """The stop is another, or the cursor on the line of another node."""
        if shown is self._shown and node is self._node:
            return
        self._shown, self._node = shown, node
        if self.display:
            self.catch_up()

    def catch_up(self) -> None:
        """Draw what is to be seen now."""
        width = self.size.width
        if self._shown is None or not width:
            return
        if self._state is None:
            self._state = GraphState(self._shown, Level.NAMES)
        elif self._state.shown is not self._shown:
            self._state.show(self._shown)
        if self._node is not None and self._state.whole.find(self._node) is not None:
            self._state.put(self._node)
        self._state.window = (width, self.size.height)
        self.show(self._state.face().lines, self._state.places)
        if self._state.picture.boxes:
            self.bring(self._state.at)

    @on(GraphView.Resized)
    def resized(self, message: GraphView.Resized) -> None:
        """Another size has room for more, or less."""
        message.stop()
        self.catch_up()

    @on(GraphView.Picked)
    def picked(self, message: GraphView.Picked) -> None:
        """The line of the node is gone to."""
        message.stop()
        box = None if self._state is None else self._state.picture.boxes[message.box]
        if box is not None and box.node is not None:
            self.post_message(self.Chosen(box.node))
