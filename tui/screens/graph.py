"""Screen with the loop in focus as a layered graph with back edges; it follows every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from ...debugger.graphview.graph_view import BoxKind
from ...debugger.graphview.node_overlay import NodeOverlay
from ..actions import Action, ActionContext, ScreenKind
from ..render.formatting import escape_unprintable
from ..render.graphview.layout import DetailLevel
from ..render.graphview.state import GraphState
from ..render.stop_view import ScreenState
from ..render.targets import ValueKind, ValueTarget
from ..widgets.detail_line import DetailLine
from ..widgets.graph import GraphWidget
from ..worker_requests import SessionCommand
from .modal_base import ModalBase


class GraphScreen(ModalBase[None]):
    """The graph of a stop. ``submit`` runs a command, ``open_inspector`` opens the inspector of a value."""

    AUTO_FOCUS = ""

    def __init__(
        self,
        actions: Sequence[Action],
        state: ScreenState,
        submit: Callable[[SessionCommand], None],
        open_inspector: Callable[[ValueTarget], None],
    ) -> None:
        super().__init__(ScreenKind.GRAPH, actions)
        self.graph_state = GraphState(state)
        self._submit_command, self._open_inspector = submit, open_inspector
        self.title_label = Static(id="graph-head")
        self.graph_view = GraphWidget("graph")
        self.detail_line = DetailLine("graph-detail")
        self.message_label = Static(id="graph-message")
        self._marks = NodeOverlay()

    def compose(self) -> ComposeResult:
        yield self.title_label
        yield self.graph_view
        yield self.message_label
        yield self.detail_line
        yield self.key_bar

    def on_mount(self) -> None:
        self.set_focus(self.graph_view)
        self.say(self.graph_state.screen_state.view.stop_state.stop.text)

    @property
    def text(self) -> str:
        """The title, the graph and the detail line."""
        return "\n".join([str(self.title_label.content), self.graph_view.text, self.detail_line.text])

    @property
    def action_context(self) -> ActionContext:
        """The state that decides which actions apply."""
        return ActionContext(self.graph_state.screen_state)

    def show_state(self, state: ScreenState) -> None:
        """Show another stop."""
        self.graph_state.show_state(state)
        self.say(state.error or state.view.stop_state.stop.text)
        self._draw()
        self._scroll_to_cursor()

    def say(self, text: str) -> None:
        """Show a message."""
        self.message_label.update(Content(escape_unprintable(text)), layout=False)

    def _draw(self) -> None:
        drawing = self.graph_state.render()
        self._marks = drawing.marks
        self.graph_view.show_graph(drawing.lines, self.graph_state.graph_layout)
        self.title_label.update(Content(self.graph_state.title_text()), layout=False)
        self.detail_line.say(self.graph_state.detail_text(drawing.marks))
        self.key_bar.action_context = self.action_context

    def _scroll_to_cursor(self) -> None:
        if self.graph_state.visible_picture.boxes:
            self.graph_view.scroll_to_box(self.graph_state.cursor_index)

    def _redraw_at_cursor(self) -> None:
        self._draw()
        self._scroll_to_cursor()

    # -- actions

    def action_ask(self, command: str) -> None:
        """Run a command; the graph follows when it stops."""
        self._submit_command(SessionCommand(command))

    def action_move(self, right: int, down: int) -> None:
        self.graph_state.move_cursor(right, down)
        self._redraw_at_cursor()

    def action_pan(self, right: int, down: int) -> None:
        self.graph_view.pan(right, down)

    def action_next(self) -> None:
        self.graph_state.select_next_node()
        self._redraw_at_cursor()

    def action_zoom(self, step: int) -> None:
        """Show more or less of each box."""
        level = self.graph_state.level + step
        if level not in tuple(DetailLevel):
            self.say("nothing more to show of a box" if step > 0 else "no smaller than this")
            return
        self.graph_state.requested_level = DetailLevel(level)
        self._redraw_at_cursor()

    def action_open(self) -> None:
        """Open or close a loop, or open a value."""
        if self.graph_state.toggle_expanded():
            self._redraw_at_cursor()
            return
        box, frame = self.graph_state.cursor_box, self.graph_state.screen_state
        if box is None or not box.values:
            self.say("nothing to open here")
            return
        value = box.values[0]
        carried = box.kind is BoxKind.CARRIED and box.edge is not None
        self._open_inspector(
            ValueTarget(value.name, frame.depth, ValueKind.CARRIED if carried else ValueKind.BODY, graph_value=value)
        )

    @on(GraphWidget.GraphResized)
    def handle_graph_resized(self) -> None:
        """Adapt the level of detail; also called before the first drawing."""
        self.graph_state.window_size = self.graph_view.size
        self._redraw_at_cursor()

    @on(GraphWidget.BoxClicked)
    def handle_box_clicked(self, message: GraphWidget.BoxClicked) -> None:
        """Select the clicked box; a double click opens it."""
        self.graph_state.select_box(message.box)
        self._redraw_at_cursor()
        if message.is_double:
            self.action_open()
